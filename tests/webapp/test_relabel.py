"""The page Code: what is done is stored, what is refused is told, nothing typed by a person is obeyed."""

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.webapp.filled import CORPUS, HOSTILE, MODEL, of_sections
from tests.webapp.hands import Open, listed, listing, press, words_of
from themescope.core.labelling import operations as op
from themescope.core.labelling.operations import Origin, selected
from themescope.core.labelling.partition import UNASSIGNED, Partition
from themescope.core.records.stored import LabellingRecord, Role, Sharing
from themescope.db.records import NewLabelling, VectorBlock
from themescope.db.store import Store
from themescope.jobs.queue.runner import run_here
from themescope.jobs.services import people
from themescope.jobs.services import search as inference
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.webapp.features.coding import FILTER, queries
from themescope.webapp.features.coding.actions import ACTIONS, HANDLERS, dispatch
from themescope.webapp.features.coding.editing import RelabelState
from themescope.webapp.features.coding.toolbar import bar_data
from themescope.webapp.shared.choose import BROKEN
from themescope.webapp.shared.compare_queries import SORT, selection_view

KINDS = {
    action.key: action.kind for action in ACTIONS if action.kind in HANDLERS and action.key and action.kind != "assign"
}


@dataclass
class Coding:
    """The page as a person has it open, and what is stored."""

    at: AppTest
    store: Store
    record: LabellingRecord

    @property
    def state(self) -> RelabelState:
        found: RelabelState = self.at.session_state[f"code_state_{self.record.id}"]
        return found

    @property
    def stored(self) -> Partition:
        with self.store.reading() as r:
            return r.labellings.snapshot(self.record.id).partition

    def steps(self, field: str = "summary") -> list[str]:
        with self.store.reading() as r:
            return [getattr(step, field) for step in r.label_steps.list(self.record.id)]

    def send(self, kind: str, **about: Any) -> AppTest:
        action = {"kind": kind, "number": self.state.acknowledged + 1, **about}
        dispatch(self.state, {"session": self.state.browser_session, "actions": [action]})
        self.at.run()
        return self.at

    def press(self, key: str, ids: Sequence[int] = ()) -> AppTest:
        if len(ids):
            self.state.select(ids, "in the table")
        return self.send("assign", cluster=int(key)) if key in "123456789" else self.send(KINDS[key])


@pytest.fixture
def coding(filled_store: Store, labelling: LabellingRecord, open_page: Open) -> Coding:
    at = open_page("code")
    assert BROKEN not in words_of(at)
    return Coding(at, filled_store, labelling)


def offered(at: AppTest) -> list[str]:
    """The filters of the table."""
    return [*next(menu for menu in at.get("menu_button") if menu.proto.id.endswith(f"{FILTER}_menu")).proto.options]


def test_a_private_labelling_of_another_person_is_read_and_copied(filled_store: Store, open_page: Open) -> None:
    record = of_sections(filled_store, "Bob's", "bob", article=1)
    bobs = Coding(at := open_page("code"), filled_store, record)
    assert "This coding belongs to **bob**" in words_of(at) and "Not saved" not in words_of(at)
    two = bobs.state.partition.ids[:2].tolist()
    assert "Not saved" not in words_of(bobs.press("N", two)) and not bobs.steps()
    assert next(b for b in at.button if b.label == "Make my own copy").proto.type == "primary"
    press(at, "Make my own copy")
    assert "belongs to" not in words_of(at)
    with filled_store.reading() as r:
        mine = Coding(at, filled_store, r.labellings.by_name("Bob's (me)"))
    assert mine.record.owner == "" and mine.stored.numbers.tolist() == bobs.stored.numbers.tolist()
    mine.press("N", two)
    assert len(mine.steps()) == 1 and not bobs.steps()


@pytest.mark.usefixtures("labelling")
def test_a_selection_is_the_working_set(filled_store: Store, open_page: Open) -> None:
    with filled_store.writing() as w:
        kept = w.selections.add(selected(1, [5, 9, 40], Origin("search", ("x",))))
    at = open_page("code", **selection_view("Danube", kept.id))
    assert [row["id"] for row in listed(at)] == [5, 9]
    assert "Selection" not in offered(open_page("code", surface="Table"))


