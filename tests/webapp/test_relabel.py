"""The Relabel page: what is done is stored, what is refused is told, nothing typed by a person is obeyed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from core.labelling import operations as op
from core.labelling.partition import UNASSIGNED
from db.label_records import LabellingRecord, NewLabelling, Role, Sharing
from db.records import MapPoints, VectorBlock
from db.store import Store
from jobs.services.labelling import starts
from jobs.services.labelling.session import Desk
from tests.webapp.filled import HOSTILE, MODEL
from webapp.features.relabel.actions import DEEDS, hear
from webapp.features.relabel.state import Bench
from webapp.features.relabel.toolbar import bar_data
from webapp.shared.guard import BROKEN

Open = Callable[..., AppTest]
KINDS = {deed.key: deed.name for deed in DEEDS if not deed.stays}


def words(at: AppTest) -> str:
    kinds = (at.markdown, at.caption, at.text, at.info, at.warning, at.error)
    return "\n".join(str(element.value) for kind in kinds for element in kind)


@pytest.fixture
def labelling(filled_store: Store) -> LabellingRecord:
    """The Danube by its sections, shared, with vectors to suggest by."""
    with filled_store.writing() as w:
        corpus = w.corpora.list()[0]
        articles = w.corpora.articles(corpus.id)
        model = w.models.by_name(MODEL)
        random = np.random.default_rng(0)
        blocks = [VectorBlock(a.id, random.normal(size=(a.sentences, 4)).astype(np.float32)) for a in articles]
        w.embeddings.add(model.id, blocks)
    new = NewLabelling(corpus.id, "Danube", "", Sharing.SHARED, False, articles[0].id)
    return starts.begin(filled_store, new, starts.from_sections)


def select(at: AppTest, labelling: LabellingRecord, ids: list[int]) -> None:
    at.session_state[f"bench-{labelling.id}"].select(ids, "in the table")


def press(at: AppTest, labelling: LabellingRecord, key: str) -> AppTest:
    """Press a key: the browser tells the deed that its button stands for, with the next number."""
    bench: Bench = at.session_state[f"bench-{labelling.id}"]
    told = {"kind": "assign", "cluster": int(key)} if key in "123456789" else {"kind": KINDS[key]}
    hear(bench, {"session": bench.session, "deeds": [{**told, "number": bench.heard + 1}]})
    return at.run()


def test_every_tab_says_what_to_do_in_an_empty_store(sqlite_store: Store, open_page: Open) -> None:
    for view in ("Work", "Begin"):
        at = open_page("relabel", view=view)
        assert not at.exception
        assert not at.error
        assert "No " in words(at)


def test_a_labelling_is_begun_from_a_clustering(filled_store: Store, open_page: Open) -> None:
    at = open_page("relabel", view="Begin")
    assert not at.exception
    next(b for b in at.button if b.label == "Begin").click().run()
    assert not at.exception
    with filled_store.reading() as r:
        (record,) = r.labellings.list()
        assert record.origin["from"] == "clustering"
        assert len(r.labellings.shown(record.id).partition.clusters) == 3


def test_where_there_is_no_cluster_yet_the_bar_says_how_one_comes(filled_store: Store, open_page: Open) -> None:
    with filled_store.reading() as r:
        corpus = r.corpora.list()[0]
        article = r.corpora.articles(corpus.id)[0]
    new = NewLabelling(corpus.id, "Empty", "", Sharing.OWN, False, article.id)
    record = starts.begin(filled_store, new, starts.from_nothing)
    at = open_page("relabel")
    bench = at.session_state[f"bench-{record.id}"]
    assert bar_data(bench)["heading"].startswith("No cluster yet")
    select(at, record, bench.partition.ids[:2].tolist())
    assert bar_data(bench)["heading"] == "2 sentences: N makes a cluster of it"


def test_maps_are_called_as_they_are_called(filled_store: Store, labelling: LabellingRecord, open_page: Open) -> None:
    with filled_store.writing() as w:
        ids = w.labellings.shown(labelling.id).partition.ids
        points = MapPoints(ids, np.zeros((len(ids), 2), dtype=np.float32))
        w.maps.add(
            corpus_id=labelling.corpus_id, model_id=w.models.by_name(MODEL).id, name="by *stars* · a-b", config={},
            seed=0, digest="p2", faithfulness=0.5, sampled_from=len(ids), points=points,
        )  # fmt: skip
    at = open_page("relabel")
    next(b for b in at.button_group if b.label == "View").set_value("Map").run()
    assert not at.exception and "by *stars* · a-b" in at.selectbox(key=f"label-map-{labelling.id}").options


def test_keys_assign_undo_and_redo(filled_store: Store, labelling: LabellingRecord, open_page: Open) -> None:
    at = open_page("relabel")
    assert BROKEN not in words(at)
    bench = at.session_state[f"bench-{labelling.id}"]
    first = bench.partition
    ids = first.members(2)[:2].tolist()
    select(at, labelling, ids)
    at.run()
    assert bar_data(bench)["heading"] == "2 sentences → put into"
    press(at, labelling, "1")
    with filled_store.reading() as r:
        now = r.labellings.shown(labelling.id).partition
        (step,) = r.label_steps.list(labelling.id)
    assert now.numbers[now.rows(ids)].tolist() == [1, 1]
    assert (step.how, step.said) == ("in the table", "2 sentences → Introduction")
    assert bar_data(bench)["status"] == {"words": "saved · 2 sentences → Introduction", "state": "saved"}
    press(at, labelling, "U")
    with filled_store.reading() as r:
        assert r.labellings.shown(labelling.id).partition.to_bytes() == first.to_bytes()
    reloaded = open_page("relabel")
    press(reloaded, labelling, "Y")
    with filled_store.reading() as r:
        assert r.labellings.shown(labelling.id).partition.to_bytes() == now.to_bytes()
    for key in KINDS:
        select(reloaded, labelling, ids)
        press(reloaded, labelling, key)
        assert not reloaded.exception
        assert not reloaded.error


def test_a_conflict_shows_both_versions(filled_store: Store, labelling: LabellingRecord, open_page: Open) -> None:
    at = open_page("relabel")
    bench = at.session_state[f"bench-{labelling.id}"]
    sentence = int(bench.partition.members(2)[0])
    ben = Desk(filled_store, labelling.id, "Ben")
    ben.do(op.assign(ben.partition, np.array([sentence]), 3))
    select(at, labelling, [sentence])
    press(at, labelling, "1")
    shown = words(at)
    assert "Somebody was first" in shown
    assert "You saw **Course** and wanted **Introduction** · Ben made it **History**" in shown
    with filled_store.reading() as r:
        now = r.labellings.shown(labelling.id).partition
    assert now.numbers[now.rows([sentence])].tolist() == [3]
    next(b for b in at.button if b.label == "Use mine").click().run()
    with filled_store.reading() as r:
        now = r.labellings.shown(labelling.id).partition
        assert [s.person for s in r.label_steps.list(labelling.id)] == ["Ben", ""]
    assert now.numbers[now.rows([sentence])].tolist() == [1]
    assert "Somebody was first" not in words(at)


def test_keeping_theirs_writes_nothing(filled_store: Store, labelling: LabellingRecord, open_page: Open) -> None:
    at = open_page("relabel")
    bench = at.session_state[f"bench-{labelling.id}"]
    ben = Desk(filled_store, labelling.id, "Ben")
    ben.do(op.rename(ben.partition, 1, HOSTILE))
    bench.act(lambda p: op.rename(p, 1, "Mine"))
    at.run()
    assert "Somebody was first" in words(at)
    next(b for b in at.button if b.label == "Keep theirs").click().run()
    with filled_store.reading() as r:
        assert r.labellings.shown(labelling.id).partition.clusters[1].name == HOSTILE
    assert not at.exception


def test_hostile_names_and_notes_are_words(filled_store: Store, labelling: LabellingRecord, open_page: Open) -> None:
    desk = Desk(filled_store, labelling.id, HOSTILE)
    ids = desk.partition.members(2)
    desk.do(op.rename(desk.partition, 2, HOSTILE), HOSTILE, HOSTILE)
    desk.do(op.note(desk.partition, ids, HOSTILE))
    for view, layout in (
        ("Work", "Columns"),
        ("Work", "Map"),
        ("History", "Columns"),
        ("Files and sharing", "Columns"),
    ):
        at = open_page("relabel", view=view, layout=layout)
        select(at, labelling, ids[:1].tolist())
        at.run()
        assert BROKEN not in words(at)
        assert not at.exception


def test_a_viewer_is_told_and_nothing_is_lost(filled_store: Store, labelling: LabellingRecord, open_page: Open) -> None:
    with filled_store.writing() as w:
        w.people.set_role("", Role.VIEWER, "")
    at = open_page("relabel")
    bench = at.session_state[f"bench-{labelling.id}"]
    select(at, labelling, bench.partition.members(2)[:1].tolist())
    press(at, labelling, "1")
    assert "Not saved" in words(at)
    assert "may look" in words(at)
    with filled_store.writing() as w:
        w.people.set_role("", Role.LABELLER, "")
    next(b for b in at.button if b.label == "Try again").click().run()
    with filled_store.reading() as r:
        assert len(r.label_steps.list(labelling.id)) == 1


def test_what_is_not_saved_is_done_to_what_was_selected_and_before_anything_else(
    filled_store: Store, labelling: LabellingRecord, open_page: Open
) -> None:
    at = open_page("relabel")
    bench: Bench = at.session_state[f"bench-{labelling.id}"]
    first, second = bench.partition.members(2)[:2].tolist()

    def role(of: Role) -> None:
        with filled_store.writing() as w:
            w.people.set_role("", of, "")

    role(Role.VIEWER)
    for one in (first, second):
        select(at, labelling, [one])
        press(at, labelling, "X")
    assert bench.unsaved is not None and "Not saved" in words(at)
    role(Role.LABELLER)
    press(at, labelling, "X")
    with filled_store.reading() as r:
        assert [step.said for step in r.label_steps.list(labelling.id)] == ["1 sentence marked uncertain"] * 2
        now = r.labellings.shown(labelling.id).partition
    assert now.uncertain[now.rows([first, second])].all()
    role(Role.VIEWER)
    select(at, labelling, [first])
    press(at, labelling, "V")
    press(at, labelling, "U")
    assert bench.unsaved is None and "Not saved" not in words(at)
    press(at, labelling, "V")
    next(b for b in at.button if b.label == "Leave it").click().run()
    assert bench.unsaved is None and "Not saved" not in words(at)


def test_going_back_from_the_history(filled_store: Store, labelling: LabellingRecord, open_page: Open) -> None:
    desk = Desk(filled_store, labelling.id, "Ben")
    first = desk.partition.to_bytes()
    desk.do(op.merge(desk.partition, [1, 2, 3], 1), "too fine")
    desk.do(op.unassign(desk.partition, desk.partition.ids))
    at = open_page("relabel", view="History")
    frame = at.dataframe[0].value
    assert frame["Why"].tolist() == ["", "too fine"]
    next(b for b in at.button if b.label == "Back to the start").click().run()
    with filled_store.reading() as r:
        assert r.labellings.shown(labelling.id).partition.to_bytes() == first
    press(open_page("relabel"), labelling, "U")
    with filled_store.reading() as r:
        now = r.labellings.shown(labelling.id).partition
    assert now.sizes()[UNASSIGNED] == len(now.ids)


def test_blind_work_shows_no_sections_and_no_opinions(
    filled_store: Store, labelling: LabellingRecord, open_page: Open
) -> None:
    with filled_store.writing() as w:
        w.labellings.share(labelling.id, Sharing.OWN, True, "")
    at = open_page("relabel", layout="Table")
    assert "Section" not in at.dataframe[0].value.columns
    assert "Suggested" not in at.dataframe[0].value.columns
    offered = {
        deed["name"] for g in bar_data(at.session_state[f"bench-{labelling.id}"])["groups"] for deed in g["deeds"]
    }
    assert {"uncertain", "merge"} <= offered
    assert not offered & {"accept", "recluster", "alike"}
    assert "Not as the model says" not in at.selectbox(key="show").options
