"""Collected failures, and the error notebooks of earlier versions that become them."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from tests.db.stores import NOTEBOOK, NOTEBOOK_OF_A_BUNDLE
from tests.db.texts import add_corpus
from themescope.core.errors import ReadError
from themescope.core.labelling.codebook.entries import codes
from themescope.core.labelling.partition import code_names
from themescope.core.records.stored import LabellingRecord
from themescope.db.repositories.failures import CollectedFailure
from themescope.db.settings import Settings, sqlite_path
from themescope.db.store import Store, Unit
from themescope.jobs.bundles.parts import store_notebook
from themescope.jobs.services import corpus_edits
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.people import forget

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
