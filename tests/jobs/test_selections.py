"""Selections in the store: who may write them, what is stored once, what they are used for, bundles."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.db.texts import add_corpus
from themescope.core.errors import AccessError, DataError, DuplicateNameError, ReadError, StoreError, UnknownNameError
from themescope.core.labelling.operations import Origin, Selection, selected
from themescope.core.readers.tables import read_sheet
from themescope.core.records.stored import Role, Sharing
from themescope.db.records import NewLabelling, VectorBlock
from themescope.db.store import Store
from themescope.jobs.bundles.parts import BundledSelection, selections_from_lines
from themescope.jobs.queue.runner import run_here
from themescope.jobs.services import selections
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.table_files import csv_text

LASSO = Origin("lasso", ("lasso on map Rome", "coloured by theme"))
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)


def some(store: Store, count: int = 5, start: int = 0) -> Selection:
    with store.reading() as r:
        corpus = r.corpora.list()[0]
        return selected(corpus.id, r.corpora.sentence_ids(corpus.id)[start : start + count], LASSO)


@pytest.fixture
def demo(sqlite_store: Store) -> Store:
    """A store with a corpus of five articles."""
    add_corpus(sqlite_store)
    return sqlite_store


def test_a_selection_is_stored_with_its_origin(demo: Store) -> None:
    selection = some(demo)
    with demo.writing() as w:
        record = w.selections.add(selection, "Roman law", "ada")
        linked = w.selections.add(selection, person="ada")
        assert w.selections.add(selection, person="ben") == linked, "a link to the same sentences is stored once"
        with pytest.raises(DuplicateNameError):
            w.selections.add(some(demo, 2), " Roman law ", "ben")
    with demo.reading() as r:
        assert r.selections.list(selection.corpus_id) == [record]
        opened = r.selections.selection(linked.id)
        assert np.array_equal(opened.ids, selection.ids) and opened.origin == LASSO
    many = selected(selection.corpus_id, np.arange(1, 300_001, 3), LASSO)
    with demo.writing() as w:
        stored = w.selections.add(many, "many", "ada")
        assert stored.sentences == 100_000 and w.selections.selection(stored.id).digest == many.digest
        w.corpora.delete(selection.corpus_id)
        with pytest.raises(UnknownNameError):
            w.selections.get(record.id)


def test_empty_ones_long_names_and_viewers_are_refused(demo: Store) -> None:
    selection = some(demo)
    with demo.writing() as w, pytest.raises(DataError, match="1 to"):
        w.selections.add(selected(1, [], LASSO))
    with demo.writing() as w, pytest.raises(DataError, match="at most 200"):
        w.selections.add(selection, "x" * 201)
    with demo.writing() as w:
        w.people.set_role("val", Role.VIEWER, "")
        made = w.selections.add(selection, "ada's", "ada")
        w.people.set_role("root", Role.ADMIN, "")
    with pytest.raises(StoreError), demo.by(lambda: "val").writing() as w:
        w.selections.add(selection, "mine", "val")
    with pytest.raises(AccessError), demo.by(lambda: "ben").writing() as w:
        w.selections.delete(made.id)
    with demo.by(lambda: "ada").writing() as w:
        w.selections.delete(made.id)


def test_sentences_are_listed_in_reading_order_and_exported(demo: Store) -> None:
    with demo.reading() as r:
        ids = r.corpora.sentence_ids(1)
    found = selections.read_sentences(demo, ids[::-1])
    assert found.ids.tolist() == ids.tolist()
    table = selections.rows(demo, found)
    with demo.reading() as r:
        known = r.corpora.sentences_by_id(ids)
    assert [row[0] for row in table] == ids.tolist()
    assert all(row[6] == known[row[0]].text and row[3] == known[row[0]].position for row in table)
    assert found.rows_of(ids[3:5]).tolist() == [3, 4] and not len(found.rows_of(np.array([10**9])))


def test_an_exported_selection_is_joined_to_its_source_by_place(sqlite_store: Store, tmp_path: Path) -> None:
    article = "A\n\nOne begins. 'Two' follows.\n\n'=Three' is here. '=Four too.\n"
    (tmp_path / "a.txt").write_text(article)
    run_here(sqlite_store, "import-corpus", {"files": [str(tmp_path / "a.txt")], "corpus": "C"}, quiet=True)
    with sqlite_store.reading() as r:
        ids = r.corpora.sentence_ids(r.corpora.by_name("C").id)
        places = {(s.paragraph, s.start): s.text for s in r.corpora.sentences_by_id(ids).values()}
    table = selections.rows(sqlite_store, selections.read_sentences(sqlite_store, ids))
    (tmp_path / "selection.csv").write_text(csv_text(selections.HEADER, table), newline="")
    sheet = read_sheet(tmp_path / "selection.csv")
    found = zip(*map(sheet.column, ("paragraph", "start", "sentence")), strict=True)
    assert {(int(paragraph), int(start)): text for paragraph, start, text in found} == places
    assert len(places) == len(ids) and any(text.startswith("'=") for text in places.values())
    assert len({paragraph for paragraph, _ in places}) > 1


def test_central_sentences_are_near_the_mean(demo: Store) -> None:
    with demo.writing() as w:
        model = w.models.add(name="m", method="mean-vectors", config={}, seed=0, digest="d", artifact="a", metrics={})
        blocks = []
        for article in w.corpora.articles(1):
            angles = np.arange(article.sentences) * 0.05
            blocks.append(VectorBlock(article.id, np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32)))
        w.embeddings.add(model.id, blocks)
    found = selections.read_sentences(demo, some(demo, 9).ids)
    chosen = selections.model_of(demo, 1, found)
    assert chosen is not None and chosen.name == "m"
    order = np.argsort(-selections.centrality(demo, chosen, found))
    assert set(order[:1].tolist()) == {4} and set(order[-2:].tolist()) == {0, 8}


def test_words_of_a_selection_are_those_that_others_lack(demo: Store) -> None:
    one, other = some(demo, 6), some(demo, 6, 6)
    words = selections.distinctive_words(demo, one.ids, other.ids)
    assert words == selections.distinctive_words(demo, one.ids, other.ids) and len(set(words)) == len(words)
    assert selections.distinctive_words(demo, one.ids, one.ids[:0]) == ()
    read = selections.read_sentences(demo, one.ids)
    themes = np.array([0, 1, 2, -1, -1, -1], dtype=np.int32)
    assert replace(read, themes=themes, theme_names=["a", "b", "a"]).theme_counts() == {"a": 2, "b": 1}


def test_sentences_become_a_cluster_in_one_step_that_can_be_undone(demo: Store) -> None:
    selection = some(demo)
    new = NewLabelling(1, "mine", "ada", Sharing.OWN)
    record = starts.begin(demo, new, starts.from_sections)
    step = selections.new_cluster(demo, selection, record, "Law", "ada")
    assert step is not None and step.selection_method == "lasso on map Rome · coloured by theme"
    session = LabellingSession(demo, record.id, "ada")
    number = next(n for n, cluster in session.partition.clusters.items() if cluster.name == "Law")
    assert session.partition.members(number).tolist() == selection.ids.tolist()
    again = selections.new_cluster(demo, some(demo, 2, 9), record, "Law", "ada")
    assert again is not None and "Law 2" in again.summary
    assert selections.assign(demo, selection, record, number, "ada") is None, "they are in it already"
    with pytest.raises(StoreError, match="belongs to ada"):
        selections.assign(demo, some(demo, 2, 9), record, number, "ben")
    outside = selected(1, [10**9], LASSO)
    with pytest.raises(DataError, match="None of these"):
        selections.assign(demo, outside, record, number, "ada")


@given(st.lists(st.tuples(NAMES, st.sets(st.integers(0, 50), min_size=1)), max_size=4, unique_by=lambda x: x[0]))
def test_lines_of_a_bundle_give_the_same_selections(entries: list[tuple[str, set[int]]]) -> None:
    made = [
        BundledSelection(name, "ada", datetime(2026, 5, 4, tzinfo=UTC), LASSO, np.array(sorted(ids), dtype=np.int64))
        for name, ids in entries
    ]
    back = selections_from_lines([one.to_line() for one in made], 51, "x")
    assert [one.to_line() for one in back] == [one.to_line() for one in made]


@pytest.mark.parametrize(
    "change", [{"sentences": [2, 1]}, {"sentences": [9]}, {"sentences": []}, {"name": ""}, {"origin": {"kind": "x"}}]
)
def test_damaged_lines_are_refused(change: dict[str, object]) -> None:
    line = BundledSelection("a", "ada", datetime(2026, 5, 4, tzinfo=UTC), LASSO, np.array([0, 3])).to_line()
    selections_from_lines([line], 5, "x")
    with pytest.raises(ReadError):
        selections_from_lines([json.dumps(json.loads(line) | change)], 5, "x")
    with pytest.raises(ReadError, match="same name"):
        selections_from_lines([line, line], 5, "x")


def test_named_selections_travel_in_bundles(demo: Store, tmp_path: Path) -> None:
    selection = some(demo, 4, 7)
    with demo.writing() as w:
        w.selections.add(selection, "Law", "ada")
        w.selections.add(some(demo, 2))
    with demo.reading() as r:
        name = r.corpora.list()[0].name
    run_here(demo, "export-bundle", {"corpus": name, "file": str(tmp_path / "b.zip")}, quiet=True)
    made = run_here(demo, "import-bundle", {"file": str(tmp_path / "b.zip"), "corpus": "again"}, quiet=True)
    with demo.reading() as r:
        (record,) = r.selections.list(made["corpus_id"])
        ids = r.corpora.sentence_ids(made["corpus_id"])
        assert (record.name, record.person) == ("Law", "ada")
        assert r.selections.ids(record.id).tolist() == ids[7:11].tolist()
