"""Triplets: filters, verdicts by key, and export."""

import csv
import gzip
import io
import json
from collections.abc import Callable

import numpy as np
import pytest
import sqlalchemy as sa
from streamlit.testing.v1 import AppTest

from tests.webapp.filled import MODEL, SET
from tests.webapp.hands import press, words_of
from tests.webapp.test_triplet_margins import add_evaluation
from themescope.core.types import Split, TripletRows
from themescope.db.records import TripletSetRecord, Verdict
from themescope.db.store import Store
from themescope.webapp.features.triplets import browser, filters
from themescope.webapp.features.triplets import queries as page_queries
from themescope.webapp.features.triplets.filters import ORDERS, TripletFilter
from themescope.webapp.features.triplets.queries import EvaluatedModel, Export
from themescope.webapp.shared import components
from themescope.webapp.shared.results import triplet_queries

Open = Callable[..., AppTest]
TEST = Split.TEST


def judged(store: Store) -> tuple[TripletSetRecord, list[EvaluatedModel]]:
    with store.reading() as r:
        chosen = r.triplets.by_name(SET)
    return chosen, page_queries.evaluated_models(triplet_queries.evaluations(chosen))


def verdicts(store: Store) -> list[tuple[str, Verdict | None, str]]:
    with store.reading() as r:
        return [(x.person, x.verdict, x.note) for x in r.reviews.list(r.triplets.by_name(SET).id)]


def test_every_part_of_the_filter_is_what_the_cards_say(filled_store: Store) -> None:
    add_evaluation(filled_store, "second", [-1.0, 1.0, 1.0, -1.0])
    chosen, judges = judged(filled_store)
    every = page_queries.cards(chosen, triplet_queries.ids(chosen, None))
    margins = {j.name: dict(zip([c.id for c in every], page_queries.margins_at(j, np.array([c.id for c in every])),
                                strict=True)) for j in judges}  # fmt: skip
    first, second = margins[MODEL], margins["second"]
    asked = {
        TripletFilter(): lambda c: True,
        TripletFilter(split=TEST): lambda c: c.split is TEST,
        TripletFilter(words="PARAGRAPH 1 sentence 1"): lambda c: (
            "paragraph 1 sentence 1" in c.pivot + c.positive + c.negative
        ),
        TripletFilter(article="anub"): lambda c: "anub" in c.article,
        TripletFilter(article="Nile"): lambda c: False,
        TripletFilter(pair=("history", "COURSE")): lambda c: (
            {c.pivot_section, c.negative_section} == {"Course", "History"}
        ),
        TripletFilter(right=(MODEL, "second")): lambda c: first[c.id] > 0 and second[c.id] > 0,
        TripletFilter(wrong=(MODEL,)): lambda c: first[c.id] < 0,
        TripletFilter(right=(MODEL,), wrong=("second",)): lambda c: first[c.id] > 0 > second[c.id],
    }  # fmt: skip
    for wanted, holds in asked.items():
        found = filters.ids(chosen, wanted, judges).tolist()
        assert found == [c.id for c in every if holds(c)], wanted


def test_orders_by_margin(filled_store: Store) -> None:
    chosen, judges = judged(filled_store)
    sorted_by = {}
    for order in ORDERS:
        found = filters.ids(chosen, TripletFilter(order=order, order_model=MODEL), judges)
        sorted_by[order] = page_queries.margins_at(judges[0], found).tolist()
    assert [*sorted_by.values()] == [[-0.25, 0, 0.5, 1], [1, 0.5, 0, -0.25], [0, -0.25, 0.5, 1]]


def test_a_verdict_is_stored_and_the_next_triplet_comes(filled_store: Store, open_page: Open) -> None:
    at = open_page("triplets", set=SET, split="test")
    assert not any(b.proto.shortcut for b in at.button), "the keys have a queue of their own"
    assert "**0 of 4** in this filter reviewed" in words_of(at)
    at.text_input(key="person").input("Ada").run()
    press(press(at, "Bad"), "Good")
    assert "Triplet 3 of 4" in words_of(at) and "**2 of 4**" in words_of(at)
    assert verdicts(filled_store) == [("Ada", Verdict.BAD, ""), ("Ada", Verdict.GOOD, "")]
    press(press(at, "Previous"), "Previous")
    assert "Ada · bad · just now" in words_of(at)
    press(at, "Undo")  # the good one, which is looked at again
    assert "Triplet 2 of 4" in words_of(at) and verdicts(filled_store) == [("Ada", Verdict.BAD, "")]
    fresh = open_page("triplets", set=SET, split="test")
    assert "**1 of 4** in this filter reviewed" in words_of(fresh)


def test_reviews_narrow_the_view(filled_store: Store, open_page: Open) -> None:
    chosen, _ = judged(filled_store)
    with filled_store.writing() as w:
        ids = [int(i) for i in w.triplets.ids(chosen.id, TEST)]
        w.reviews.add(chosen.id, ids[0], "Ada", Verdict.BAD)
        w.reviews.add(chosen.id, ids[1], "Bob", Verdict.GOOD)
    reviews, found = page_queries.reviews(chosen), np.array(ids)
    expected = {"any": ids, "reviewed": ids[:2], "not reviewed by me": ids, "bad": ids[:1], "ambiguous": []}
    assert {one: filters.with_reviews(found, reviews, one).tolist() for one in expected} == expected
    at = open_page("triplets", set=SET, split="test", review="not reviewed by me", person="Ada")
    assert "Triplet 1 of 3" in words_of(at) and "not reviewed by me" in words_of(at)
    press(press(press(at, "Good"), "Good"), "Good")
    assert "No triplet left" in words_of(at)
    at = open_page("triplets", set=SET, split="test", review="good", triplet=str(ids[1]))
    assert "Triplet " in words_of(at) and "the test split · good" in words_of(at)


