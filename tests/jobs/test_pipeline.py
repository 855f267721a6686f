import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tests.jobs.helpers import write_articles
from themescope.core.errors import DataError
from themescope.core.records.stored import ArticleRecord, JobRecord, JobStatus
from themescope.db.store import Store
from themescope.jobs.cli.main import main
from themescope.jobs.common.articles import sampled_articles
from themescope.jobs.queue.runner import run_here
from themescope.jobs.services import pipeline
from themescope.jobs.services.installation import import_sample
from themescope.jobs.services.pipeline import Choices, queue_pipeline, remaining_s, steps_of

KINDS = ["embed", "find-themes", "project"]
TFIDF = {"method": "tfidf", "name": "words", "corpus": "C"}


def states(store: Store) -> dict[str, str]:
    return {
        step.name: "ready" if step.ready else "active" if step.active else "failed" if step.failed else "none"
        for step in steps_of(store, "C")
    }


def finish(store: Store, job: JobRecord, status: JobStatus = JobStatus.DONE) -> None:
    with store.writing() as w:
        assert w.jobs.claim(job.id, "test") is not None
        w.jobs.finish(job.id, "test", status)


def test_each_job_waits_for_the_one_before(twelve: Store) -> None:
    jobs = queue_pipeline(twelve, "C", "en", Choices("static-wikipedia", {"k": 7}))
    assert [job.kind for job in jobs] == KINDS
    assert [job.after for job in jobs] == [None, jobs[0].id, jobs[1].id]
    assert jobs[1].args["settings"] == {"k": 7} and {job.args["model"] for job in jobs} == {"static-wikipedia"}
    sample = import_sample(twelve)
    assert [job.kind for job in sample] == ["import-corpus", *KINDS]
    assert [job.after for job in sample] == [None, *(job.id for job in sample[:-1])]


def test_text_that_no_model_reads_gets_tfidf(twelve: Store) -> None:
    jobs = queue_pipeline(twelve, "C", "fi")
    assert [job.kind for job in jobs] == ["train", *KINDS]
    assert jobs[0].args["method"] == "tfidf" and jobs[1].args["model"] == jobs[0].args["name"]


