import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from scipy import sparse

from tests.db.stores import NOTEBOOK, NOTEBOOK_OF_A_BUNDLE, expected, on_postgres, unpack
from tests.db.texts import add_corpus
from tests.servers import PostgresServer
from themescope.core.errors import AccessError, ReadError
from themescope.core.labelling.changes import apply
from themescope.core.labelling.codebook.entries import codes
from themescope.core.labelling.partition import code_names
from themescope.core.records.stored import JobStatus, LabellingRecord
from themescope.core.types import Split
from themescope.db.engine import open_engine, up_to_date
from themescope.db.passwords import is_outdated
from themescope.db.repositories.failures import CollectedFailure
from themescope.db.settings import Settings, sqlite_path
from themescope.db.store import Store, Unit
from themescope.jobs.bundles.parts import store_notebook
from themescope.jobs.common.vectors import load_model
from themescope.jobs.kinds import check_job
from themescope.jobs.queue.control import retry
from themescope.jobs.queue.runner import Runner, run_here
from themescope.jobs.services import corpus_edits, people
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.people import forget


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
    found = [stored]
    if old.settings.database_url.startswith("sqlite"):  # both engines have the same files
        fitted, _ = load_model(old, model)
        found.append(fitted.embed(sentences))
    wanted = np.array(told["distances"])
    for vectors in found:
        assert list(vectors.shape) == told["shape"]
        assert np.allclose(distances(vectors[:6]), wanted, atol=2e-3 * max(1.0, wanted.max()))


def distances(vectors: object) -> np.ndarray:
    """(n, n) Euclidean distances between the rows of a dense or sparse matrix."""
    dense = np.asarray(vectors.todense() if sparse.issparse(vectors) else vectors, dtype=np.float64)
    return np.asarray(np.linalg.norm(dense[:, None] - dense[None, :], axis=-1))


def test_a_labelling_and_its_history_lead_from_the_start_to_the_end(old: Store) -> None:
    told = expected()["labelling"]
    session = LabellingSession(old, told["id"], "ada")
    found = session.partition
    assert {
        "ids": found.ids.tolist(),
        "numbers": found.numbers.tolist(),
        "uncertain": found.uncertain.tolist(),
        "notes": {str(i): note for i, note in found.notes.items()},
        "clusters": {str(c.number): c.name for c in found.clusters.values()},
    } == {name: told[name] for name in ("ids", "numbers", "uncertain", "notes", "clusters")}
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


def test_maps_and_runs_are_readable(old: Store) -> None:
    with old.reading() as r:
        maps = {m.name: (m, r.maps.points(m.id)) for m in r.maps.list()}
        corpus = r.corpora.by_name("Islands")
    assert set(maps) == {"Islands by network", "Islands by words"}
    for record, points in maps.values():
        assert record.corpus_id == corpus.id and 0 <= record.faithfulness <= 1
        assert points.points.shape == (corpus.sentences, 2) and np.isfinite(points.points).all()
        assert len(set(points.sentence_ids.tolist())) == corpus.sentences
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


def test_jobs_of_every_state_are_listed_with_valid_arguments(old: Store) -> None:
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


# --- collected failures, and the error notebooks of earlier versions that become them ---------------------------------

PIVOT = "Pivot: Rome sentence {}.\nPositive: Rome sentence {}.\nNegative: Rome sentence {}."
CASES = [PIVOT.format(n, n + 1, n + 6) for n in (0, 1, 2)]
CASES += ["Rome sentence 7.", "Rome sentence 3.\nRome sentence 8.\nRome sentence 9."]
DELETED = "Rome sentence 4.\nRome sentence 5."


@pytest.fixture
def migrated(tmp_path: Path) -> Store:
    """A store of commit 8b7e71d3 with notebooks of two projects, opened by this version."""
    store = Store(Settings.in_folder(tmp_path))
    path = sqlite_path(store.settings.database_url)
    assert path is not None
    with closing(sqlite3.connect(path)) as database:
        database.executescript(NOTEBOOK.read_text(encoding="utf-8"))
    store.migrate()
    return store


def labellings(r: Unit, project: str = "Rivers") -> dict[str, LabellingRecord]:
    corpus = r.failures.of(project)
    assert corpus is not None
    return {record.owner: record for record in r.labellings.list(corpus.id)}


def coded(r: Unit, record: LabellingRecord) -> dict[str, set[str]]:
    """Text → names of its codes, of the failures with a code."""
    state = r.labellings.snapshot(record.id).partition
    texts, names = r.corpora.sentences_by_id(state.ids), code_names(state)
    numbers = zip(state.ids.tolist(), state.numbers.tolist(), strict=True)
    return {texts[id].text: {*names[number]} for id, number in numbers if names[number]}


