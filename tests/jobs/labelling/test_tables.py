"""Labels from tables: found by id or word for word, and never imported in part."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.db.texts import add_corpus
from tests.jobs.helpers import only_plan
from tests.jobs.test_cli import call, call_json
from themescope.core.errors import DataError, UnknownNameError
from themescope.core.labelling import coding
from themescope.core.labelling import operations as op
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.readers.tables import Sheet, read_sheet
from themescope.core.records.stored import LabellingRecord
from themescope.core.types import Article, Paragraph, Section
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.services.importing import Codings
from themescope.jobs.services.labelling import files, starts, tables
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.table_files import csv_text, excel_bytes, json_lines

COLUMNS = tables.LabelColumns("cluster", "", "sentence", "note")


def sheet(*rows: tuple[str, ...], columns: tuple[str, ...] = ("sentence", "cluster", "note")) -> Sheet:
    filled = tuple(row + ("",) * (len(columns) - len(row)) for row in rows)
    return Sheet(columns, filled, numbers=tuple(range(2, len(rows) + 2)))


def levels(store: Store, record: LabellingRecord) -> set[tuple[str, str]]:
    with store.reading() as r:
        clusters = r.labellings.snapshot(record.id).partition.clusters
    return {(c.name, clusters[c.parent].name if c.parent else "") for c in clusters.values()}


def said(store: Store, record: LabellingRecord) -> dict[str, tuple[str, str]]:
    """Text → (cluster, note with the mark) of what is assigned, noted or marked."""
    with store.reading() as r:
        now = r.labellings.snapshot(record.id).partition
        texts = r.corpora.sentences_by_id(now.ids)
    names = {UNASSIGNED: ""} | {number: c.name for number, c in now.clusters.items()}
    rows = zip(now.ids.tolist(), now.numbers.tolist(), strict=True)
    marks = dict(zip(now.ids.tolist(), now.uncertain.tolist(), strict=True))
    found = {texts[i].text: (names[number], now.notes.get(i, "") + " (uncertain)" * marks[i]) for i, number in rows}
    return {text: value for text, value in found.items() if any(value)}


def repeated(store: Store) -> int:
    """A corpus where "Same." stands three times."""
    section = Section(
        "A", 2, (Paragraph("", ("Same.", "Other.")), Paragraph("", ("Same.", "  Wide \n one. ", "Same.")))
    )
    with store.writing() as w:
        corpus = w.corpora.create("repeated", "en")
        w.corpora.add_articles(corpus.id, [Article("A", (section,))])
        return w.corpora.finish(corpus.id, {}).id


def test_a_column_is_looked_at_once_not_for_each_row(sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, divide = list[str](), tables.labels_of
    monkeypatch.setattr(tables, "labels_of", lambda table, name: asked.append(name) or divide(table, name))
    table = sheet(*[("Other.", "One")] * 50)
    assert only_plan(sqlite_store, repeated(sqlite_store), None, table, COLUMNS).rows == 50 and len(asked) < 10


def test_rows_are_found_or_told_by_number(sqlite_store: Store) -> None:
    corpus = repeated(sqlite_store)
    table = sheet(
        ("Other.", "One", "noted"), ("nowhere", "One"), ("Same.", "Two"), ("Wide one.", "Two"), ("Other.", "Two"),
        ("", "One"),
    )  # fmt: skip
    found = only_plan(sqlite_store, corpus, None, table, COLUMNS)
    assert (found.rows, len(found.placed), found.sentences, found.names) == (2, 2, 5, ("One", "Two"))
    assert [(t.row, t.why) for t in found.problems] == [
        (3, "no sentence has this text"),
        (4, f"3 sentences have this text: {tables.EACH_OR_ALL}"),
        (6, "row 2 gives this unit another code"),
        (7, "the row has no sentence"),
    ]
    with pytest.raises(DataError, match=r"4 rows or passages match no sentence, so .* \(row 3: no sentence"):
        Codings("x", Path("x.csv"), (found,)).check_whole()
    together = only_plan(sqlite_store, corpus, None, table, COLUMNS, together=True)
    assert (together.rows, len(together.placed), len(together.ambiguous)) == (3, 5, 0)
    record = starts.begin(sqlite_store, NewLabelling(corpus, "x", "ada"), tables.from_plan(together, "x.csv"))
    assert said(sqlite_store, record) == {
        "Same.": ("Two", ""), "Other.": ("One", "noted"), "  Wide \n one. ": ("Two", ""),
    }  # fmt: skip
    assert record.origin == {"from": "table", "name": "x.csv"}


def test_ids_count_where_the_text_is_theirs(sqlite_store: Store) -> None:
    corpus = repeated(sqlite_store)
    with sqlite_store.reading() as r:
        first, second, third, *_ = r.corpora.sentence_ids(corpus).tolist()
    by_id = tables.LabelColumns("cluster", "id", "sentence")
    names = ("id", "sentence", "cluster")
    rows = [(str(third), "Same.", "A"), (f"{second}.0", "", "a"), (str(first), "Other.", "a"), ("999", "", "C")]
    found = only_plan(sqlite_store, corpus, None, sheet(*rows, ("x", "", "C"), columns=names), by_id)
    assert found.placed == {third: {0}, second: {1}} and found.names == ("A", "a")
    assert found.remarks == ("“A” and “a” look the same, but are different codes; merge them if they mean the same",)
    assert [(t.row, t.why) for t in found.problems] == [
        (5, "no sentence has the id '999'"), (6, "no sentence has the id 'x'"),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["csv", "xlsx", "jsonl"])
def test_what_was_exported_as_a_table_comes_back(sqlite_store: Store, tmp_path: Path, kind: str) -> None:
    corpus = add_corpus(sqlite_store)
    record = starts.begin(sqlite_store, NewLabelling(corpus.id, "first", "ada"), starts.from_sections)
    session = LabellingSession(sqlite_store, record.id, "ada")
    session.do(op.create(session.partition, session.next_number, "=SUM(A1) <b>", session.partition.ids[3:9]))
    for place, name in enumerate(("NA", "null", "1.0", "-1"), 9):
        session.do(op.create(session.partition, session.next_number, name, session.partition.ids[place : place + 1]))
    session.do(op.note(session.partition, session.partition.ids[4:5], "-1 is a note"))
    session.do(op.note(session.partition, session.partition.ids[5:6], "a note\n\n= of lines"))
    session.do(op.mark(session.partition, session.partition.ids[4:7], True))
    session.do(op.unassign(session.partition, session.partition.ids[-2:]))
    session.do(coding.put_under(session.partition, [2], 1))
    session.do(coding.group(session.partition, [coding.ClusterGroup("Above", (3,))], session.next_number))
    rows = files.rows(sqlite_store, record.id)
    path = tmp_path / f"labels.{kind}"
    written = {"csv": csv_text, "jsonl": json_lines}.get(kind)
    path.write_bytes(written(files.HEADER, rows).encode() if written else excel_bytes(files.HEADER, rows))
    table = read_sheet(path, keep_lines=True)
    likely = tables.likely_columns(table)
    sure = "" if kind == "xlsx" else "probability"  # workbooks leave empty columns out
    assert likely == tables.LabelColumns(
        "cluster", "sentence_id", "sentence", "note", "theme", "source", "coder", sure, "uncertain"
    )
    found = only_plan(sqlite_store, corpus.id, None, table, likely)
    Codings("x", Path("x.csv"), (found,)).check_whole()
    again = starts.begin(sqlite_store, NewLabelling(corpus.id, "again", "ada"), tables.from_plan(found, path.name))
    assert said(sqlite_store, again) == said(sqlite_store, record)
    assert levels(sqlite_store, again) == levels(sqlite_store, record)
    assert {"Above", ""} < {theme for _, theme in levels(sqlite_store, again)}


@pytest.mark.parametrize(
    ("themes", "expected"),
    [
        ({"A": "B", "B": "C", "C": "D"}, {("A", "D"), ("B", "D"), ("C", "D"), ("D", "")}),
        ({"A": "B", "B": "C", "C": "A"}, {("A", ""), ("B", ""), ("C", "")}),
        ({"A": "B", "B": "C", "C": "B"}, {("A", "B"), ("B", ""), ("C", "")}),
    ],
)
def test_themes_have_two_levels(sqlite_store: Store, themes: dict[str, str], expected: set[tuple[str, str]]) -> None:
    corpus = add_corpus(sqlite_store)
    with sqlite_store.reading() as r:
        ids = r.corpora.sentence_ids(corpus.id)
    rows = [(str(ids[place]), *pair) for place, pair in enumerate(themes.items())]
    columns = tables.LabelColumns("cluster", "id", theme="theme")
    found = only_plan(sqlite_store, corpus.id, None, sheet(*rows, columns=("id", "cluster", "theme")), columns)
    new = NewLabelling(corpus.id, "levels", "ada")
    record = starts.begin(sqlite_store, new, tables.from_plan(found, "labels.csv"))
    assert levels(sqlite_store, record) == expected
    assert files.import_lines(sqlite_store, corpus.id, files.export_lines(sqlite_store, record.id).splitlines(), "x")


@settings(max_examples=15)
@given(st.lists(st.tuples(st.integers(0, 70), st.sampled_from(["", "A", "B", "=C"])), max_size=12))
def test_every_row_is_counted_once(sqlite_store: Store, rows: list[tuple[int, str]]) -> None:
    with sqlite_store.reading() as r:
        known = next((c for c in r.corpora.list()), None)
    corpus = known or add_corpus(sqlite_store)
    with sqlite_store.reading() as r:
        ids = r.corpora.sentence_ids(corpus.id)
        texts = [s.text for s in r.corpora.sentences_by_id(ids).values()]
    table = sheet(*((texts[i] if i < len(texts) else "?", name) for i, name in rows), columns=("sentence", "cluster"))
    columns = tables.LabelColumns("cluster", "", "sentence")
    if not any(i < len(texts) and name for i, name in rows):
        with pytest.raises(DataError, match=r"No row (?:with a label matches|of the column 'cluster' has a label)"):
            only_plan(sqlite_store, corpus.id, None, table, columns)
        return
    found = only_plan(sqlite_store, corpus.id, None, table, columns)
    assert found.rows + len(found.problems) == len(rows)
    assert {t.row for t in found.missing} == {n for n, (i, _) in enumerate(rows, 2) if i >= len(texts)}
    first = {i: name for i, name in reversed(rows) if i < len(texts)}
    placed = {int(np.flatnonzero(ids == id)[0]): p for id, p in found.placed.items()}
    assert {i: "".join(found.names[place] for place in p) for i, p in placed.items()} == first


def test_tables_that_make_no_sense_are_refused(sqlite_store: Store) -> None:
    corpus = add_corpus(sqlite_store)

    def plan(table: Sheet, columns: tables.LabelColumns = COLUMNS) -> None:
        only_plan(sqlite_store, corpus.id, None, table, columns)

    with pytest.raises(UnknownNameError, match="column called 'cluster'"):
        plan(sheet(("x", "y"), columns=("sentence", "group")), tables.LabelColumns("cluster", "", "sentence"))
    with pytest.raises(DataError, match=r"needs a column of codes, .* this file has “sentence”, “cluster”, “note”"):
        plan(sheet(("x", "y")), tables.LabelColumns("cluster"))
    with sqlite_store.reading() as r:
        texts = [s.text for s in r.corpora.sentences_by_id(r.corpora.sentence_ids(corpus.id)).values()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(starts, "MOST_CLUSTERS", 3)
        with pytest.raises(DataError, match="has 4 codes"):
            plan(sheet(*((text, text) for text in texts[:4])))


def test_the_command(sqlite_store: Store, tmp_path: Path) -> None:
    add_corpus(sqlite_store)
    path = tmp_path / "mine.csv"
    path.write_text("sentence,cluster\nArticle 0 0.0.0.,One\nArticle 1 1.0.0.,Two\nnowhere,Two\n", encoding="utf-8")
    refused = call("labels", "import", path, "--corpus", "demo")
    assert refused.exit_code == 2 and "row 4: no sentence has this text" in refused.stderr
    with sqlite_store.reading() as r:
        assert r.labellings.list() == []
    looked = call_json("labels", "import", path, "--corpus", "demo", "--dry-run")
    assert (looked["rows"], looked["not found"], looked["left_out"][0]["place"]) == (2, 1, "row 4")
    assert call_json("labels", "import", path, "--corpus", "demo", "--skip", "--person", "ada")["labelling"] == "mine"
    whole, table = tmp_path / "whole.jsonl", tmp_path / "table.xlsx"
    for file in (whole, table):
        assert call_json("labels", "export", "mine", file)["sentences"] == 60
    assert call_json("labels", "import", whole, "--corpus", "demo")["labelling"] == "mine 2"
    again = call_json("labels", "import", table, "--corpus", "demo", "--article", "Article 0", "--skip")
    assert (again["placed"], again["without a label"], again["sentences"]) == (1, 11, 12)
    assert [x["name"] for x in call_json("list", "labellings")["labellings"]] == ["mine", "mine 2", "table"]
    assert json.loads(whole.read_text(encoding="utf-8").splitlines()[0])["about"]["owner"] == "ada"
    assert call("labels", "import", path, "--corpus", "demo", "--article", "Nowhere").exit_code == 2
    assert call("labels", "export", "mine", tmp_path / "x.pdf").exit_code == 2