def test_a_verdict_that_cannot_be_stored_is_told(filled_store: Store, open_page: Open) -> None:
    at = open_page("triplets", set=SET, split="test")
    with filled_store.writing() as w:
        w.triplets.connection.execute(sa.text("DELETE FROM triplet"))
    press(at, "Bad")
    assert at.toast and verdicts(filled_store) == []


@pytest.mark.parametrize("packed", [False, True])
def test_what_is_in_view_leaves_as_a_file(filled_store: Store, packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("themescope.webapp.features.triplets.queries.COMPRESSED_FROM", 3 if packed else 100)
    chosen, judges = judged(filled_store)
    with filled_store.writing() as w:
        ids = [int(i) for i in w.triplets.ids(chosen.id)]
        w.reviews.add(chosen.id, ids[-1], "=Ada", Verdict.BAD, "why")
        w.reviews.add(chosen.id, ids[-1], "", Verdict.GOOD)
    export = Export(chosen, judges, None, np.array(ids)[::-1])
    text, lines = (gzip.decompress(x) if packed else x for x in (export.csv(), export.jsonl()))
    rows = list(csv.DictReader(io.StringIO(text.decode("utf-8"))))
    objects = [json.loads(line) for line in lines.decode("utf-8").splitlines()]
    assert [row["Split"] for row in rows] == [o["Split"] for o in objects] == ["test"] * 4 + ["train"] * 4
    assert [row[f"margin of {MODEL}"] for row in rows] == ["1.0", "0.0", "-0.25", "0.5", "", "", "", ""]
    assert [o[f"{MODEL} is"] for o in objects] == ["correct", "tied", "wrong", "correct", None, None, None, None]
    cards = page_queries.cards(chosen, np.array(ids)[::-1])
    for row, o, card in zip(rows, objects, cards, strict=True):
        said = card.pivot, card.positive, card.negative, card.article, card.pivot_section, card.negative_section
        assert tuple(row.values())[:6] == tuple(o.values())[:6] == said
    assert rows[0]["Verdicts"] == "'=Ada: bad (why); me: good" and rows[1]["Verdicts"] == ""
    assert [(v["person"], v["verdict"], v["note"]) for v in objects[0]["Verdicts"]] == [
        ("=Ada", "bad", "why"), ("", "good", "")
    ]  # fmt: skip


def test_a_step_asks_the_store_few_questions(filled_store: Store, open_page: Open) -> None:
    """The next triplet costs the same number of statements in a set of any size, and none reads through the set."""
    chosen, _ = judged(filled_store)
    with filled_store.writing() as w:
        some = w.triplets.rows(chosen.id, TEST)
        many = TripletRows(*(np.resize(getattr(some, name), 3_000) for name in TripletRows.__slots__))
        w.triplets.add(chosen.id, TEST, many)
    at = open_page("triplets", set=SET, split="test")
    assert "Triplet 1 of 3,004" in words_of(at)
    said: list[str] = []
    engine = page_queries.queries.store()._connections.engine()
    sa.event.listen(engine, "before_cursor_execute", lambda *a: said.append(a[2]))
    press(at, "Next")
    assert "Triplet 2 of 3,004" in words_of(at)
    asked = [s for s in said if s.startswith("SELECT") and "task.blind" not in s]  # one for each transaction
    assert len(asked) <= 16
    assert not [s for s in asked if "FROM triplet " in s and "triplet.id IN" not in s]


def test_an_address_from_before_the_last_key_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit sends the address of the browser with every message, also one that the last key has changed since."""
    address = {"triplets_triplet": "7"}
    monkeypatch.setattr(components.st, "query_params", address)
    state, visited = components.Acknowledged(), list[str]()

    def forward() -> None:
        visited.append(address["triplets_triplet"])
        address["triplets_triplet"] = str(int(address["triplets_triplet"]) + 1)

    def send(number: int, seen: int) -> None:
        message = {"session": state.session, "actions": [{"number": number, "kind": "next"}], "seen": seen}
        components.dispatch_actions(state, "triplets_triplet", {"next": forward}, message)

    send(1, 0)
    address["triplets_triplet"] = "7"  # what the browser still had
    send(2, 0)
    address["triplets_triplet"] = "3"  # a click on a row, after the browser had seen the second key
    send(3, 2)
    assert visited == ["7", "8", "3"]


def test_every_key_is_handled_once_and_in_order() -> None:
    state, handled = components.Acknowledged(), list[str]()
    handlers = {kind: lambda kind=kind: handled.append(kind) for kind in browser.HANDLERS}
    assert set(browser.KEYS.values()) == set(handlers)

    def send(kinds: list[object], first: int, session: str = state.session) -> None:
        sent = [{"number": number, "kind": kind} for number, kind in enumerate(kinds, first)]
        components.dispatch_actions(state, "triplets_triplet", handlers, {"session": session, "actions": sent[::-1]})

    send(["good", "bad", "good", "undo", "ambiguous"], 1)
    assert handled == ["good", "bad", "good", "undo", "ambiguous"] and state.number == 5
    send(["ambiguous", "next"], 5)  # sent again, because the answer was late
    send(["good"], 9, session="another")
    send(["unknown", 1], 7)
    for wrong in (None, {}, {"session": state.session, "actions": [{"number": True}, "x"]}):
        components.dispatch_actions(state, "triplets_triplet", handlers, wrong)
    assert handled[5:] == ["next"]
