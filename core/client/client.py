"""Client of a Themescope server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from themescope.core.client.connection import Connection
from themescope.core.client.labellings import LabellingMethods
from themescope.core.errors import ConfigError, RequestError
from themescope.core.records.answers import (
    ArticleClustering,
    Heading,
    JobKind,
    LocatedSentence,
    Me,
    ModelDescription,
    Page,
    PointPage,
    SearchResult,
    ThemeMember,
    ThemeRun,
    UploadedFile,
)
from themescope.core.records.measured import (
    BenchmarkRecord,
    MetricPoint,
    PaperTableRecord,
    TripletCard,
    TripletReview,
    TripletSetRecord,
)
from themescope.core.records.people import PersonRecord
from themescope.core.records.stored import (
    ArticleRecord,
    ColumnRecord,
    CorpusEditRecord,
    CorpusSummary,
    JobStatus,
    JobSummary,
    MapRecord,
    ModelRecord,
    RunRecord,
    SelectionRecord,
)

_POINTS = 50_000
_WAIT_S = 30.0


class Client(LabellingMethods):
    """Client of the HTTP API of a server.

    Methods return records (:mod:`themescope.core.records`), and iterators over long lists, which are read page
    by page. Changes of a labelling return the step of its history, or None if nothing would change. Every method raises
    :class:`themescope.core.errors.RequestError` with the sentence of the server if it refuses the request.

    >>> import themescope
    >>> client = themescope.Client("http://127.0.0.1:8501", token="themescope_0123")
    >>> client
    <Client of http://127.0.0.1:8501>

    Parameters
    ----------
    address
        Address of the server, as it is opened in a browser.
    token
        Token of a person, from the page Account. Not needed where nobody signs in.
    timeout
        Seconds to wait for an answer.
    """

    def __init__(self, address: str = "http://127.0.0.1:8501", token: str = "", timeout: float = 60.0) -> None:
        self._http = Connection(address, token, timeout)

    def __repr__(self) -> str:
        return f"<Client of {self._http.address}>"

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def me(self) -> Me:
        """Return the person of the token with the role in force."""
        return self._http.get(Me, "/me")

    def people(self) -> list[PersonRecord]:
        """Return the people with their roles. Requires the admin role."""
        return self._http.get(list[PersonRecord], "/people")

    # --- text and search --------------------------------------------------------------------------------------------

    def corpora(self) -> list[CorpusSummary]:
        """Return all corpora, oldest first."""
        return self._http.get(list[CorpusSummary], "/corpora")

    def corpus(self, corpus_id: int) -> CorpusSummary:
        """Return a corpus."""
        return self._http.get(CorpusSummary, f"/corpora/{corpus_id}")

    def upload(self, file: str | Path) -> UploadedFile:
        """Upload a file; its ``path`` is for the arguments of a job, see :meth:`queue`. Requires the admin role."""
        return self._http.upload(UploadedFile, "/files", Path(file))

    def append_sentences(self, corpus_id: int, sentences: Iterable[str], wave: str, **options: Any) -> list[JobSummary]:
        """Queue jobs that add sentences to a corpus as a wave. Requires the admin role.

        Options are ``date``, ``groups`` and ``only_new``, to leave out texts that the corpus has already.
        """
        body = {"sentences": _listed(sentences), "wave": wave, **options}
        return self._http.send(list[JobSummary], "POST", f"/corpora/{corpus_id}/sentences", body)

    def delete_corpus(self, corpus_id: int) -> None:
        """Delete a corpus with everything made of it. This cannot be undone. Requires the admin role."""
        self._http.send(type(None), "DELETE", f"/corpora/{corpus_id}")

    def columns(self, corpus_id: int) -> list[ColumnRecord]:
        """Return the columns of a corpus with their types, those of articles first."""
        return self._http.get(list[ColumnRecord], f"/corpora/{corpus_id}/columns")

    def edits(self, corpus_id: int) -> list[CorpusEditRecord]:
        """Return what was removed from a corpus or corrected in it, oldest first, also what was undone."""
        return self._http.get(list[CorpusEditRecord], f"/corpora/{corpus_id}/edits")

    def edit_corpus(
        self, corpus_id: int, *, wave: str = "", articles: Sequence[int] = (), sentence: int | None = None,
        text: str = "",
    ) -> CorpusEditRecord:  # fmt: skip
        """Remove a wave or articles, or correct the text of a sentence: one of the three."""
        given = {"wave": wave, "articles": [*articles], "sentence": sentence, "text": text}
        body = {name: value for name, value in given.items() if value not in ("", [], None)}
        return self._http.send(CorpusEditRecord, "POST", f"/corpora/{corpus_id}/edits", body)

    def undo_edit(self, corpus_id: int, edit_id: int) -> CorpusEditRecord:
        """Undo an edit: removed sentences come back with their labels."""
        return self._http.send(CorpusEditRecord, "POST", f"/corpora/{corpus_id}/edits/{edit_id}/undo")

    def selections(self, corpus_id: int) -> list[SelectionRecord]:
        """Return the named selections of a corpus, newest first."""
        return self._http.get(list[SelectionRecord], f"/corpora/{corpus_id}/selections")

    def selection(self, selection_id: int) -> SelectionRecord:
        """Return a selection, also one that was only shared as a link."""
        return self._http.get(SelectionRecord, f"/selections/{selection_id}")

    def create_selection(self, corpus_id: int, name: str, sentences: Sequence[int]) -> SelectionRecord:
        """Create a named selection, which everybody sees."""
        body = {"name": name, "sentences": [*sentences]}
        return self._http.send(SelectionRecord, "POST", f"/corpora/{corpus_id}/selections", body)

    def delete_selection(self, selection_id: int) -> None:
        """Delete a selection that you made, or, as an admin, any."""
        self._http.send(type(None), "DELETE", f"/selections/{selection_id}")

    def articles(self, corpus_id: int, title: str = "") -> Iterator[ArticleRecord]:
        """Yield the articles of a corpus (with ``title`` in their title) in their order."""
        return self._http.pages(Page[ArticleRecord], f"/corpora/{corpus_id}/articles", title=title)

    def article(self, article_id: int) -> ArticleRecord:
        """Return an article without its text."""
        return self._http.get(ArticleRecord, f"/articles/{article_id}")

    def sections(self, article_id: int) -> list[Heading]:
        """Return the sections of an article in their order."""
        return self._http.get(list[Heading], f"/articles/{article_id}/sections")

    def sentences(self, *, corpus_id: int | None = None, article_id: int | None = None) -> Iterator[LocatedSentence]:
        """Yield the sentences of a corpus or of an article in reading order."""
        if (corpus_id is None) is (article_id is None):
            raise ConfigError("Name a corpus or an article: client.sentences(corpus_id=…) or (article_id=…).")
        owner = f"/corpora/{corpus_id}" if article_id is None else f"/articles/{article_id}"
        return self._http.pages(Page[LocatedSentence], f"{owner}/sentences")

    def selected_sentences(self, selection_id: int) -> Iterator[LocatedSentence]:
        """Yield the sentences of a selection in reading order."""
        return self._http.pages(Page[LocatedSentence], f"/selections/{selection_id}/sentences")

    def sentence(self, sentence_id: int) -> LocatedSentence:
        """Return a sentence."""
        return self._http.get(LocatedSentence, f"/sentences/{sentence_id}")

    def search(
        self,
        corpus_id: int,
        text: str,
        method: Literal["text", "words", "meaning"] = "text",
        model_id: int | None = None,
        limit: int = 20,
    ) -> SearchResult:
        """Return the sentences that contain a text or all its words, or those that are the most similar to it."""
        about = {"text": text, "method": method, "model_id": model_id, "limit": limit}
        return self._http.get(SearchResult, f"/corpora/{corpus_id}/search", **about)

    def similar(self, sentence_id: int, model_id: int | None = None, limit: int = 20) -> SearchResult:
        """Return the sentences of the same corpus with the largest cosine similarity, best first."""
        return self._http.get(SearchResult, f"/sentences/{sentence_id}/similar", model_id=model_id, limit=limit)

    # --- models, maps, runs, themes ---------------------------------------------------------------------------------

    def models(self) -> list[ModelRecord]:
        """Return all stored models, oldest first."""
        return self._http.get(list[ModelRecord], "/models")

    def model_card(self, model_id: int) -> ModelDescription:
        """Return a model with its method, card and limits."""
        return self._http.get(ModelDescription, f"/models/{model_id}")

    def delete_model(self, model_id: int) -> None:
        """Delete a model with its vectors, runs and maps. This cannot be undone. Requires the admin role."""
        self._http.send(type(None), "DELETE", f"/models/{model_id}")

    def maps(self, corpus_id: int | None = None) -> list[MapRecord]:
        """Return all maps (of one corpus), oldest first."""
        return self._http.get(list[MapRecord], "/maps", corpus_id=corpus_id)

    def map_points(self, map_id: int) -> PointPage:
        """Return the points of a map."""
        found = self._http.get(PointPage, f"/maps/{map_id}/points", limit=_POINTS)
        while (offset := len(found.sentence_ids)) < found.total:
            more = self._http.get(PointPage, f"/maps/{map_id}/points", offset=offset, limit=_POINTS)
            for mine, other in ((found.sentence_ids, more.sentence_ids), (found.x, more.x), (found.y, more.y)):
                mine.extend(other)  # type: ignore[arg-type]
        return found

    def runs(self, kind: str | None = None, model_id: int | None = None) -> Iterator[RunRecord]:
        """Yield runs (of one kind, of one model) with their scores, oldest first."""
        return self._http.pages(Page[RunRecord], "/runs", kind=kind, model_id=model_id)

    def run(self, run_id: int) -> RunRecord:
        """Return a run with its scores."""
        return self._http.get(RunRecord, f"/runs/{run_id}")

    def clustered_articles(self, run_id: int) -> list[int]:
        """Return the ids of the articles whose sentences a run put into clusters."""
        return self._http.get(list[int], f"/runs/{run_id}/articles")

    def clustering(self, run_id: int, article_id: int) -> ArticleClustering:
        """Return the clusters of the sentences of an article in a run."""
        return self._http.get(ArticleClustering, f"/runs/{run_id}/articles/{article_id}")

    def themes(self, sentences: Iterable[str], **options: Any) -> ThemeRun:
        """Import sentences as a new corpus, wait until their themes are found, and return them.

        Requires the admin role. Options are ``corpus``, the name of the new corpus; ``k``, the number of themes;
        ``language``, ``model``, and ``groups``, the group of each sentence. :meth:`theme_members` and
        :meth:`export_themes` return the theme of each sentence. Raises :class:`RequestError` if a job fails.
        """
        jobs = self.find_themes(sentences, **options)
        job = self.wait(next(job.id for job in jobs if job.kind == "find-themes"))
        if job.status is not JobStatus.DONE:
            raise RequestError(f"The job {job.id} ({job.title}) is {job.status.value}. {job.error}".strip())
        return self.theme_run(job.result["run_id"])

    def find_themes(self, sentences: Iterable[str], **options: Any) -> list[JobSummary]:
        """Queue the jobs of :meth:`themes`, and return them."""
        return self._http.send(list[JobSummary], "POST", "/themes", {"sentences": _listed(sentences), **options})

    def rename_theme(self, run_id: int, theme: int, name: str) -> ThemeRun:
        """Rename a theme. Requires the admin role."""
        return self._http.send(ThemeRun, "PATCH", f"/themes/{run_id}/themes/{theme}", {"name": name})

    def triplet_sets(self, corpus_id: int | None = None) -> list[TripletSetRecord]:
        """Return the sampled sets of triplets (of one corpus), oldest first."""
        return self._http.get(list[TripletSetRecord], "/triplet-sets", corpus_id=corpus_id)

    def delete_triplet_set(self, set_id: int) -> None:
        """Delete a set of triplets with its reviews and runs. This cannot be undone. Requires the admin role."""
        self._http.send(type(None), "DELETE", f"/triplet-sets/{set_id}")

    def triplets(self, set_id: int, split: str | None = None) -> Iterator[TripletCard]:
        """Yield the triplets of a set (of the split "train", "validation" or "test") with their texts."""
        return self._http.pages(Page[TripletCard], f"/triplet-sets/{set_id}/triplets", split=split)

    def triplet_reviews(self, set_id: int) -> list[TripletReview]:
        """Return the current verdicts of all people on the triplets of a set, oldest first."""
        return self._http.get(list[TripletReview], f"/triplet-sets/{set_id}/reviews")

    def review_triplet(
        self, set_id: int, triplet_id: int, verdict: Literal["good", "bad", "ambiguous"] | None, note: str = ""
    ) -> TripletReview:
        """Say whether the label of a triplet is right; None withdraws your earlier verdict."""
        body = {"triplet_id": triplet_id, "verdict": verdict, "note": note}
        return self._http.send(TripletReview, "POST", f"/triplet-sets/{set_id}/reviews", body)

    def benchmarks(self, corpus_id: int | None = None) -> list[BenchmarkRecord]:
        """Return the benchmarks of clusterings (of one corpus), oldest first."""
        return self._http.get(list[BenchmarkRecord], "/benchmarks", corpus_id=corpus_id)

    def paper_tables(self) -> list[PaperTableRecord]:
        """Return the tables of papers as they were reproduced last."""
        return self._http.get(list[PaperTableRecord], "/paper-tables")

    def theme_runs(self, corpus_id: int | None = None) -> list[ThemeRun]:
        """Return the runs that found themes (in one corpus) with their themes, oldest first."""
        return self._http.get(list[ThemeRun], "/themes", corpus_id=corpus_id)

    def theme_run(self, run_id: int) -> ThemeRun:
        """Return a run that found themes."""
        return self._http.get(ThemeRun, f"/themes/{run_id}")

    def theme_members(self, run_id: int, theme: int | None = None) -> Iterator[ThemeMember]:
        """Yield the sentences of a theme, the most typical first, or of all themes, one theme after the other."""
        return self._http.pages(Page[ThemeMember], f"/themes/{run_id}/sentences", theme=theme)

    def export_themes(self, run_id: int, file: str | Path, columns: bool = False) -> None:
        """Write every sentence with its theme (and its columns) into a .csv, .jsonl or .parquet file."""
        self._http.save(f"/themes/{run_id}/export", Path(file), columns=columns)

    # --- jobs -------------------------------------------------------------------------------------------------------

    def job_kinds(self) -> list[JobKind]:
        """Return the kinds of jobs with their settings."""
        return self._http.get(list[JobKind], "/job-kinds")

    def jobs(self, status: str | None = None) -> Iterator[JobSummary]:
        """Yield the jobs (with one status), newest first."""
        return self._http.pages(Page[JobSummary], "/jobs", status=status)

    def job(self, job_id: int) -> JobSummary:
        """Return a job."""
        return self._http.get(JobSummary, f"/jobs/{job_id}")

    def queue(self, kind: str, arguments: Mapping[str, Any], after: int | None = None) -> JobSummary:
        """Queue a job; with ``after``, it starts when that job is done. Requires the admin role."""
        body = {"kind": kind, "arguments": dict(arguments), "after": after}
        return self._http.send(JobSummary, "POST", "/jobs", body)

    def job_metrics(self, job_id: int) -> list[MetricPoint]:
        """Return the points of the curves of a job, such as its loss, by name and step."""
        return self._http.get(list[MetricPoint], f"/jobs/{job_id}/metrics")

    def delete_job(self, job_id: int) -> None:
        """Delete an ended job; what it made stays. Requires the admin role."""
        self._http.send(type(None), "DELETE", f"/jobs/{job_id}")

    def cancel(self, job_id: int) -> JobSummary:
        """Cancel a job: a queued one at once, a running one within seconds. Requires the admin role."""
        return self._http.send(JobSummary, "POST", f"/jobs/{job_id}/cancel")

    def retry(self, job_id: int) -> JobSummary:
        """Queue a failed or cancelled job again. Requires the admin role."""
        return self._http.send(JobSummary, "POST", f"/jobs/{job_id}/retry")

    def wait(self, job_id: int) -> JobSummary:
        """Wait until a job has ended, and return it. Its status says whether it is done, failed or was cancelled."""
        seconds = min(_WAIT_S, self._http.timeout / 2)
        while not (job := self._http.get(JobSummary, f"/jobs/{job_id}", wait=seconds)).status.ended:
            pass  # the server answers when the job has ended, or after these seconds
        return job


def _listed(sentences: Iterable[str]) -> list[str]:
    """Return texts as a list; one text is one sentence, as in :func:`core.find_themes`."""
    return [sentences] if isinstance(sentences, str) else [*sentences]