def test_languages_of_the_universal_encoder_have_it_by_default(twelve: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("themescope.jobs.common.models.lacks_packages", lambda name: False)
    assert {pipeline.default_for(twelve, code) for code in ("de", "zh", "ar")} == {"universal-sentence-encoder"}
    assert pipeline.default_for(twelve, "en") != "universal-sentence-encoder"
    monkeypatch.setattr("themescope.jobs.common.models.lacks_packages", lambda name: "universal" in name)
    assert pipeline.default_for(twelve, "de") == ""
    with twelve.writing() as w:
        w.models.add(name="many", method="minilm", config={"folder": "/x"}, seed=0, digest="m", artifact="a")
    assert pipeline.default_for(twelve, "fi") == "many"
    assert pipeline.default_for(twelve, "en") != "many"


def test_states_follow_the_jobs(twelve: Store) -> None:
    def now() -> set[JobStatus]:
        with twelve.reading() as r:
            return {job.status for job in r.jobs.list() if job.kind in KINDS}

    assert states(twelve) == {"Import": "ready", "Embed": "none", "Themes": "none", "Map": "none"}
    jobs = queue_pipeline(twelve, "C", "en")
    assert states(twelve) == {"Import": "ready", "Embed": "active", "Themes": "active", "Map": "active"}
    assert pipeline.working(twelve) == ["C"]
    finish(twelve, jobs[0], JobStatus.FAILED)
    assert states(twelve) == {"Import": "ready", "Embed": "failed", "Themes": "failed", "Map": "failed"}
    pipeline.retry_pipeline(twelve, "C")
    assert set(states(twelve).values()) == {"ready", "active"}
    pipeline.cancel_pipeline(twelve, "C")
    assert now() == {JobStatus.CANCELLED}
    pipeline.retry_pipeline(twelve, "C")
    assert now() == {JobStatus.QUEUED}


def test_an_article_is_clustered_by_a_fitted_model_without_pretrained_ones_and_that_is_no_step(
    twelve: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_here(twelve, "train", TFIDF, quiet=True)
    with twelve.reading() as r:
        corpus = r.corpora.by_name("C")
        article = r.corpora.articles(corpus.id)[1]
    assert pipeline.cluster_article(twelve, corpus, article).args["model"] != "words"
    assert states(twelve)["Themes"] == "none" and pipeline.working(twelve) == []
    monkeypatch.setattr(pipeline, "default_models", list)
    monkeypatch.setattr(pipeline, "default_for", lambda *_: "")
    assert pipeline.cluster_article(twelve, corpus, article).args["model"] == "words"


def test_everything_runs_after_an_import_and_is_found_again(sqlite_store: Store, tmp_path: Path) -> None:
    file = write_articles(tmp_path, 6)
    said = CliRunner().invoke(main, ["import", str(file), "--corpus", "C", "--then", "all", "--json"])
    assert said.exit_code == 0, said.output
    made = json.loads(said.stdout)["then"]
    assert made["map"] == f"C · {made['model']}" and made["number of themes"] > 1
    assert set(states(sqlite_store).values()) == {"ready"}
    for kind, args in pipeline.follow_ups(sqlite_store, "C", "en"):
        assert run_here(sqlite_store, kind, args, quiet=True)["cached"]


def test_one_article_of_the_corpus_is_clustered(twelve: Store) -> None:
    run_here(twelve, "train", TFIDF, quiet=True)
    with twelve.reading() as r:
        (article,) = r.corpora.articles_by_title(r.corpora.by_name("C").id, "Article 3")
    args = {"corpus": "C", "model": "words", "article": article.id}
    made = run_here(twelve, "find-themes", args, quiet=True)
    with twelve.reading() as r:
        run = r.runs.get(made["run_id"])
        assert list(r.runs.labels(run.id)) == [article.id]
    assert made["sentences"] == article.sentences and run.config["title"] == "Article 3"
    assert states(twelve)["Themes"] == "none"
    assert run_here(twelve, "find-themes", args, quiet=True)["cached"]
    with pytest.raises(DataError, match="has no article with id 999"):
        run_here(twelve, "find-themes", args | {"article": 999}, quiet=True)


def test_themes_and_map_of_a_sample_are_of_the_same_articles(twelve: Store) -> None:
    run_here(twelve, "train", TFIDF, quiet=True)
    what = {"corpus": "C", "model": "words"}
    assert run_here(twelve, "embed", what | {"limit": 200}, quiet=True)["sentences"] <= 200
    themes = run_here(twelve, "find-themes", what | {"limit": 200}, quiet=True)
    drawn = run_here(twelve, "project", what | {"within": 200, "limit": 60}, quiet=True)
    with twelve.reading() as r:
        clustered = set(r.runs.labels(themes["run_id"]))
        points = r.maps.points(drawn["map_id"]).sentence_ids
        owners = {sentence.article_id for sentence in r.corpora.sentences_by_id(points).values()}
        model = r.models.by_name("words")
        assert r.embeddings.have(model.id, r.corpora.by_name("C").id) == clustered
    assert owners <= clustered and len(points) == 60 and drawn["sampled_from"] == 12 * 49


SIZES = st.lists(st.integers(0, 50), min_size=1, max_size=30)


@given(SIZES, st.integers(0, 400))
def test_samples_are_whole_articles_in_order(sizes: list[int], most: int) -> None:
    articles = [ArticleRecord(i, 1, i, str(i), "", "", 0, 1, size, "", "") for i, size in enumerate(sizes)]
    found = sampled_articles(articles, most)
    assert [a.id for a in found] == sorted(a.id for a in found) and found
    total = sum(a.sentences for a in found)
    assert total <= most or len(found) == 1 or not most
    assert found == sampled_articles(articles, most)
    if not most or sum(sizes) <= most:
        assert found == articles


NOW = datetime(2026, 1, 1, tzinfo=UTC)
RUNNING = JobRecord(
    id=1, kind="train", title="", args={"method": "a"}, status=JobStatus.RUNNING, queue="", progress=0.0, message="",
    attempt=1, owner="", after=None, cancel=False, created=NOW, started=NOW - timedelta(seconds=60),
    heartbeat=NOW, ended=None, error="", traceback="", result={},
)  # fmt: skip


def ended(seconds: float, **changes: object) -> JobRecord:
    done = {"status": JobStatus.DONE, "started": NOW, "ended": NOW + timedelta(seconds=seconds), **changes}
    return replace(RUNNING, **done)


OTHERS = [ended(100), ended(90), ended(400), ended(1, args={"method": "b"}), ended(1, kind="embed")]


@pytest.mark.parametrize(
    ("job", "known", "seconds"),
    [
        (replace(RUNNING, progress=0.25), [ended(70)], 180),  # the rate of the job counts first
        (RUNNING, OTHERS, 40),  # before that the median of jobs like it
        (replace(RUNNING, progress=0.5, attempt=2), OTHERS, 40),
        (RUNNING, [], None),
        (RUNNING, [ended(30), ended(400, status=JobStatus.FAILED)], None),
        (replace(RUNNING, status=JobStatus.QUEUED), [ended(90)], None),
    ],
)
def test_the_time_that_remains(job: JobRecord, known: list[JobRecord], seconds: float | None) -> None:
    assert remaining_s(job, known, NOW) == seconds


@given(st.floats(0, 1), st.floats(0, 1e6))
def test_an_estimate_is_never_negative(progress: float, seconds: float) -> None:
    job = replace(RUNNING, progress=progress, started=NOW - timedelta(seconds=seconds))
    found = remaining_s(job, [], NOW)
    assert found is None or found >= 0