def test_keys_assign_undo_and_redo(coding: Coding, open_page: Open) -> None:
    first = coding.state.partition
    ids = first.members(2)[:2].tolist()
    coding.press("1", ids)
    now = coding.stored
    assert now.numbers[now.rows(ids)].tolist() == [1, 1]
    assert (coding.steps("selection_method"), coding.steps()) == (["in the table"], ["2 units → Introduction"])
    shown = bar_data(coding.state, SORT)["status"]
    assert shown == {"text": "Saved · 2 units → Introduction", "state": "saved"}
    coding.press("U")
    assert coding.stored.to_bytes() == first.to_bytes()
    coding.at = open_page("code")
    coding.press("Y")
    assert coding.stored.to_bytes() == now.to_bytes()
    for key in KINDS:
        assert not coding.press(key, ids).error


def test_what_the_browser_has_is_not_sent_again(coding: Coding, open_page: Open) -> None:
    coding.at = at = open_page("code", surface="Table")
    state, whole = coding.state, listing(at)
    assert whole["base"] == 0 and whole["list"]["ids"] == state.partition.ids.tolist()
    state.known[whole["view"]].note(whole["number"])
    sent = listing(coding.press("1", state.partition.members(2)[:2].tolist()))
    assert sent["base"] == whole["number"] and "list" not in sent
    assert len(json.dumps(sent)) < len(json.dumps(whole)) / 4
    assert [*sent["changes"]["parts"]["list"]["parts"]["was"]["parts"].values()] == [[1], [1]]
    state.known[whole["view"]].note("forged")  # as from a browser that has lost it
    assert listing(at.run())["list"]["rows"]


def test_a_conflict_shows_both_versions(filled_store: Store, coding: Coding) -> None:
    sentence = int(coding.state.partition.members(2)[0])
    ben = LabellingSession(filled_store, coding.record.id, "Ben")
    ben.do(op.assign(ben.partition, np.array([sentence]), 3))
    shown = words_of(coding.press("1", [sentence]))
    assert "Edit conflict" in shown
    assert "It was **Course**; you chose **Introduction** · Ben chose **History**" in shown
    assert coding.stored.numbers[coding.stored.rows([sentence])].tolist() == [3]
    press(coding.at, "Use my change")
    assert coding.steps("person") == ["Ben", ""] and "Edit conflict" not in words_of(coding.at)
    assert coding.stored.numbers[coding.stored.rows([sentence])].tolist() == [1]


def test_hostile_names_and_notes_are_words(filled_store: Store, labelling: LabellingRecord, open_page: Open) -> None:
    session = LabellingSession(filled_store, labelling.id, HOSTILE)
    ids = session.partition.members(2)
    session.do(op.rename(session.partition, 2, HOSTILE), HOSTILE, HOSTILE)
    session.do(op.note(session.partition, ids, HOSTILE))
    for view in ({"surface": "Sort"}, {"surface": "Table"}, {"view": "History"}, {"view": "Settings"}):
        shown = Coding(open_page("code", **view), filled_store, labelling)
        shown.state.select(ids[:1].tolist(), "in the table")
        assert BROKEN not in words_of(shown.at.run())


def test_what_is_not_saved_is_told_and_done_to_what_was_selected_and_before_anything_else(
    filled_store: Store, coding: Coding, open_page: Open
) -> None:
    at, state = coding.at, coding.state
    first, second = state.partition.members(2)[:2].tolist()
    people.set_role(filled_store, "", Role.VIEWER)
    assert "You may view, but not change codings" in words_of(open_page("code"))
    for one in (first, second):
        coding.press("X", [one])
    assert state.unsaved is not None and "Not saved" in words_of(at) and "may view" in words_of(at)
    people.set_role(filled_store, "", Role.LABELLER)
    coding.press("X")
    assert coding.steps() == ["1 unit marked uncertain"] * 2
    assert coding.stored.uncertain[coding.stored.rows([first, second])].all()
    people.set_role(filled_store, "", Role.VIEWER)
    coding.press("X", [first])
    coding.press("U")
    assert state.unsaved is None and "Not saved" not in words_of(at)
    press(coding.press("X"), "Discard change")
    assert state.unsaved is None and "Not saved" not in words_of(at)
    coding.press("1", [first])
    people.set_role(filled_store, "", Role.LABELLER)
    press(at, "Try again")
    assert len(coding.steps()) == 3


def test_a_new_cluster_that_was_not_saved_and_the_next_one_are_two(filled_store: Store, coding: Coding) -> None:
    known = {*coding.state.partition.clusters}
    for one, role in zip(coding.state.partition.members(2).tolist(), (Role.VIEWER, Role.LABELLER), strict=False):
        people.set_role(filled_store, "", role)
        coding.press("N", [one])
    state = coding.state
    assert state.unsaved is None and not state.notice and len({*state.partition.clusters} - known) == 2


