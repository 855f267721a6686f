"""Labels from tables, found by id or word for word and never in part, and who or what made them."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.db.texts import add_articles, add_corpus
from tests.jobs.helpers import finish_item, only_plan, open_item, partition_of, sentences_of_item
from tests.jobs.test_cli import call, call_json
from themescope.core.errors import DataError, UnknownNameError
from themescope.core.labelling import coding
from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import ChangeSet, EntryChange, Field, difference, marked
from themescope.core.labelling.partition import UNASSIGNED, Entry, EntryKind
from themescope.core.labelling.provenance import Source
from themescope.core.labelling.task_items import DistributionPlan, Order
from themescope.core.readers.tables import Sheet, read_sheet
from themescope.core.records.stored import LabellingRecord, Role, Sharing
from themescope.core.types import Article, Ids, Paragraph, Section
from themescope.db.access import Actor
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.api.problems import Caller
from themescope.jobs.api.routes.labellings import list_labels
from themescope.jobs.common.labelled import judged_sentences, placed_sentences, provenance_of
from themescope.jobs.kinds.triplets import training_labels
from themescope.jobs.queue.runner import run_here
from themescope.jobs.services import people, tasks
from themescope.jobs.services.importing import Codings
from themescope.jobs.services.labelling import files, qda_projects, starts, tables
from themescope.jobs.services.labelling import session as assistance
from themescope.jobs.services.labelling.agreement import from_adjudication
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.table_files import csv_text, excel_bytes, json_lines, parquet_bytes
from themescope.jobs.services.tasks import TaskForm

COLUMNS = tables.LabelColumns("cluster", "", "sentence", "note")


def sheet(*rows: tuple[str, ...], columns: tuple[str, ...] = ("sentence", "cluster", "note")) -> Sheet:
    filled = tuple(row + ("",) * (len(columns) - len(row)) for row in rows)
    return Sheet(columns, filled, numbers=tuple(range(2, len(rows) + 2)))


def levels(store: Store, record: LabellingRecord) -> set[tuple[str, str]]:
    clusters = partition_of(store, record.id).clusters
    return {(c.name, clusters[c.parent].name if c.parent else "") for c in clusters.values()}


def shown(store: Store, record: LabellingRecord) -> dict[str, tuple[str, str]]:
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
    return add_articles(store, "repeated", [Article("A", (section,))])


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
    assert shown(sqlite_store, record) == {
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
    found = only_plan(sqlite_store, corpus.id, None, table, tables.likely_columns(table))
    Codings("x", Path("x.csv"), (found,)).check_whole()
    again = starts.begin(sqlite_store, NewLabelling(corpus.id, "again", "ada"), tables.from_plan(found, path.name))
    assert shown(sqlite_store, again) == shown(sqlite_store, record)
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


# --- who or what made a label is kept through files, the API and undo, and nothing learns from machine labels ---------

N, EACH = 300, 15
TOPICS = ("rain", "music", "trade", "law")
PLACED = EACH * len(TOPICS)
Cells = dict[int, tuple[str, str, float | None]]


@pytest.fixture
def corpus(sqlite_store: Store) -> int:
    """A corpus of one article of the training split, whose sentences are about four topics in turn."""
    texts = tuple(f"{TOPICS[i % 4].title()} number {i}." for i in range(N))
    return add_articles(sqlite_store, "Survey", [Article("Answers", (Section("", 1, (Paragraph("", texts),)),))])


def vectors() -> np.ndarray:
    """Vectors in which the topics of the sentences are far apart, with some noise."""
    random = np.random.default_rng(0)
    return (np.eye(8)[np.arange(N) % 4] + 0.1 * random.normal(size=(N, 8))).astype(np.float32)


def coded(store: Store, corpus: int, person: str = "Anna", name: str = "codes") -> LabellingSession:
    """A labelling in which a person placed some sentences of each topic; the others are in no cluster."""
    record = starts.begin(store, NewLabelling(corpus, name, person), starts.from_nothing)
    session = LabellingSession(store, record.id, person)
    for place, topic in enumerate(TOPICS):
        ids = session.partition.ids[place::4][:EACH]
        session.do(op.create(session.partition, session.next_number, topic, ids), selection_method="key")
    return session


def reclustered(store: Store, session: LabellingSession) -> None:
    placed, _, made = assistance.preview_reclustering(store, session.record, session.partition, vectors(), "metric 7")
    assert placed == PLACED
    assert session.do(made) is not None


def cells(store: Store, record: LabellingRecord) -> Cells:
    with store.reading() as r:
        partition = r.labellings.snapshot(record.id).partition
        found = provenance_of(r, record, partition)
    return {id: found.cells(row) for row, id in enumerate(partition.ids.tolist())}


def counted(found: Cells) -> Counter[tuple[str, str]]:
    return Counter((source, coder) for source, coder, _ in found.values())


def judged_by_people(store: Store, session: LabellingSession) -> Ids:
    with store.reading() as r:
        return judged_sentences(r, session.record, session.partition)


EXPECTED = {("human", "Anna"): PLACED, ("machine", "metric 7"): N - PLACED}


def test_labels_of_the_machine_are_not_those_of_people_and_teach_nothing(sqlite_store: Store, corpus: int) -> None:
    session = coded(sqlite_store, corpus)
    before = cells(sqlite_store, session.record)
    assert counted(before) == {("human", "Anna"): PLACED, ("", ""): N - PLACED}
    reclustered(sqlite_store, session)
    after = cells(sqlite_store, session.record)
    assert counted(after) == EXPECTED
    rows = [dict(zip(files.HEADER, row, strict=True)) for row in files.rows(sqlite_store, session.record.id)]
    assert Counter((row["source"], row["coder"]) for row in rows) == EXPECTED
    # Each page of the API reads the history of its own sentences.
    caller = Caller(sqlite_store, Actor("Anna", Role.ADMIN))
    page = list_labels(caller, session.record.id, None, 50, 30).items
    assert [(one.source, one.coder, one.probability) for one in page] == [*after.values()][50:80]
    # Nothing learns from labels of the machine.
    judged = judged_by_people(sqlite_store, session)
    (placed,) = training_labels(sqlite_store, ("codes",)).placed
    assert len(judged) == PLACED and placed.ids.tolist() == judged.tolist()
    session.do(op.merge(session.partition, [1], 2))
    assert judged_by_people(sqlite_store, session).tolist() == judged.tolist()
    session.undo()
    session.undo()
    assert judged_by_people(sqlite_store, session).tolist() == judged.tolist()
    assert cells(sqlite_store, session.record) == before
    session.redo()
    assert cells(sqlite_store, session.record) == after
    session.back_to(session.steps[3].id)
    assert cells(sqlite_store, session.record) == before


@pytest.mark.parametrize("kind", ["xlsx", "parquet", "qdpx", "whole", "dataset"])
def test_an_import_restores_what_was_exported(sqlite_store: Store, corpus: int, tmp_path: Path, kind: str) -> None:
    session = coded(sqlite_store, corpus)
    reclustered(sqlite_store, session)
    record = session.record
    people.set_role(sqlite_store, "Anna", Role.ADMIN)
    path = tmp_path / f"labels.{kind}"
    for _ in range(2):
        if kind == "whole":
            lines = files.export_lines(sqlite_store, record.id).split("\n")
            again = files.import_lines(sqlite_store, corpus, lines, path)
        elif kind == "dataset":
            folder = tmp_path / record.name
            found = {"corpus": "Survey", "labelling": record.name, "folder": str(folder)}
            run_here(sqlite_store, "export-dataset", found, quiet=True)
            (table,) = (folder / "sentences").iterdir()
            again = imported(sqlite_store, corpus, table, f"again {record.id}")
        elif kind == "qdpx":
            path.write_bytes(qda_projects.qdpx(sqlite_store, record.id))
            plan = qda_projects.plan_project(sqlite_store, corpus, path)
            new = NewLabelling(corpus, f"again {record.id}", "Ben")
            (again,) = qda_projects.begin(sqlite_store, new, plan, path.name)
        else:
            write = excel_bytes if kind == "xlsx" else parquet_bytes
            path.write_bytes(write(files.HEADER, files.rows(sqlite_store, record.id)))
            again = imported(sqlite_store, corpus, path, f"again {record.id}")
        assert cells(sqlite_store, again) == cells(sqlite_store, session.record)
        assert counted(cells(sqlite_store, again)) == EXPECTED
        assert len(judged_by_people(sqlite_store, LabellingSession(sqlite_store, again.id, "Ben"))) == PLACED
        record = again


@pytest.mark.parametrize("kind", ["whole", "bundle"])
def test_what_was_approved_in_a_task_is_so_after_an_import(sqlite_store: Store, kind: str) -> None:
    corpus = add_corpus(sqlite_store, articles=3).id
    with sqlite_store.writing() as w:
        w.people.set_role("Anna", Role.ADMIN, "Anna")
        articles = tuple(article.id for article in w.corpora.articles(corpus))
        name = w.corpora.get(corpus).name
    plan = DistributionPlan(("Anna",), 0.0, 2, Order.GIVEN, 1)
    task = tasks.make(sqlite_store, TaskForm(corpus, "pilot", "Anna", articles, plan, start=tasks.START_SECTIONS))
    with sqlite_store.reading() as r:
        items = r.tasks.items(task.id, "Anna")
        ids = [[sentence.id for sentence in sentences_of_item(r, item.range)] for item in items[:2]]
    record, opened = (open_item(sqlite_store, item.id) for item in items[:2])
    for item in items[:2]:
        finish_item(sqlite_store, item.id)
    session = LabellingSession(sqlite_store, record.id, "Anna")
    change = marked(session.partition, Field.CLUSTER, np.array(ids[0][:2]), 3)
    assert change is not None
    session.do(op.Operation(op.OperationKind.RECLUSTER, "moved", ChangeSet((change,)), "m"))
    session.do(op.unassign(session.partition, np.array(ids[1][:1])))
    expected = [*cells(sqlite_store, record).values()]
    assert {("human", "Anna"), ("machine", "sections"), ("machine", "m")} < {one[:2] for one in expected}
    for _ in range(2):
        if kind == "whole":
            lines = files.export_lines(sqlite_store, record.id).split("\n")
            record = files.import_lines(sqlite_store, corpus, lines, "x")
        else:
            made = run_here(sqlite_store, "export-bundle", {"corpus": name}, quiet=True)
            name = run_here(sqlite_store, "import-bundle", {"file": made["file"]}, quiet=True)["corpus"]
            with sqlite_store.reading() as r:
                (record,) = r.labellings.list(r.corpora.by_name(name).id)
        assert [*cells(sqlite_store, record).values()] == expected
    with sqlite_store.reading() as r:
        assert [step.operation for step in r.label_steps.list(record.id)].count("approve") == 2, "imported twice"
    for one in (opened, record):
        LabellingSession(sqlite_store, one.id, "Anna").back_to(0)
    first, last = (list(cells(sqlite_store, one).values()) for one in (opened, record))
    assert first == last != expected


def imported(store: Store, corpus: int, path: Path, name: str, **options: bool) -> LabellingRecord:
    sheet = read_sheet(path)
    plan = only_plan(store, corpus, None, sheet, tables.likely_columns(sheet))
    return starts.begin(store, NewLabelling(corpus, name, "Ben"), tables.from_plan(plan, path.name, **options))


def test_tables_of_other_programs(sqlite_store: Store, corpus: int, tmp_path: Path) -> None:
    plain = tmp_path / "codes.csv"
    plain.write_text("sentence,cluster,source\nRain number 0.,wet,BBC\nMusic number 1.,loud,CNN\n")
    made = cells(sqlite_store, imported(sqlite_store, corpus, plain, "unknown"))
    assert counted(made) == {("imported", "codes.csv"): 2, ("", ""): N - 2}, "a column “source” about newspapers"
    made = cells(sqlite_store, imported(sqlite_store, corpus, plain, "by a program", machine=True))
    assert counted(made)["machine", "codes.csv"] == 2
    named = tmp_path / "named.csv"
    named.write_text(
        "sentence,cluster,coder,source,probability\nRain number 0.,wet,Eve,human,\n"
        "Music number 1.,loud,gpt,machine,0.75\n"
        "Trade number 2.,money,Kim,,2\n"
    )
    made = cells(sqlite_store, imported(sqlite_store, corpus, named, "named"))
    assert [*made.values()][:3] == [
        ("human", "Eve", None), ("machine", "gpt", 0.75), ("imported", "Kim", None),
    ]  # fmt: skip
    old = tmp_path / "old.csv"
    old.write_text("sentence_id,cluster,cluster_number,changed_by,changed\n1,wet,1,Anna,2026-01-01\n")
    assert tables.hides_makers(read_sheet(old)) and not tables.hides_makers(read_sheet(named))


def test_copies_and_gold_labels_keep_their_coders(sqlite_store: Store, corpus: int) -> None:
    anna, ben = coded(sqlite_store, corpus), coded(sqlite_store, corpus, "Ben", "of ben")
    reclustered(sqlite_store, anna)
    copy = starts.begin(sqlite_store, NewLabelling(corpus, "copy", "Ben"), starts.from_labelling(anna.record.id))
    assert cells(sqlite_store, copy) == cells(sqlite_store, anna.record)
    new = NewLabelling(corpus, "gold", "Ben", Sharing.GOLD)
    gold = starts.begin(sqlite_store, new, from_adjudication([anna.record.id, ben.record.id]))
    session = LabellingSession(sqlite_store, gold.id, "Ben")
    kinds = counted(cells(sqlite_store, gold))
    assert kinds["human", "Anna, Ben"] == PLACED and kinds["machine", "consensus"] == N - PLACED
    judged = judged_by_people(sqlite_store, session)
    assert len(judged) == PLACED
    unjudged = np.setdiff1d(session.partition.ids, judged)
    session.do(op.assign(session.partition, unjudged[:1], next(iter(session.partition.clusters))))
    session.do(op.create(session.partition, session.next_number, "new", unjudged[:1]))
    assert len(judged_by_people(sqlite_store, session)) == PLACED + 1, "resolved by a person"
    with sqlite_store.reading() as r:
        assert not len(placed_sentences(r, copy, anna.partition)), "nobody judged anything in the copy"


@pytest.mark.parametrize("origin", ["labelling", "adjudication"])
def test_labellings_of_version_0_2_are_repaired_from_histories(sqlite_store: Store, corpus: int, origin: str) -> None:
    session = coded(sqlite_store, corpus)
    reclustered(sqlite_store, session)
    named = {"name": "codes"} if origin == "labelling" else {"of": ["codes"]}
    old = NewLabelling(corpus, "old", "Ben", origin={"from": origin, **named})
    with sqlite_store.writing() as w:
        record = w.labellings.create(old, session.partition)
    expected = cells(sqlite_store, session.record)
    session.undo()
    assert cells(sqlite_store, record) == expected


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ({"from": "sections"}, ("machine", "sections")),
        ({"from": "run", "run_id": 1}, ("machine", "run")),
        ({"from": "table", "name": "x.csv"}, ("imported", "x.csv")),
        ({"from": "labelling", "name": "gone"}, ("machine", "gone")),
        ({"from": "adjudication", "of": ["gone", "too"]}, ("human", "gone, too")),
        ({"from": "x", "maker": ["machine", "BERTopic"]}, ("machine", "BERTopic")),
    ],
)
def test_origins_tell_who_made_initial_labels(
    sqlite_store: Store, corpus: int, origin: dict[str, object], expected: tuple[str, str]
) -> None:
    first = coded(sqlite_store, corpus).partition
    with sqlite_store.writing() as w:
        record = w.labellings.create(NewLabelling(corpus, "old", "Ben", origin=origin), first)
    assert counted(cells(sqlite_store, record)) == {expected: PLACED, ("", ""): N - PLACED}


def test_probabilities_are_stored_with_steps_and_files(sqlite_store: Store, corpus: int, tmp_path: Path) -> None:
    session = coded(sqlite_store, corpus)
    made = op.around(session.partition, session.partition, 0, "m")
    change = marked(session.partition, Field.CLUSTER, session.partition.ids[100:103], 2)
    assert change is not None
    sure = replace(change, probability=np.array([0.5, np.nan, 1.0]))
    session.do(replace(made, change_set=ChangeSet((sure,))))
    found = [*cells(sqlite_store, session.record).values()][100:103]
    assert found == [("machine", "m", 0.5), ("machine", "m", None), ("machine", "m", 1.0)]
    people.set_role(sqlite_store, "Anna", Role.ADMIN)
    lines = files.export_lines(sqlite_store, session.record.id).split("\n")
    assert all("NaN" not in line for line in lines) and json.loads(lines[-2])["step"]["coder"] == "m"
    again = files.import_lines(sqlite_store, corpus, lines, "x")
    assert cells(sqlite_store, again) == cells(sqlite_store, session.record)
    path = tmp_path / "x.qdpx"
    path.write_bytes(qda_projects.qdpx(sqlite_store, again.id))
    plan = qda_projects.plan_project(sqlite_store, corpus, path)
    assert [plan.codings[0].labels.cells(row) for row in range(100, 103)] == found


def test_a_metric_of_an_earlier_version_names_itself_as_the_coder(sqlite_store: Store, corpus: int) -> None:
    session = coded(sqlite_store, corpus)
    _, after, _ = assistance.preview_reclustering(sqlite_store, session.record, session.partition, vectors(), "")
    entry = EntryChange(EntryKind.METRIC, "metric", None, Entry({"model": "d", "name": "Metric of codes"}))
    moved = difference(session.partition, after)
    session.do(op.Operation(op.OperationKind.METRIC, "metric used", ChangeSet((*moved, entry))))
    kinds = counted(cells(sqlite_store, session.record))
    assert kinds["machine", "Metric of codes"] == N - PLACED and kinds["human", "Anna"] == PLACED
    assert {Source(source) for source, _ in kinds} == {Source.HUMAN, Source.MACHINE}
