"""A store written by version 0.2: migration, records, models, labellings, maps, runs and jobs."""

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from scipy import sparse

from tests.db.stores import expected, on_postgres, unpack
from tests.servers import PostgresServer
from themescope.core.errors import AccessError
from themescope.core.labelling.changes import apply
from themescope.core.labelling.partition import Partition, code_names
from themescope.core.records.stored import JobStatus
from themescope.core.types import Split
from themescope.db.engine import open_engine, up_to_date
from themescope.db.passwords import is_outdated
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.common.vectors import load_model
from themescope.jobs.kinds import check_job
from themescope.jobs.queue.control import retry
from themescope.jobs.queue.runner import Runner, run_here
from themescope.jobs.services import people
from themescope.jobs.services.labelling.session import LabellingSession


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def open_store(request: pytest.FixtureRequest) -> Callable[[Path], Store]:
    """Unpack the store into a folder, copy it to the engine in question, migrate and open it."""

    def open_it(folder: Path) -> Store:
        settings = Settings.in_folder(unpack(folder))
        if request.param == "postgres":
            server: PostgresServer = request.getfixturevalue("postgres_server")
            settings = on_postgres(settings.home, server.new_database())
        store = Store(settings)
        store.migrate()
        return store

    return open_it


@pytest.fixture(scope="module")
def old(open_store: Callable[[Path], Store], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """The migrated store, for tests that only read."""
    store = open_store(tmp_path_factory.mktemp("v0.2"))
    yield store
    store.close()


@pytest.fixture
def own(open_store: Callable[[Path], Store], tmp_path: Path) -> Iterator[Store]:
    """A copy of the migrated store, for tests that write."""
    store = open_store(tmp_path)
    yield store
    store.close()


def test_migration_keeps_every_row_and_text(old: Store) -> None:
    assert up_to_date(old.settings)
    before = dict(expected()["rows"])
    before["label_step"] += before.pop("practice")  # attempts are steps
    engine = open_engine(old.settings)
    with engine.connect() as connection:
        tables = {*sa.inspect(connection).get_table_names()}
        counts = {name: connection.scalar(sa.text(f"SELECT count(*) FROM {name}")) for name in before.keys() & tables}
    engine.dispose()
    errors = {"error_sample", "error_case", "error_note", "error_category", "error_coding"}
    assert before.keys() - tables == {*errors, "vector_index"}
    # Three cases with two categories, three codes and a note of two people are a list with two labellings and a task.
    moved = {
        "corpus": 1, "article": 1, "section": 1, "sentence": 3, "corpus_column": 13, "column_block": 13,
        "labelling": 2, "label": 6, "label_cluster": 4, "label_entry": 6, "label_step": 4, "label_event": 4, "task": 1,
        "task_member": 2, "task_item": 2,
    }  # fmt: skip
    assert {name: count - before[name] for name, count in counts.items() if count != before[name]} == moved
    with old.reading() as r:
        names = [corpus.name for corpus in r.corpora.list()]
        found = r.corpora.sentences(expected()["article"])
    assert names == ["Islands", "Notices", "Suggestions", "Errors of Islands"]
    assert {str(s.id): s.text for s in found} == expected()["texts"]


def test_migration_leaves_no_dangling_reference(tmp_path: Path) -> None:
    """On SQLite only: it does not check references while tables are rebuilt, PostgreSQL does."""
    store = Store(Settings.in_folder(unpack(tmp_path)))
    store.migrate()
    store.close()
    database = sqlite3.connect(store.settings.home / "themescope.db")
    assert database.execute("PRAGMA foreign_key_check").fetchall() == []
    database.close()


@pytest.mark.parametrize("name", expected()["models"])
def test_every_model_gives_the_vectors_it_gave(name: str, old: Store) -> None:
    """Distances between sentences, because they do not depend on the sign or the order of coordinates."""
    told = expected()["models"][name]
    with old.reading() as r:
        model = r.models.by_name(name)
        sentences = r.corpora.sentences(expected()["article"])
        stored = r.embeddings.get(model.id, [expected()["article"]])[expected()["article"]]
    assert model.method == told["method"]
    fitted, _ = load_model(old, model)
    vectors = fitted.embed(sentences)
    assert list(vectors.shape) == told["shape"] == list(stored.shape)
    wanted = np.array(told["distances"])
    for found in (vectors, stored):
        assert np.allclose(distances(found[:6]), wanted, atol=2e-3 * max(1.0, wanted.max()))


def distances(vectors: object) -> np.ndarray:
    """(n, n) Euclidean distances between the rows of a dense or sparse matrix."""
    dense = np.asarray(vectors.todense() if sparse.issparse(vectors) else vectors, dtype=np.float64)
    return np.asarray(np.linalg.norm(dense[:, None] - dense[None, :], axis=-1))


def test_a_labelling_and_its_history_lead_from_the_start_to_the_end(old: Store) -> None:
    told = expected()["labelling"]
    session = LabellingSession(old, told["id"], "ada")
    assert described(session.partition) == {
        name: told[name] for name in ("ids", "numbers", "uncertain", "notes", "clusters")
    }
    assert [[s.kind.value, s.operation, s.summary, s.person] for s in session.steps] == told["steps"]
    state = session.at(0)
    assert state.to_bytes() != session.partition.to_bytes()
    with old.reading() as r:
        log = r.label_steps.since(session.record.id, 0)
    assert len(log) == len(told["steps"])
    for step, change_set in log:
        state = apply(state, change_set)
        assert state.to_bytes() == session.at(step.id).to_bytes()
    assert state.to_bytes() == session.partition.to_bytes()


def described(state: Partition) -> dict[str, object]:
    """A partition in the form of ``expected.json``."""
    return {
        "ids": state.ids.tolist(),
        "numbers": state.numbers.tolist(),
        "uncertain": state.uncertain.tolist(),
        "notes": {str(i): note for i, note in state.notes.items()},
        "clusters": {str(c.number): c.name for c in state.clusters.values()},
    }


def test_undo_and_redo_continue_where_0_2_stopped(own: Store) -> None:
    session = LabellingSession(own, expected()["labelling"]["id"], "ada")
    before = session.partition.to_bytes()
    assert session.undo()
    assert "Transport" in {c.name for c in session.partition.clusters.values()}, "the deleted cluster is back"
    assert session.redo()
    assert session.partition.to_bytes() == before
    session.back_to(0)
    assert session.partition.to_bytes() == session.at(0).to_bytes() != before
    assert session.undo()
    assert LabellingSession(own, session.record.id, "").partition.to_bytes() == before


def test_labellings_keep_owner_sharing_and_origin(old: Store) -> None:
    with old.reading() as r:
        listed = {x.name: (x.owner, x.kind.value, x.origin["from"]) for x in r.labellings.list()}
        deleted = [x.name for x in r.labellings.list(deleted=True)]
    assert listed == {
        "Places on the islands": ("ada", "shared", "sections"),
        "Ben's copy": ("ben", "own", "labelling"),
        "Agreed places": ("ada", "gold", "adjudication"),
        "One article": ("ben", "own", "run"),
        "Themes of the list": ("", "shared", "run"),
        "First round · ben": ("ben", "own", "sections"),
        "Errors of Islands · ada": ("ada", "own", "nothing"),
        "Errors of Islands · ben": ("ben", "own", "nothing"),
    }
    assert deleted == ["Thrown away"]


def test_what_0_2_added_is_kept(old: Store) -> None:
    with old.reading() as r:
        corpus = r.corpora.by_name("Islands").id
        (task,) = r.tasks.list(corpus)
        items = r.tasks.items(task.id)
        errors = r.failures.of("Islands")
        assert errors is not None and errors.sentences == 3
        of = {record.owner: r.labellings.snapshot(record.id).partition for record in r.labellings.list(errors.id)}
        texts = r.corpora.sentences_by_id(r.corpora.sentence_ids(errors.id))
        originals = r.corpora.sentences_by_id([1, 2, 3])
        (selection,) = r.selections.list(corpus)
    assert (task.name, len(items), sum(item.done is not None for item in items)) == ("First round", 5, 1)
    assert (selection.name, selection.sentences) == ("ferries", 4)
    assert [one.text for one in texts.values()] == [one.text for one in originals.values()]
    names = {person: [*map(code_names(state).__getitem__, state.numbers.tolist())] for person, state in of.items()}
    assert names == {"ada": [("Two subjects",), (), ()], "ben": [("Rare word",), ("Two subjects",), ()]}
    assert [*of["ada"].notes.values()] == ["a harbour is no transport"] and not of["ben"].notes


def test_maps_are_readable(old: Store) -> None:
    with old.reading() as r:
        maps = {m.name: (m, r.maps.points(m.id)) for m in r.maps.list()}
        corpus = r.corpora.by_name("Islands")
    assert set(maps) == {"Islands by network", "Islands by words"}
    for record, points in maps.values():
        assert record.corpus_id == corpus.id and 0 <= record.faithfulness <= 1
        assert points.points.shape == (corpus.sentences, 2) and np.isfinite(points.points).all()
        assert len(set(points.sentence_ids.tolist())) == corpus.sentences


def test_runs_are_readable(old: Store) -> None:
    with old.reading() as r:
        runs = r.runs.list()
        scores = Counter(score.run_id for score in r.runs.scores([run.id for run in runs]))
        clustering = [run for run in runs if run.kind == "clustering"]
        labels = [r.runs.labels(run.id) for run in clustering]
        triplets = [run for run in runs if run.kind == "triplets"]
        margins = [r.runs.margins(run.id, Split.TEST) for run in triplets]
        sizes = {i.article_id: len(i.sentence_ids) for i in r.benchmarks.items(clustering[0].benchmark_id)}
    kinds = Counter(run.kind for run in runs)
    assert kinds == {
        "clustering": 33, "triplets": 3, "topics": 1, "topic-labels": 1, "relatedness": 1, "summaries": 1, "themes": 1,
    }  # fmt: skip
    assert all(scores[run.id] for run in runs if run.kind in ("clustering", "triplets", "topics", "relatedness"))
    assert all({article: len(of) for article, of in found.items()} == sizes for found in labels)
    assert all(len(ids) == len(values) > 0 for ids, values in margins)


def test_jobs_of_every_state_are_listed(old: Store) -> None:
    with old.reading() as r:
        jobs = r.jobs.list(limit=1_000)
        curves = [r.jobs.metrics(job.id) for job in jobs if job.kind == "train"]
    # One of the three was running; the migration has queued it again.
    assert Counter(job.status for job in jobs) == {
        JobStatus.DONE: expected()["rows"]["job"] - 5, JobStatus.FAILED: 1, JobStatus.CANCELLED: 1,
        JobStatus.QUEUED: 3,
    }  # fmt: skip
    assert any(curves)
    (failed,) = (job for job in jobs if job.status is JobStatus.FAILED)
    assert "missing.txt" in failed.error


def test_the_arguments_of_every_job_are_valid(old: Store) -> None:
    with old.reading() as r:
        jobs = r.jobs.list(limit=1_000)
    gone = {"iclust-annealed", "sib"}  # clusterers; their jobs stay in the list
    valid = [job for job in jobs if job.args.get("clusterer") not in gone]
    assert len(jobs) - len(valid) == 2
    left = {"index", "queue_trainings"}  # settings that went
    kept = [{name: value for name, value in job.args.items() if name not in left} for job in valid]
    for job, args in zip(valid, kept, strict=True):
        assert check_job(job.kind, job.args).to_dict().items() >= args.items()
    trained = next(job for job in jobs if job.args.get("name") == "island tfidf")
    assert trained.args["settings"] == {}
    drawn = next(job for job in jobs if job.args.get("name") == "Islands by network")
    assert drawn.args["settings"] == {"epochs": 20}


def test_a_cancelled_job_is_retried_and_a_queued_one_is_run(own: Store) -> None:
    with own.reading() as r:
        (cancelled,) = r.jobs.list(status=JobStatus.CANCELLED)
        (queued,) = (job for job in r.jobs.list(status=JobStatus.QUEUED) if job.kind == "cluster")
    retry(own, cancelled.id)
    while Runner(own).run_next():
        pass
    with own.reading() as r:
        ended = [r.jobs.get(job_id) for job_id in (cancelled.id, queued.id)]
    assert [(job.status, job.error) for job in ended] == [(JobStatus.DONE, "")] * 2


def test_people_reviews_and_views_are_kept(old: Store) -> None:
    with old.reading() as r:
        roles = {person.name: person.role.value for person in r.people.list()}
        reviews = r.reviews.list(r.triplets.by_name("island triplets").id)
        views = {(view.page, view.name): (view.query, view.person) for view in r.views.list()}
        tables = r.papers.list("ed18")
    assert roles == {"": "labeller", "ada": "admin", "ben": "labeller", "eva": "viewer"}
    assert [(x.person, x.verdict and x.verdict.value) for x in reviews] == [
        ("ada", "bad"), ("ben", "ambiguous"), ("ada", "good"),
    ]  # fmt: skip
    assert views == {
        ("map", "The network"): ("map=Islands+by+network&colour=Section", "ada"),
        ("triplets", "Test triplets"): ("set=island+triplets&split=test", "ben"),
    }
    assert [table.name for table in tables] == ["triplet-sets"]  # table 1 in 0.2


def test_passwords_still_sign_in(own: Store) -> None:
    with own.reading() as r:
        assert is_outdated(r.logins.all()["ada"])
    found = people.session_of(own, people.sign_in(own, "ada", "a-password-for-tests", "test"))
    assert found is not None and found.person == "ada"
    with own.reading() as r:
        assert not is_outdated(r.logins.all()["ada"])
    with pytest.raises(AccessError):
        people.sign_in(own, "ben", "a-password-for-tests", "test")
    assert not list(own.settings.home.glob("*logins*"))


def test_sets_benchmarks_and_vectors_are_found_again_and_scores_are_computed_anew(own: Store) -> None:
    """Version 0.1 did not record which code computed a score, so no score of it stands for one of this version."""

    def do(kind: str, **args: object) -> dict[str, object]:
        return run_here(own, kind, args, quiet=True)

    splits = ["validation", "test"]
    sampled = do("build-triplets", corpus="Islands", name="again", rules={"profile": "all"})
    built = do("build-benchmark", corpus="Islands", name="again", splits=splits)
    assert (sampled["cached"], sampled["triplets"]) == (True, "island triplets")
    assert (built["cached"], built["benchmark"]) == (True, "island sections")
    with own.reading() as r:
        corpus = r.corpora.by_name("Islands")
        embedded = r.embeddings.have(r.models.by_name("island tfidf").id, corpus.id)
        before = {run.id for run in r.runs.list(kind="clustering")}
    assert embedded
    assert do("embed", corpus="Islands", model="island tfidf")["embedded"] == corpus.articles - len(embedded)
    clustering = {"benchmark": "island sections", "model": "island tfidf", "clusterer": "kmeans"}
    assert [do("cluster", **clustering)["cached"] for _ in range(2)] == [False, True]
    with own.reading() as r:
        assert before < {run.id for run in r.runs.list(kind="clustering")}
        assert r.jobs.list(limit=1)[0].id > expected()["rows"]["job"], "new rows get new ids"
