"""Operations of the HTTP API as functions: pages are parts of the whole, changes are steps, exports are complete."""

import csv
import io
import json
from collections.abc import Callable, Iterator

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.homes import MakeHome
from tests.webapp.columned import add, add_columns
from tests.webapp.filled import fill
from themescope.core.columns import ColumnType
from themescope.core.errors import AccessError, DataError, UnknownNameError
from themescope.core.labelling.changes import StaleChangeError
from themescope.core.labelling.operations import Origin, selected
from themescope.core.records.answers import Page
from themescope.core.records.stored import Role
from themescope.db.access import Actor
from themescope.db.repositories.labellings import Labellings
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.api.problems import Caller
from themescope.jobs.api.routes import corpora, jobs, labellings, runs
from themescope.jobs.api.routes.labellings import (
    Assignment,
    ClusterName,
    CodeChange,
    LabellingStart,
    LabellingToCreate,
    Merge,
    NewCluster,
    NewMark,
    NewNote,
    SentenceChange,
)
from themescope.jobs.services import corpus_edits, people, search
from themescope.jobs.services.labelling.files import HEADER

LEA = Actor("lea", Role.LABELLER)


@pytest.fixture(scope="module")
def filled(make_home: MakeHome) -> Iterator[Store]:
    store = Store(Settings.in_folder(make_home(fill)))
    people.set_role(store, "ada", Role.ADMIN)
    yield store
    store.close()


def lea(store: Store) -> Caller:
    return Caller(store, LEA)


def new(store: Store, name: str, start: LabellingStart = LabellingStart.SECTIONS, actor: Actor = LEA) -> int:
    wanted = LabellingToCreate(corpus_id=1, name=name, start=start)
    return labellings.create_labelling(Caller(store, actor), wanted).id


LISTS: dict[str, Callable[[Store, int, int], Page]] = {
    "articles": lambda s, offset, limit: corpora.list_articles(lea(s), 1, offset=offset, limit=limit),
    "sentences": lambda s, offset, limit: corpora.list_sentences(lea(s), 1, offset, limit),
    "sentences of an article": lambda s, offset, limit: corpora.list_sentences_of_article(lea(s), 2, offset, limit),
    "runs": lambda s, offset, limit: runs.list_runs(lea(s), offset=offset, limit=limit),
    "jobs": lambda s, offset, limit: jobs.list_jobs(lea(s), offset=offset, limit=limit),
}


@pytest.mark.parametrize("name", LISTS)
def test_pages_together_are_the_whole_list(filled: Store, name: str) -> None:
    whole = LISTS[name](filled, 0, 1_000)
    assert whole.total == len(whole.items) > 1

    @given(st.integers(0, 80), st.integers(1, 40))
    def check(offset: int, limit: int) -> None:
        page = LISTS[name](filled, offset, limit)
        assert page.items == whole.items[offset : offset + limit]
        assert (page.total, page.offset) == (whole.total, offset)

    check()


def test_search_by_text_and_words(filled: Store) -> None:
    text = search.find(filled, 1, "  paragraph   0 ", limit=5)
    assert text.total == 36 and len(text.items) == 5
    assert all("paragraph 0" in match.sentence.text for match in text)
    found = corpora.list_sentences(lea(filled), 1, 0, 8).items
    assert [s.id for s in found] == [*range(1, 9)]
    assert {(s.article, s.section) for s in found} == {("Danube", ""), ("Danube", "Course")}
    words = search.find(filled, 1, "words NILE fauna", search.SearchMethod.WORDS)
    assert {match.sentence.article for match in words} == {"Nile"} and words.total == 4
    for nothing, method in (("  ", search.SearchMethod.TEXT), ("!? …", search.SearchMethod.WORDS)):
        with pytest.raises(DataError, match="Enter a text"):
            search.find(filled, 1, nothing, method)


