"""Client of a Themescope server."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

from themescope.core.client.connection import Connection
from themescope.core.errors import ConfigError
from themescope.core.labelling.changes import Step
from themescope.core.records.answers import (
    ArticleClustering,
    CaseInNotebook,
    Heading,
    JobKind,
    LabellingState,
    LocatedSentence,
    Me,
    ModelDescription,
    Page,
    PointPage,
    SearchResult,
    SentenceLabel,
    ThemeMember,
    ThemeRun,
)
from themescope.core.records.stored import (
    ArticleRecord,
    ColumnRecord,
    CorpusEditRecord,
    CorpusSummary,
    JobSummary,
    LabellingRecord,
    MapRecord,
    ModelRecord,
    RunRecord,
    SelectionRecord,
)

_POINTS = 50_000
_POLL_S = 1.0
_NO_STEP: Any = Step | None


class Client:
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

    # --- text and search --------------------------------------------------------------------------------------------

    def corpora(self) -> list[CorpusSummary]:
        """Return all corpora, oldest first."""
        return self._http.get(list[CorpusSummary], "/corpora")

    def corpus(self, corpus_id: int) -> CorpusSummary:
        """Return a corpus."""
        return self._http.get(CorpusSummary, f"/corpora/{corpus_id}")

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

    # --- labellings -------------------------------------------------------------------------------------------------

    def error_cases(self, corpus_id: int) -> Iterator[CaseInNotebook]:
        """Yield the cases of the error notebook of a corpus, oldest first."""
        return self._http.pages(Page[CaseInNotebook], f"/corpora/{corpus_id}/error-cases")

    def labellings(self, corpus_id: int | None = None) -> list[LabellingRecord]:
        """Return all labellings (of one corpus), oldest first."""
        return self._http.get(list[LabellingRecord], "/labellings", corpus_id=corpus_id)

    def labelling(self, labelling_id: int) -> LabellingState:
        """Return a labelling with its clusters."""
        return self._http.get(LabellingState, f"/labellings/{labelling_id}")

    def create_labelling(
        self,
        corpus_id: int,
        name: str,
        start: Literal["nothing", "sections", "themes", "labelling"] = "nothing",
        source_id: int | None = None,
        **options: Any,
    ) -> LabellingRecord:
        """Create a labelling; ``source_id`` is the run or the labelling to copy.

        Options are ``article_id``, to label one article, and ``shared``, to let everybody change it.
        """
        body = {"corpus_id": corpus_id, "name": name, "start": start, "source_id": source_id, **options}
        return self._http.send(LabellingRecord, "POST", "/labellings", body)

    def rename_labelling(self, labelling_id: int, name: str) -> LabellingRecord:
        """Rename a labelling."""
        return self._http.send(LabellingRecord, "PATCH", f"/labellings/{labelling_id}", {"name": name})

    def delete_labelling(self, labelling_id: int) -> None:
        """Delete a labelling. Its owner or an admin can restore it on the page Relabel."""
        self._http.send(type(None), "DELETE", f"/labellings/{labelling_id}")

    def labels(self, labelling_id: int, cluster: int | None = None) -> Iterator[SentenceLabel]:
        """Yield the sentences of a labelling (of one cluster, -1 for unassigned ones) in reading order."""
        return self._http.pages(Page[SentenceLabel], f"/labellings/{labelling_id}/labels", cluster=cluster)

    def steps(self, labelling_id: int) -> Iterator[Step]:
        """Yield the history of a labelling, newest first."""
        return self._http.pages(Page[Step], f"/labellings/{labelling_id}/steps")

    def export_labels(self, labelling_id: int, file: str | Path, columns: bool = False) -> None:
        """Write the sentences of a labelling with their clusters (and columns) into a .csv, .jsonl or .parquet file."""
        self._http.save(f"/labellings/{labelling_id}/export", Path(file), columns=columns)

    def assign(self, labelling_id: int, sentences: Sequence[int], cluster: int, **about: Any) -> Step | None:
        """Put sentences into a cluster.

        Every change accepts ``reason``, for the history; ``coder``, the name of the program or model that decides,
        whose labels are then a machine's; and ``seen``, the id of the last step that you know: a change of what others
        changed after it is refused with the status 409.
        """
        return self._change(labelling_id, "assign", {"sentences": [*sentences], "cluster": cluster, **about})

    def give_code(
        self, labelling_id: int, sentences: Sequence[int], code: int, remove: bool = False, **about: Any
    ) -> Step | None:
        """Give sentences a code besides those that they have, or take it away, where several are allowed."""
        return self._change(labelling_id, "codes", {"sentences": [*sentences], "code": code, "remove": remove, **about})

    def unassign(self, labelling_id: int, sentences: Sequence[int], **about: Any) -> Step | None:
        """Remove sentences from their clusters."""
        return self._change(labelling_id, "unassign", {"sentences": [*sentences], **about})

    def mark(self, labelling_id: int, sentences: Sequence[int], uncertain: bool = True, **about: Any) -> Step | None:
        """Mark sentences as uncertain or certain."""
        return self._change(labelling_id, "mark", {"sentences": [*sentences], "uncertain": uncertain, **about})

    def note(self, labelling_id: int, sentences: Sequence[int], text: str, **about: Any) -> Step | None:
        """Set the note of sentences; "" removes it."""
        return self._change(labelling_id, "note", {"sentences": [*sentences], "text": text, **about})

    def create_cluster(self, labelling_id: int, name: str, sentences: Sequence[int] = (), **about: Any) -> Step | None:
        """Create a cluster with these sentences, possibly none."""
        return self._change(labelling_id, "clusters", {"name": name, "sentences": [*sentences], **about})

    def rename_cluster(self, labelling_id: int, cluster: int, name: str, **about: Any) -> Step | None:
        """Rename a cluster."""
        return self._change(labelling_id, f"clusters/{cluster}", {"name": name, **about}, "PATCH")

    def delete_cluster(self, labelling_id: int, cluster: int) -> Step | None:
        """Delete a cluster; its sentences become unassigned."""
        return self._change(labelling_id, f"clusters/{cluster}", None, "DELETE")

    def merge_clusters(self, labelling_id: int, clusters: Sequence[int], into: int, **about: Any) -> Step | None:
        """Merge clusters into one of them."""
        return self._change(labelling_id, "merge", {"clusters": [*clusters], "into": into, **about})

    def undo(self, labelling_id: int) -> Step | None:
        """Undo your last step."""
        return self._change(labelling_id, "undo")

    def redo(self, labelling_id: int) -> Step | None:
        """Redo the step that you undid last."""
        return self._change(labelling_id, "redo")

    def _change(
        self, labelling_id: int, path: str, body: Mapping[str, Any] | None = None, method: str = "POST"
    ) -> Step | None:
        step: Step | None = self._http.send(_NO_STEP, method, f"/labellings/{labelling_id}/{path}", body)
        return step

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
        return self._http.send(
            JobSummary, "POST", "/jobs", {"kind": kind, "arguments": dict(arguments), "after": after}
        )

    def cancel(self, job_id: int) -> JobSummary:
        """Cancel a job: a queued one at once, a running one within seconds. Requires the admin role."""
        return self._http.send(JobSummary, "POST", f"/jobs/{job_id}/cancel")

    def retry(self, job_id: int) -> JobSummary:
        """Queue a failed or cancelled job again. Requires the admin role."""
        return self._http.send(JobSummary, "POST", f"/jobs/{job_id}/retry")

    def wait(self, job_id: int) -> JobSummary:
        """Wait until a job has ended, and return it. Its status says whether it is done, failed or was cancelled."""
        while not (job := self.job(job_id)).status.ended:
            time.sleep(_POLL_S)
        return job