def test_every_case_becomes_a_failure_with_its_facts(migrated: Store) -> None:
    with migrated.reading() as r:
        corpus = r.failures.of("Rivers")
        assert corpus is not None and (corpus.name, corpus.sentences) == ("Errors of Rivers", 5)
        ids = r.corpora.sentence_ids(corpus.id)
        texts = [r.corpora.sentences_by_id(ids)[id].text for id in ids.tolist()]
        assert texts == CASES
        batches = [article.title for article in r.corpora.articles(corpus.id)]
        assert batches == ["2 of 40 failures of default", "triplet set Rivers, test split", "labelling Rivers"]
        assert "Random sample of 40 failures with seed 7, " in r.corpora.articles(corpus.id)[0].source
        columns = {column.name: r.columns.values(column, ids).tolist() for column in r.columns.list(corpus.id)}
        kinds = next(column for column in r.columns.list(corpus.id) if column.name == "kind")
        assert [kinds.categories[code] for code in columns["kind"]] == [
            *["wrong triplet"] * 3, "misplaced sentence", "disagreement",
        ]  # fmt: skip
        assert columns["margin"][:3] == [-0.125] * 3 and np.isnan(columns["margin"][3])
        assert columns["link"] == [*(f"triplets?triplets_triplet={n}" for n in range(3)),
                                   *["relabel?relabel_labelling=Rivers"] * 2]  # fmt: skip
        assert columns["placed"] == ["Climate"] * 3 + ["Cluster 7", "Cluster 3; Cluster 8; Cluster 9"]


def test_each_person_has_what_they_coded_and_noted_and_nobody_elses(migrated: Store) -> None:
    """As commit 8b7e71d3 read it: Ada {1: {words, topics}, 2: {words}, 4: none}, Ben {1: {words}, 2: {topics}}."""
    with migrated.reading() as r:
        of = labellings(r)
        assert coded(r, of["Ada"]) == {
            CASES[0]: {"Shared words", "Two topics"}, CASES[1]: {"Shared words"}, CASES[3]: {"None applies"},
        }  # fmt: skip
        assert coded(r, of["Ben"]) == {CASES[0]: {"Shared words"}, CASES[1]: {"Two topics"}}
        assert coded(r, of["Cem"]) == {}
        notes = {person: {r.corpora.sentences_by_id([id])[id].text: note for id, note in
                          r.labellings.snapshot(record.id).partition.notes.items()}
                 for person, record in of.items()}  # fmt: skip
        assert notes == {
            "Ada": {CASES[2]: "Same words."},
            "Ben": {CASES[3]: "Odd.", CASES[0]: "Better text.\nA second note."},
            "Cem": {CASES[4]: "Only a note."},
        }
        steps = [step.summary for step in r.label_steps.list(of["Ben"].id)]
        earlier = r.labellings.snapshot(of["Ben"].id).partition
    assert any("Lead deleted" in summary for summary in steps)
    assert all(record.blind and record.owner == person for person, record in of.items())
    back = LabellingSession(migrated, of["Ben"].id, "Ben")
    first = next(step for step in back.steps if step.operation == "note" and step.id != back.steps[0].id)
    assert "First text." in back.at(first.id).notes.values() and "First text." not in earlier.notes.values()


def test_categories_are_codes_with_definitions_and_undo_brings_deleted_ones_and_cases_back(migrated: Store) -> None:
    with migrated.reading() as r:
        ben = labellings(r)["Ben"]
        entries = {code.cluster.name: code.entry for code in codes(r.labellings.snapshot(ben.id).partition)}
        assert {name: entry.definition for name, entry in entries.items()} == {
            "Shared words": "Other sections share words.", "Two topics": "", "None applies": "",
        }  # fmt: skip
        assert entries["Shared words"].notes.startswith("By Ada, ")
        plans = {record.owner: record for record in r.labellings.list() if record.name.startswith("Errors of Plans")}
        kept = codes(r.labellings.snapshot(plans["Ben"].id).partition)
    assert [(code.cluster.name, code.entry.definition) for code in kept] == [("Negation", "Words such as not.")]
    session = LabellingSession(migrated, ben.id, "Ben")
    session.undo(next(step.id for step in session.steps if step.operation == "delete"))
    with migrated.reading() as r:
        assert coded(r, ben)[CASES[3]] == {"Lead"}
        corpus = r.failures.of("Rivers")
        assert corpus is not None
        (edit,) = r.corpus_edits.list(corpus.id)
    # A deleted case comes back with its codes.
    assert (edit.sentences, edit.labels) == (1, 1)
    assert corpus_edits.undo(migrated, corpus.id, edit.id, "Ada").unassigned == 0
    with migrated.reading() as r:
        assert coded(r, labellings(r)["Ada"])[DELETED] == {"Two topics"}
        assert "Deleted later." in r.labellings.snapshot(labellings(r)["Ada"].id).partition.notes.values()
        kind = next(column for column in r.columns.list(corpus.id) if column.name == "kind")
        assert kind.about["counts"] == [3, 1, 1, 1]