def test_a_page_of_labels_or_steps_reads_no_other_rows(filled: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    id = new(filled, "paged")
    caller = lea(filled)
    whole = labellings.list_labels(caller, id)
    for sentence in (1, 2, 5):
        labellings.note(caller, id, NewNote(sentences=[sentence], text="sure"))
    monkeypatch.setattr(Labellings, "snapshot", lambda *_: pytest.fail("the whole labelling is read"))
    page = labellings.list_labels(caller, id, None, 1, 2)
    assert [one.sentence.id for one in page.items] == [one.sentence.id for one in whole.items[1:3]]
    assert (page.total, page.items[0].note) == (whole.total, "sure")
    empty = labellings.list_labels(caller, id, None, 10_000, 2)
    assert (empty.items, empty.total) == ([], whole.total)
    with pytest.raises(UnknownNameError):
        labellings.list_labels(caller, id, 99)
    steps = labellings.list_steps(caller, id, 1, 1)
    assert (len(steps.items), steps.total) == (1, 3)
    assert steps.items[0].id == labellings.list_steps(caller, id).items[1].id


def test_changes_are_steps_with_undo(filled: Store) -> None:
    id = new(filled, "steps")
    caller = lea(filled)
    change = Assignment(sentences=[1, 2, 5], cluster=3, reason="a reason")
    step = labellings.assign(caller, id, change)
    assert step is not None and (step.person, step.reason, step.size) == ("lea", "a reason", 3)
    assert labellings.assign(caller, id, change) is None
    assert {1, 2, 5} <= {label.sentence.id for label in labellings.list_labels(caller, id, 3).items}
    labellings.rename_cluster(caller, id, 3, ClusterName(name="Past"))
    labellings.merge_clusters(caller, id, Merge(clusters=[3, 4], into=3))
    labellings.note(caller, id, NewNote(sentences=[1], text="sure"))
    labellings.mark(caller, id, NewMark(sentences=[1], uncertain=True))
    labellings.create_cluster(caller, id, NewCluster(name="New", sentences=[7]))
    labellings.unassign(caller, id, SentenceChange(sentences=[7]))
    labellings.delete_cluster(caller, id, 5)
    state = labellings.get_labelling(caller, id)
    assert state.can_undo and not state.can_redo and state.clusters[2].name == "Past"
    assert labellings.list_steps(caller, id).total == 8
    for _ in range(8):
        assert labellings.undo(caller, id) is not None
    assert labellings.undo(caller, id) is None and labellings.redo(caller, id) is not None
    assert labellings.list_labels(caller, id, 3).items[0].sentence.id == 1


def test_a_program_says_that_its_labels_are_those_of_a_machine(filled: Store) -> None:
    id, caller = new(filled, "by a program"), lea(filled)
    labellings.assign(caller, id, Assignment(sentences=[1, 2], cluster=3, coder="gpt"))
    labellings.create_cluster(caller, id, NewCluster(name="New", sentences=[3], coder="gpt"))
    labellings.assign(caller, id, Assignment(sentences=[2, 4], cluster=4))
    found = {label.sentence.id: (label.source, label.coder) for label in labellings.list_labels(caller, id).items}
    machine, lea_herself = ("machine", "gpt"), ("human", "lea")
    assert [found[i] for i in range(1, 5)] == [machine, lea_herself, machine, lea_herself]
    assert [step.coder for step in labellings.list_steps(caller, id).items] == ["", "gpt", "gpt"]


def test_a_sentence_has_several_codes_where_that_is_allowed(filled: Store) -> None:
    caller = lea(filled)
    new = LabellingToCreate(corpus_id=1, name="codes", start=LabellingStart.SECTIONS, several_codes=True)
    id = labellings.create_labelling(caller, new).id
    labellings.give_code(caller, id, CodeChange(sentences=[1], code=2))
    state = labellings.get_labelling(caller, id)
    (both,) = [cluster for cluster in state.clusters if cluster.codes]
    assert both.codes == [1, 2] and both.size == 1
    assert labellings.list_labels(caller, id, cluster=both.number).items[0].name == both.name
    labellings.give_code(caller, id, CodeChange(sentences=[1], code=1, remove=True))
    assert labellings.list_labels(caller, id, cluster=2).items[0].sentence.id == 1
    one = labellings.create_labelling(caller, LabellingToCreate(corpus_id=1, name="one", start=LabellingStart.SECTIONS))
    with pytest.raises(DataError, match="one code per sentence"):
        labellings.give_code(caller, one.id, CodeChange(sentences=[1], code=2))


def test_labels_are_read_after_some_of_the_sentences_were_removed(filled: Store) -> None:
    id, caller = new(filled, "shrunk"), lea(filled)
    labellings.assign(caller, id, Assignment(sentences=[1, 2, 30], cluster=3))
    edit = corpus_edits.remove_articles(filled, 1, [1], "ada")
    rows = _read(runs.ExportFormat.JSONL, b"".join(runs.labels(filled, id).stream("jsonl")))
    with pytest.raises(UnknownNameError):  # of a run without themes, too
        runs.get_theme_run(caller, 1)
    corpus_edits.undo(filled, 1, edit.id, "ada")
    coders = {row["sentence_id"]: row["coder"] for row in rows}
    assert [*coders] == [*range(25, 73)] and [i for i, coder in coders.items() if coder == "lea"] == [30]
    assert labellings.list_labels(caller, id).items[0].coder == "lea"


def test_a_name_is_kept_whole(filled: Store) -> None:
    name, caller = "x" * 200, lea(filled)
    for expected in (name, f"{name[:192]} 2"):  # the second one is taken
        id = new(filled, name)
        labellings.create_cluster(caller, id, NewCluster(name=name, sentences=[1]))
        state = labellings.get_labelling(caller, id)
        assert (state.labelling.name, state.clusters[-1].name) == (expected, name)


def test_a_change_of_what_others_changed_is_a_conflict(filled: Store) -> None:
    id = new(filled, "conflict")
    step = labellings.assign(lea(filled), id, Assignment(sentences=[1], cluster=2))
    assert step is not None
    with pytest.raises(StaleChangeError):
        labellings.assign(lea(filled), id, Assignment(sentences=[1, 2], cluster=3, seen=step.id - 1))
    assert labellings.assign(lea(filled), id, Assignment(sentences=[1, 2], cluster=3, seen=step.id)) is not None


def test_roles_are_looked_up_in_the_transaction(filled: Store) -> None:
    people.set_role(filled, "val", Role.VIEWER)
    val = Actor("val", Role.ADMIN)  # as it was when the request began
    id = new(filled, "roles")
    with pytest.raises(AccessError):
        new(filled, "not allowed", actor=val)
    with pytest.raises(AccessError):
        labellings.assign(Caller(filled, val), id, Assignment(sentences=[1], cluster=2))
    for refused in (LEA, val):
        with pytest.raises(AccessError):
            jobs.queue_job(Caller(filled, refused), jobs.NewJob(kind="embed", args={"corpus": "Rivers", "model": "x"}))


def test_sources_of_a_new_labelling_are_checked(filled: Store) -> None:
    wanted = LabellingToCreate(corpus_id=1, name="copy", shared=True, start=LabellingStart.THEMES)
    with pytest.raises(DataError, match="source"):
        labellings.create_labelling(lea(filled), wanted)
    with pytest.raises(UnknownNameError):
        labellings.create_labelling(lea(filled), wanted.model_copy(update={"source_id": 1}))
    copied = {"start": LabellingStart.LABELLING, "source_id": new(filled, "original")}
    made = labellings.create_labelling(lea(filled), wanted.model_copy(update=copied))
    assert made.kind == "shared" and len(labellings.get_labelling(lea(filled), made.id).clusters) == 6
    labellings.delete_labelling(lea(filled), made.id)
    with pytest.raises(UnknownNameError):
        labellings.get_labelling(lea(filled), made.id)


@pytest.fixture(scope="module")
def columned(filled: Store) -> Store:
    """The store with columns, two of which have names of columns of the export, and two selections."""
    add_columns(filled)
    ids = np.arange(1, 73)
    add(filled, 1, "cluster", ColumnType.NUMBER, ids, [int(id) for id in ids])
    with filled.writing() as w:
        for name, chosen in (("some", [9, 2, 4]), ("", [3])):
            w.selections.add(selected(1, chosen, Origin("lasso", ("by hand",))), name, "lea")
    return filled


def test_columns_and_selections_are_read(columned: Store) -> None:
    found = {(column.level, column.name): column for column in corpora.list_columns(lea(columned), 1)}
    assert {key: column.type for key, column in found.items()} == {
        ("article", "note"): "text", ("sentence", "side"): "category", ("sentence", "score"): "number",
        ("sentence", "day"): "date", ("sentence", "cluster"): "number",
    }  # fmt: skip
    assert set(found["sentence", "side"].categories) == {"left", "right", "<b>*centre*</b>"}
    assert (found["sentence", "score"].about["low"], found["sentence", "score"].about["missing"]) == (1.0, 8)
    assert str(found["sentence", "day"].about["low"]).startswith("1970-01-01")
    (named,) = corpora.list_selections(lea(columned), 1)
    assert (named.name, named.person, named.sentences) == ("some", "lea", 3) and "by hand" in str(named.origin)
    page = corpora.list_selected_sentences(lea(columned), named.id, 1, 9)
    assert ([sentence.id for sentence in page.items], page.total) == ([4, 9], 3)
    for call in (corpora.list_columns, corpora.list_selections, corpora.list_selected_sentences):
        with pytest.raises(UnknownNameError):
            call(lea(columned), 99)


@pytest.mark.parametrize("format", runs.ExportFormat)
def test_exports_have_every_row_and_columns_where_wanted(
    columned: Store, format: runs.ExportFormat, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("themescope.jobs.services.labelling.files.BATCH", 7)
    id = new(columned, f"export {format}")
    labellings.unassign(lea(columned), id, SentenceChange(sentences=[72]))
    rows = _read(format, b"".join(runs.labels(columned, id).stream(format)))
    assert [*rows[0]] == list(HEADER) and [int(row["sentence_id"]) for row in rows] == [*range(1, 73)]
    assert rows[0]["cluster"] == "Introduction" and int(rows[71]["cluster_number"]) == -1
    assert [rows[0][name] for name in ("source", "coder")] == ["machine", "sections"] and rows[71]["source"] == ""
    rows = _read(format, b"".join(runs.labels(columned, id, columns=True).stream(format)))
    assert [*rows[0]] == [*HEADER, "note (2)", "side", "score", "day", "cluster (2)"]
    last = rows[71]
    assert (last["note (2)"], last["score"], last["cluster (2)"]) in (("note 2", 71, 72), ("note 2", "71", "72"))
    assert last["side"] in (None, "") and str(last["day"]).startswith("1970-03-13")


def _read(format: runs.ExportFormat, data: bytes) -> list[dict]:
    if format is runs.ExportFormat.PARQUET:
        return pq.read_table(io.BytesIO(data)).to_pylist()
    if format is runs.ExportFormat.CSV:
        return [*csv.DictReader(io.StringIO(data.decode(), newline=""))]
    return [json.loads(line) for line in data.splitlines()]