def test_a_step_names_its_own_method_instead_of_that_of_the_selection(coding: Coding) -> None:
    state = coding.state
    state.include_duplicates = True
    state.select(state.partition.ids[:2], "in the list")
    for method in ("", "language model"):
        state.apply(lambda p: op.rename(p, 1, f"by {method}"), keep_selection=True, method=method)  # noqa: B023
    assert coding.steps("selection_method") == ["in the list, with duplicates", "language model"]


def test_going_back_from_the_history(filled_store: Store, labelling: LabellingRecord, open_page: Open) -> None:
    session = LabellingSession(filled_store, labelling.id, "Ben")
    first = session.partition.to_bytes()
    session.do(op.merge(session.partition, [1, 2, 3], 1), "too fine")
    session.do(replace(op.unassign(session.partition, session.partition.ids), coder="a model"))
    at = open_page("code", view="History")
    frame = at.dataframe[0].value
    assert frame["Reason"].tolist() == ["", "too fine"] and frame["Who"].tolist() == ["a model (Ben)", "Ben"]
    press(at, "Restore initial state")
    coding = Coding(open_page("code"), filled_store, labelling)
    assert coding.stored.to_bytes() == first
    coding.press("U")
    assert coding.stored.sizes()[UNASSIGNED] == len(coding.stored.ids)


def test_the_small_map_lies_as_the_map_does(filled_store: Store, labelling: LabellingRecord, open_page: Open) -> None:
    sent = listing(open_page("code", surface="Sort"))["details"]["map"]["points"]
    shown = np.frombuffer(base64.b64decode(sent), np.uint8).reshape(-1, 2)
    with filled_store.reading() as r:
        ids = r.labellings.snapshot(labelling.id).partition.ids
        stored = r.maps.points(r.maps.list(labelling.corpus_id)[0].id)
    places = dict(zip(stored.sentence_ids.tolist(), stored.points, strict=True))
    x, y = np.array([places[id] for id in ids.tolist()]).T
    assert np.corrcoef(shown[:, 0], x)[0, 1] > 0.95
    assert np.corrcoef(255 - shown[:, 1], y)[0, 1] > 0.95, "a screen counts from the top"


def test_blind_work_shows_no_other_opinion(filled_store: Store, labelling: LabellingRecord, open_page: Open) -> None:
    with filled_store.writing() as w:
        w.labellings.share(labelling.id, Sharing.OWN, True, "")
    at = open_page("code")
    shown, found = listing(at)["details"], listing(at)["actions"]
    assert shown["facts"] == [] and shown["nearest"] == [] and shown["map"] is None
    assert "uncertain" in found and not {"accept", "recluster", "collect"} & {*found}
    assert not [row["note"] for row in listed(at) if row["note"]]
    assert "Suggestions" not in at.get("menu_button")[-1].proto.options
    assert "Differs from model" not in offered(open_page("code", surface="Table"))


def test_sentences_of_a_later_wave_are_offered(filled_store: Store, open_page: Open, tmp_path: Path) -> None:
    labelling = starts.begin(filled_store, NewLabelling(1, "whole", ""), starts.from_nothing)
    coding = Coding(open_page("code", labelling="whole", surface="Sort"), filled_store, labelling)
    at, before = coding.at, labelling.sentences
    assert "code_extend" not in {button.key for button in at.button}
    file = tmp_path / "more.txt"
    file.write_text("= Oder =\n\nThe Oder is long. It ends in the Baltic Sea.\n", encoding="utf-8")
    run_here(filled_store, "append-corpus", {"files": [str(file)], "corpus": CORPUS, "wave": "more"}, quiet=True)
    at.run()
    assert "2 units of the project are not in this coding" in words_of(at)
    at.button(key="code_extend").click().run()
    assert "code_extend" not in {button.key for button in at.button}
    assert len(coding.stored.ids) == listing(at)["list"]["total"] == before + 2
    new = [s.id for s in coding.state.texts.sentences if s.text == "The Oder is long."]
    coding.press("N", new)
    assert coding.stored.numbers[coding.stored.rows(new)[0]] != UNASSIGNED


Opened = Callable[..., Coding]