def test_what_others_coded_stays_hidden_until_the_task_is_closed(migrated: Store) -> None:
    with migrated.writing() as w:
        of = labellings(w)
        assert w.labellings.hidden_from("Ada") == {of["Ben"].id, of["Cem"].id}
        assert w.labellings.hidden_from("Ben") == {of["Ada"].id, of["Cem"].id}
        (task,) = w.tasks.list()
        assert task.blind and task.person == "Zoe"
        done = {person: [item.done is not None for item in w.tasks.items(task.id, person)] for person in ("Ada", "Ben")}
        assert done == {"Ada": [True, False, False], "Ben": [True, False, False]}
        assert w.labellings.hidden_from("Cem") == {of["Ada"].id, of["Ben"].id}
        w.tasks.close(task.id, True)
        assert w.labellings.hidden_from("Ada") == frozenset()


def test_a_bundle_with_a_notebook_is_imported_as_failures(sqlite_store: Store) -> None:
    lines = NOTEBOOK_OF_A_BUNDLE.read_text(encoding="utf-8").splitlines()
    project = add_corpus(sqlite_store, "Rivers")
    with sqlite_store.writing() as w:
        ids = w.corpora.sentence_ids(project.id)
        store_notebook(w, project, lines, ids, "error-notebook.jsonl")
        corpus, of = w.failures.of("Rivers"), labellings(w)
        assert corpus is not None and corpus.sentences == 5
        assert coded(w, of["Ada"]) == {
            CASES[0]: {"Shared words", "Two topics"}, CASES[1]: {"Shared words"}, CASES[3]: {"None applies"},
        }  # fmt: skip
        assert coded(w, of["Ben"]) == {CASES[0]: {"Shared words"}, CASES[1]: {"Two topics"}}
        column = next(one for one in w.columns.list(corpus.id) if one.name == "sentences")
        first = w.columns.values(column, w.corpora.sentence_ids(corpus.id)[:1])[0]
        assert first == f"{ids[0]} {ids[1]} {ids[6]}", "the sentences of the imported project"
    damages = [
        ("error_case", "sentence_ids", [len(ids)]), ("error_case", "sentence_ids", [-1]), ("error_case", "facts", {}),
        ("error_coding", "case_id", 99), ("error_coding", "category_id", 99), ("error_note", "created", "x"),
    ]  # fmt: skip
    for table, name, value in damages:
        at = next(place for place, line in enumerate(lines) if table in json.loads(line))
        row = json.loads(lines[at])
        row[table][name] = value
        wrong = [*lines[:at], json.dumps(row), *lines[at + 1 :]]
        with pytest.raises(ReadError, match="not an error notebook"), sqlite_store.writing() as w:
            store_notebook(w, project, wrong, ids, "error-notebook.jsonl")


def test_a_name_that_is_forgotten_is_in_no_failure(migrated: Store) -> None:
    forget(migrated, "Ada")
    with migrated.reading() as r:
        corpus = r.failures.of("Rivers")
        assert corpus is not None
        found = next(one for one in r.columns.list(corpus.id) if one.name == "found by")
        assert sorted(found.categories) == ["Ben", "former-user-1"]
        notes = [code.entry.notes for code in codes(r.labellings.snapshot(labellings(r)["Ben"].id).partition)]
        assert notes[0].startswith("By former-user-1, ") and not [note for note in notes if "Ada" in note]
        assert not [article for article in r.corpora.articles(corpus.id) if "Ada" in article.source]


def failure(n: int, source: str = "triplet set Rivers") -> CollectedFailure:
    return CollectedFailure(
        "wrong triplet", f"Pivot {n}", source, (n,), ("default",), {"default": -0.1 * n}, "Climate", "Rome"
    )


def test_a_failure_is_collected_once(store: Store) -> None:
    project = add_corpus(store)
    with store.writing() as w:
        corpus, ids, new = w.failures.add(project, "batch", [failure(1), failure(2), failure(1)], "Ada")
        assert new == 2 and ids[0] == ids[2] and corpus.sentences == 2 and w.failures.of(project.name) == corpus
        again, same, more = w.failures.add(project, "batch", [failure(2), failure(3, "another set")], "Ben")
        assert more == 1 and same[0] == ids[1] and again.sentences == 3 and again.id == corpus.id
        assert again.report["digest"] != corpus.report["digest"]
        every = w.corpora.sentence_ids(corpus.id)
        columns = {column.name: column for column in w.columns.list(corpus.id)}
        assert w.columns.values(columns["margin"], every).round(3).tolist() == [-0.1, -0.2, -0.3]
        assert columns["source"].about["categories"] == ["triplet set Rivers", "another set"]
        assert columns["source"].about["counts"] == [2, 1] and columns["margin"].about["low"] == pytest.approx(-0.3)
        found = w.columns.values(columns["found by"], every)
        assert [columns["found by"].categories[code] for code in found.tolist()] == ["Ada", "Ada", "Ben"]
