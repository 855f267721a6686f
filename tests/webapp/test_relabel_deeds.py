"""What the browser tells of a person's deeds: each is done once, in its order, whatever is sent again or coalesced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from core.labelling import operations as op
from db.label_records import LabellingRecord, NewLabelling, Sharing
from db.records import VectorBlock
from db.store import Store
from jobs.services.labelling import starts
from jobs.services.labelling.session import Desk
from tests.webapp.filled import MODEL
from webapp.features.relabel import filters
from webapp.features.relabel.actions import ACTS, DEEDS, TURN, hear
from webapp.features.relabel.cluster_map import canvas_of
from webapp.features.relabel.columns import board_data
from webapp.features.relabel.state import Bench, Plane
from webapp.features.relabel.toolbar import bar_data


@pytest.fixture
def labelling(filled_store: Store) -> LabellingRecord:
    """The Danube by its sections, with vectors."""
    with filled_store.writing() as w:
        corpus = w.corpora.list()[0]
        articles = w.corpora.articles(corpus.id)
        random = np.random.default_rng(0)
        blocks = [VectorBlock(a.id, random.normal(size=(a.sentences, 4)).astype(np.float32)) for a in articles]
        w.embeddings.add(w.models.by_name(MODEL).id, blocks)
    new = NewLabelling(corpus.id, "Danube", "", Sharing.SHARED, False, articles[0].id)
    return starts.begin(filled_store, new, starts.from_sections)


@pytest.fixture
def bench(filled_store: Store, labelling: LabellingRecord) -> Bench:
    return Bench(Desk(filled_store, labelling.id, ""))


def tell(bench: Bench, *deeds: dict[str, Any], session: str = "") -> None:
    hear(bench, {"session": session or bench.session, "deeds": list(deeds)})


def log(store: Store, labelling: LabellingRecord) -> list[str]:
    with store.reading() as r:
        return [step.said for step in r.label_steps.list(labelling.id)]


def test_a_press_that_is_sent_again_counts_once(filled_store: Store, labelling: LabellingRecord, bench: Bench) -> None:
    ids = bench.partition.ids[:2].tolist()
    pick, mark = {"kind": "pick", "on": ids, "off": [], "number": 1}, {"kind": "uncertain", "number": 2}
    for _ in range(3):  # two timers and the click itself each carry it
        tell(bench, pick, mark)
    assert log(filled_store, labelling) == ["2 sentences marked uncertain"]
    tell(bench, {"kind": "uncertain", "number": 3})
    assert bench.notice == "Nothing changed: it was so already."
    tell(bench, {"kind": "certain", "number": 4})
    assert log(filled_store, labelling) == ["2 sentences marked uncertain", "2 sentences marked certain"]


def test_presses_that_come_together_are_all_done_in_order(
    filled_store: Store, labelling: LabellingRecord, bench: Bench
) -> None:
    ids = bench.partition.members(2)[:2].tolist()
    deeds = [
        {"kind": "pick", "on": ids[:1], "off": [], "number": 1},
        {"kind": "assign", "cluster": 1, "number": 2},
        {"kind": "pick", "on": ids[1:], "off": [], "number": 3},
        {"kind": "assign", "cluster": 3, "number": 4},
        {"kind": "undo", "number": 5},
    ]
    tell(bench, *deeds[::-1])
    assert bench.partition.numbers[bench.partition.rows(ids)].tolist() == [1, 2]
    assert log(filled_store, labelling) == ["1 sentence → Introduction", "1 sentence → History", "1 sentence → History"]


def test_what_another_session_or_nobody_meant_is_not_done(
    filled_store: Store, labelling: LabellingRecord, bench: Bench
) -> None:
    every = bench.partition.ids.tolist()
    bench.select(every, "")
    tell(bench, {"kind": "unassign", "number": 1}, session="another")
    strange: list[Any] = [None, [], "x", {}, {"session": bench.session}, {"session": bench.session, "deeds": [1, None]}]
    for told in strange:
        hear(bench, told)
    tell(bench, {"kind": "unassign"}, {"kind": "unassign", "number": True}, {"kind": "unassign", "number": "2"})
    tell(bench, {"kind": "no such", "number": 1}, {"kind": "assign", "cluster": "1", "number": 2})
    tell(bench, {"kind": "move", "ids": ["a", True, 10**30], "cluster": None, "number": 3})
    tell(bench, {"kind": "rename", "cluster": 1, "name": 7, "number": 4}, {"kind": "recolour", "number": 5})
    assert log(filled_store, labelling) == []
    tell(bench, {"kind": "assign", "cluster": 99, "number": 6})
    assert bench.notice and not log(filled_store, labelling)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=some.data())
def test_any_way_of_sending_does_the_same(
    filled_store: Store, labelling: LabellingRecord, data: some.DataObject
) -> None:
    """Whatever is folded together and repeated on the way, the log is that of the deeds done one by one."""
    bench = Bench(Desk(filled_store, labelling.id, ""))
    before, n = len(log(filled_store, labelling)), 8
    bench.select(bench.partition.ids[:1], "")
    deeds = [{"kind": ("certain", "uncertain")[i % 2], "number": i + 1} for i in range(n)]
    if not bench.partition.uncertain[0]:
        deeds = [{**deed, "kind": "certain" if deed["kind"] == "uncertain" else "uncertain"} for deed in deeds]
    ends = sorted([*data.draw(some.lists(some.integers(1, n), max_size=6)), n])
    for end in ends:
        start = data.draw(some.integers(0, bench.heard))  # what was not confirmed yet is sent again
        tell(bench, *deeds[start:end])
    assert len(log(filled_store, labelling)) - before == n
    assert bench.heard == n


def test_keys_are_single_letters_that_the_browser_leaves_free_and_each_means_one_thing() -> None:
    keys = [deed.key for deed in (*DEEDS, TURN)]
    assert len(set(keys)) == len(keys)
    assert not {"C", "R"} & set(keys)
    assert all(len(key) == 1 for key in keys)
    assert all(deed.name in ACTS or deed.stays for deed in (*DEEDS, TURN))


def test_dialogs_and_names_are_asked_for(bench: Bench) -> None:
    tell(bench, {"kind": "merge", "number": 1})
    assert bench.asked == "merge"
    tell(bench, {"kind": "rename", "cluster": 1, "name": "Beginning", "number": 2})
    tell(bench, {"kind": "recolour", "cluster": 1, "colour": 7, "number": 3})
    assert (bench.partition.clusters[1].name, bench.partition.clusters[1].colour) == ("Beginning", 7)
    tell(bench, {"kind": "note", "number": 4})
    assert "Select sentences first" in bench.notice
    bench.select(bench.partition.members(2)[:1], "")
    assert bar_data(bench)["current"] == {"number": 2, "name": "Course"}


def test_queues_and_searches_come_in_their_order(filled_store: Store, labelling: LabellingRecord, bench: Bench) -> None:
    assert not len(filters.in_view(bench, filters.OTHER_PEOPLE))
    other = starts.begin(
        filled_store,
        NewLabelling(labelling.corpus_id, "Ben's", "Ben", Sharing.OWN, False, labelling.article_id),
        starts.from_sections,
    )
    desk = Desk(filled_store, other.id, "Ben")
    moved = desk.partition.members(2)[:1]
    desk.do(op.assign(desk.partition, moved, 3))
    assert filters.in_view(bench, filters.OTHER_PEOPLE).tolist() == moved.tolist()
    tell(bench, {"kind": "next", "number": 1})
    assert bench.selected.tolist() == moved.tolist()
    assert bench.how == "queue “Not as other people say”"
    with filled_store.reading() as r:
        bench.model = r.models.by_name(MODEL).id
    sentence = int(bench.partition.ids[3])
    tell(bench, {"kind": "pick", "on": [sentence], "off": bench.selected.tolist(), "number": 2})
    tell(bench, {"kind": "alike", "number": 3})
    assert filters.in_view(bench, filters.EVERYTHING)[0] == sentence
    bench.look_alike(None)
    words = bench.desk.texts[sentence][:12]
    assert sentence in filters.in_view(bench, filters.EVERYTHING, words).tolist()


def test_columns_that_a_search_leaves_empty_come_last(bench: Bench) -> None:
    course = bench.partition.members(3)
    shown = board_data(bench, course)["columns"]
    assert shown[0]["number"] == 3
    assert [one["id"] for one in shown[0]["sentences"]] == course.tolist()
    assert not any(column["sentences"] for column in shown[1:])
    assert [column["number"] for column in board_data(bench, bench.partition.ids)["columns"]] == sorted(
        bench.partition.clusters
    )


def test_a_shape_selects_what_was_seen_when_it_was_drawn(bench: Bench) -> None:
    ids = bench.partition.ids
    points = np.column_stack([np.arange(len(ids)), np.zeros(len(ids))]).astype(np.float32)
    canvas = canvas_of(bench, ids, points)
    categories = canvas.colouring.categories
    bench.planes[canvas.digest] = Plane(ids, canvas.units, categories, len(canvas.colouring.names))
    right = int(canvas.units[4, 0]) + 1
    corners = [[0, 0], [right, 0], [right, 65_535], [0, 65_535]]
    area = {"kind": "area", "digest": canvas.digest, "corners": corners, "hidden": []}
    tell(bench, {**area, "number": 1}, {"kind": "uncertain", "number": 2})
    assert bench.selected.tolist() == ids[:5].tolist()
    assert bench.partition.uncertain[:6].tolist() == [True] * 5 + [False]
    tell(bench, {**area, "hidden": [int(categories[0])], "number": 3})
    assert bench.selected.tolist() == ids[:5][categories[:5] != categories[0]].tolist()
    tell(bench, {"kind": "none", "number": 4}, {"kind": "point", "digest": canvas.digest, "row": 2, "number": 5})
    assert bench.selected.tolist() == [int(ids[2])]
    tell(bench, {**area, "digest": "another", "number": 6}, {"kind": "point", "digest": "x", "row": 1, "number": 7})
    assert bench.selected.tolist() == [int(ids[2])]


def test_the_legend_counts_the_clusters_that_share_a_colour(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = bench.partition.ids
    points = np.zeros((len(ids), 2), dtype=np.float32)
    assert canvas_of(bench, ids, points).colouring.other == "unassigned"
    monkeypatch.setattr("webapp.features.relabel.cluster_map.MOST", 2)
    rest = len(bench.partition.clusters) - 2
    assert canvas_of(bench, ids, points).colouring.other == f"{rest} smaller clusters and unassigned"