@pytest.fixture
def opened(filled_store: Store, open_page: Open) -> Opened:
    """Open the Danube by its sections, shared, with vectors; one sentence is far from all others."""
    with filled_store.writing() as w:
        random = np.random.default_rng(0)
        blocks = []
        for article in w.corpora.articles(1):
            x = np.array([3.0, 0, 0, 0]) + random.normal(scale=0.3, size=(article.sentences, 4))
            x[0] = [-9.0, 0, 0, 9.0]
            blocks.append(VectorBlock(article.id, x.astype(np.float32)))
        w.embeddings.add(w.models.by_name(MODEL).id, blocks)
    record = of_sections(filled_store, "Danube", "", Sharing.SHARED, 1)
    return lambda **view: Coding(open_page("code", **view), filled_store, record)


def test_clusters_are_grouped_under_a_theme(opened: Opened) -> None:
    shown = opened(cluster="2")
    at, first = shown.at, shown.stored
    assert listing(at)["open"] == 2 and listing(at)["head"]["title"] == first.clusters[2].name
    assert shown.send("group", cluster=2).multiselect[0].value == [2]
    at.multiselect[0].set_value([2, 3]).run()
    next(box for box in at.text_input if box.label == "Name of the theme").set_value("The river").run()
    press(at, "Group codes")
    now = shown.stored
    theme = next(n for n, c in now.clusters.items() if c.name == "The river")
    assert {n for n, c in now.clusters.items() if c.parent == theme} == {2, 3}
    rows = listing(at)["clusters"]
    assert [(row["number"], row["level"]) for row in rows[-4:]] == [(theme, 1), (2, 2), (3, 2), (UNASSIGNED, 1)]
    again = opened(cluster=str(theme))
    assert sorted(listing(again.at)["list"]["ids"]) == sorted([*now.members(2), *now.members(3)])
    again.send("undo")
    assert shown.stored.to_bytes() == first.to_bytes()


def test_one_cluster_is_re_clustered_and_named_and_the_rest_is_kept(
    filled_store: Store, opened: Opened, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(type(filled_store.artifacts), "path", lambda *_: tmp_path)  # a model without a calibration
    shown = opened(cluster="2")
    at, before = shown.send("recluster", cluster=2, ids=[], was=0), shown.stored
    at.number_input[0].set_value(3).run()
    next(box for box in at.text_input if box.label.startswith("Code 2 ·")).set_value("Second part").run()
    press(at, "Divide into 3 codes")
    now = shown.stored
    assert len(now.clusters) == len(before.clusters) + 2 and "Second part" in {c.name for c in now.clusters.values()}
    outside = before.numbers != 2
    assert np.array_equal(now.numbers[outside], before.numbers[outside]) and now.clusters[2] == before.clusters[2]
    shown.send("undo")
    assert shown.stored.to_bytes() == before.to_bytes()
    shown.state.select(before.ids[:6], "in the table")
    shown.send("recluster")
    for label, choices in (("Number of codes", ["Suggested"]), ("Split", ["No code", "All others"])):
        for choice in choices:
            next(group for group in at.button_group if group.label == label).set_value(choice).run()
            assert "probably between" in words_of(at) or choice != "Suggested"
    assert "Nobody has placed a unit yet" in words_of(at)


def test_units_of_a_large_labelling_are_divided(opened: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (inference, queries):
        monkeypatch.setattr(module, "MOST_WITH_VECTORS", 20)
    shown = opened()
    state, before = shown.state, shown.stored
    assert state.model is None
    state.select(state.partition.members(2), "in the table")
    press(shown.send("recluster"), "Divide into 2 codes")
    assert len(shown.stored.clusters) == len(before.clusters) + 1


def test_codes_and_units_are_opened_by_actions(opened: Opened) -> None:
    shown = opened()
    at = shown.send("open", cluster=3)
    assert listing(at)["open"] == 3 and at.query_params["code_cluster"] == "3"
    unit = int(shown.state.partition.members(2)[-1])
    shown.send("goto", unit=unit)
    assert (listing(at)["open"], listing(at)["focused"], listing(at)["list"]["focus"]) == (2, unit, unit)
    shown.send("similar", ids=[unit], was=2)
    assert listing(at)["head"]["title"] == "Similar units" and listing(at)["list"]["ids"][0] == unit
    shown.send("open", cluster=2)
    found, ids = shown.state, listing(opened(cluster="2").at)["list"]["ids"]
    assert found.suggestions is not None
    pull = found.suggestions.pull[found.partition.rows(np.array(ids))]
    assert (np.diff(pull) <= 0).all(), "those that the model would put elsewhere come first"
