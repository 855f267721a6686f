"""The page Code: what is done is stored, what is refused is told, nothing typed by a person is obeyed."""

import base64
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.webapp.filled import CORPUS, HOSTILE, danube
from tests.webapp.hands import words_of
from tests.webapp.listed import listed, listing
from themescope.core.labelling import operations as op
from themescope.core.labelling.operations import Origin, selected
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.records.stored import LabellingRecord, Role, Sharing
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.queue.runner import run_here
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.webapp.features.coding import FILTER
from themescope.webapp.features.coding.actions import ACTIONS, HANDLERS, dispatch
from themescope.webapp.features.coding.editing import RelabelState
from themescope.webapp.features.coding.toolbar import bar_data
from themescope.webapp.shared.choose import BROKEN
from themescope.webapp.shared.compare_queries import SORT, selection_view

Open = Callable[..., AppTest]
KINDS = {
    action.key: action.kind for action in ACTIONS if action.kind in HANDLERS and action.key and action.kind != "assign"
}


@pytest.fixture
def labelling(filled_store: Store) -> LabellingRecord:
    return danube(filled_store)


def select(at: AppTest, labelling: LabellingRecord, ids: list[int]) -> None:
    at.session_state[f"code_state_{labelling.id}"].select(ids, "in the table")


def offered(at: AppTest) -> list[str]:
    """The filters of the table."""
    return [*next(menu for menu in at.get("menu_button") if menu.proto.id.endswith(f"{FILTER}_menu")).proto.options]


def press(at: AppTest, labelling: LabellingRecord, key: str) -> AppTest:
    """Press a key: the browser sends the action of its button with the next number."""
    state: RelabelState = at.session_state[f"code_state_{labelling.id}"]
    told = {"kind": "assign", "cluster": int(key)} if key in "123456789" else {"kind": KINDS[key]}
    dispatch(state, {"session": state.browser_session, "actions": [{**told, "number": state.acknowledged + 1}]})
    return at.run()


def test_a_private_labelling_of_another_person_is_read_and_copied(filled_store: Store, open_page: Open) -> None:
    with filled_store.reading() as r:
        article = r.corpora.articles(1)[0]
    new = NewLabelling(1, "Bob's", "bob", Sharing.OWN, False, article.id)
    record = starts.begin(filled_store, new, starts.from_sections)
    at = open_page("code")
    assert "This coding belongs to **bob**" in words_of(at) and "Not saved" not in words_of(at)
    state = at.session_state[f"code_state_{record.id}"]
    select(at, record, state.partition.ids[:2].tolist())
    at = press(at, record, "N")
    assert "Not saved" not in words_of(at) and not state.session.steps
    copy = next(b for b in at.button if b.label == "Make my own copy")
    assert copy.proto.type == "primary"
    copy.click().run()
    assert not at.exception and "belongs to" not in words_of(at)
    with filled_store.reading() as r:
        mine = r.labellings.by_name("Bob's (me)")
        same = [r.labellings.snapshot(found.id).partition.numbers.tolist() for found in (mine, record)]
    assert mine.owner == "" and same[0] == same[1]
    select(at, mine, state.partition.ids[:2].tolist())
    press(at, mine, "N")
    with filled_store.reading() as r:
        assert len(r.label_steps.list(mine.id)) == 1 and not r.label_steps.list(record.id)


def test_a_selection_is_the_working_set(filled_store: Store, labelling: LabellingRecord, open_page: Open) -> None:
    with filled_store.writing() as w:
        kept = w.selections.add(selected(1, [5, 9, 40], Origin("search", ("x",))))
    at = open_page("code", **selection_view("Danube", kept.id))
    assert [row["id"] for row in listed(at)] == [5, 9]
    assert "Selection" not in offered(open_page("code", surface="Table"))


def test_keys_assign_undo_and_redo(filled_store: Store, labelling: LabellingRecord, open_page: Open) -> None:
    at = open_page("code")
    assert BROKEN not in words_of(at)
    state = at.session_state[f"code_state_{labelling.id}"]
    first = state.partition
    ids = first.members(2)[:2].tolist()
    select(at, labelling, ids)
    press(at, labelling, "1")
    with filled_store.reading() as r:
        now = r.labellings.snapshot(labelling.id).partition
        (step,) = r.label_steps.list(labelling.id)
    assert now.numbers[now.rows(ids)].tolist() == [1, 1]
    assert (step.selection_method, step.summary) == ("in the table", "2 units → Introduction")
    assert bar_data(state, SORT)["status"] == {"text": "Saved · 2 units → Introduction", "state": "saved"}
    press(at, labelling, "U")
    with filled_store.reading() as r:
        assert r.labellings.snapshot(labelling.id).partition.to_bytes() == first.to_bytes()
    reloaded = open_page("code")
    press(reloaded, labelling, "Y")
    with filled_store.reading() as r:
        assert r.labellings.snapshot(labelling.id).partition.to_bytes() == now.to_bytes()
    for key in KINDS:
        select(reloaded, labelling, ids)
        press(reloaded, labelling, key)
        assert not reloaded.exception
        assert not reloaded.error


def test_what_the_browser_has_is_not_sent_again(labelling: LabellingRecord, open_page: Open) -> None:
    at = open_page("code", surface="Table")
    state: RelabelState = at.session_state[f"code_state_{labelling.id}"]
    whole = listing(at)
    assert whole["base"] == 0 and whole["list"]["ids"] == state.partition.ids.tolist()
    state.known[whole["view"]].note(whole["number"])
    select(at, labelling, state.partition.members(2)[:2].tolist())
    press(at, labelling, "1")
    sent = listing(at)
    assert sent["base"] == whole["number"] and "list" not in sent
    assert len(json.dumps(sent)) < len(json.dumps(whole)) / 4
    assert [*sent["changes"]["parts"]["list"]["parts"]["was"]["parts"].values()] == [[1], [1]]
    state.known[whole["view"]].note("forged")  # as from a browser that has lost it
    assert listing(at.run())["list"]["rows"]


def test_a_conflict_shows_both_versions(filled_store: Store, labelling: LabellingRecord, open_page: Open) -> None:
    at = open_page("code")
    state = at.session_state[f"code_state_{labelling.id}"]
    sentence = int(state.partition.members(2)[0])
    ben = LabellingSession(filled_store, labelling.id, "Ben")
    ben.do(op.assign(ben.partition, np.array([sentence]), 3))
    select(at, labelling, [sentence])
    press(at, labelling, "1")
    shown = words_of(at)
    assert "Edit conflict" in shown
    assert "It was **Course**; you chose **Introduction** · Ben chose **History**" in shown
    with filled_store.reading() as r:
        now = r.labellings.snapshot(labelling.id).partition
    assert now.numbers[now.rows([sentence])].tolist() == [3]
    next(b for b in at.button if b.label == "Use my change").click().run()
    with filled_store.reading() as r:
        now = r.labellings.snapshot(labelling.id).partition
        assert [s.person for s in r.label_steps.list(labelling.id)] == ["Ben", ""]
    assert now.numbers[now.rows([sentence])].tolist() == [1]
    assert "Edit conflict" not in words_of(at)


def test_hostile_names_and_notes_are_words(filled_store: Store, labelling: LabellingRecord, open_page: Open) -> None:
    session = LabellingSession(filled_store, labelling.id, HOSTILE)
    ids = session.partition.members(2)
    session.do(op.rename(session.partition, 2, HOSTILE), HOSTILE, HOSTILE)
    session.do(op.note(session.partition, ids, HOSTILE))
    for view in ({"surface": "Sort"}, {"surface": "Table"}, {"view": "History"}, {"view": "Settings"}):
        at = open_page("code", **view)
        select(at, labelling, ids[:1].tolist())
        at.run()
        assert BROKEN not in words_of(at)
        assert not at.exception


def test_a_viewer_is_told_and_nothing_is_lost(filled_store: Store, labelling: LabellingRecord, open_page: Open) -> None:
    with filled_store.writing() as w:
        w.people.set_role("", Role.VIEWER, "")
    assert "You may view, but not change codings" in words_of(open_page("code"))
    with filled_store.writing() as w:
        w.people.set_role("", Role.LABELLER, "")
    at = open_page("code")
    with filled_store.writing() as w:
        w.people.set_role("", Role.VIEWER, "")
    state = at.session_state[f"code_state_{labelling.id}"]
    select(at, labelling, state.partition.members(2)[:1].tolist())
    press(at, labelling, "1")
    assert "Not saved" in words_of(at)
    assert "may view" in words_of(at)
    with filled_store.writing() as w:
        w.people.set_role("", Role.LABELLER, "")
    next(b for b in at.button if b.label == "Try again").click().run()
    with filled_store.reading() as r:
        assert len(r.label_steps.list(labelling.id)) == 1


def test_what_is_not_saved_is_done_to_what_was_selected_and_before_anything_else(
    filled_store: Store, labelling: LabellingRecord, open_page: Open
) -> None:
    at = open_page("code")
    state: RelabelState = at.session_state[f"code_state_{labelling.id}"]
    first, second = state.partition.members(2)[:2].tolist()

    def role(of: Role) -> None:
        with filled_store.writing() as w:
            w.people.set_role("", of, "")

    role(Role.VIEWER)
    for one in (first, second):
        select(at, labelling, [one])
        press(at, labelling, "X")
    assert state.unsaved is not None and "Not saved" in words_of(at)
    role(Role.LABELLER)
    press(at, labelling, "X")
    with filled_store.reading() as r:
        assert [step.summary for step in r.label_steps.list(labelling.id)] == ["1 unit marked uncertain"] * 2
        now = r.labellings.snapshot(labelling.id).partition
    assert now.uncertain[now.rows([first, second])].all()
    role(Role.VIEWER)
    select(at, labelling, [first])
    press(at, labelling, "X")
    press(at, labelling, "U")
    assert state.unsaved is None and "Not saved" not in words_of(at)
    press(at, labelling, "X")
    next(b for b in at.button if b.label == "Discard change").click().run()
    assert state.unsaved is None and "Not saved" not in words_of(at)


def test_a_new_cluster_that_was_not_saved_and_the_next_one_are_two(
    filled_store: Store, labelling: LabellingRecord, open_page: Open
) -> None:
    at = open_page("code")
    state: RelabelState = at.session_state[f"code_state_{labelling.id}"]
    known = {*state.partition.clusters}
    ids = state.partition.members(2).tolist()
    for one, role in zip(ids, (Role.VIEWER, Role.LABELLER), strict=False):
        with filled_store.writing() as w:
            w.people.set_role("", role, "")
        select(at, labelling, [one])
        press(at, labelling, "N")
    assert state.unsaved is None and not state.notice and len({*state.partition.clusters} - known) == 2


def test_a_step_names_its_own_method_instead_of_that_of_the_selection(
    filled_store: Store, labelling: LabellingRecord, open_page: Open
) -> None:
    at = open_page("code")
    state: RelabelState = at.session_state[f"code_state_{labelling.id}"]
    state.include_duplicates = True
    state.select(state.partition.ids[:2], "in the list")
    for method in ("", "language model"):
        state.apply(lambda p: op.rename(p, 1, f"by {method}"), keep_selection=True, method=method)  # noqa: B023
    assert [s.selection_method for s in state.session.steps] == ["in the list, with duplicates", "language model"]


def test_going_back_from_the_history(filled_store: Store, labelling: LabellingRecord, open_page: Open) -> None:
    session = LabellingSession(filled_store, labelling.id, "Ben")
    first = session.partition.to_bytes()
    session.do(op.merge(session.partition, [1, 2, 3], 1), "too fine")
    session.do(replace(op.unassign(session.partition, session.partition.ids), coder="a model"))
    at = open_page("code", view="History")
    frame = at.dataframe[0].value
    assert frame["Reason"].tolist() == ["", "too fine"] and frame["Who"].tolist() == ["a model (Ben)", "Ben"]
    next(b for b in at.button if b.label == "Restore initial state").click().run()
    with filled_store.reading() as r:
        assert r.labellings.snapshot(labelling.id).partition.to_bytes() == first
    press(open_page("code"), labelling, "U")
    with filled_store.reading() as r:
        now = r.labellings.snapshot(labelling.id).partition
    assert now.sizes()[UNASSIGNED] == len(now.ids)


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


def test_blind_work_shows_no_sections_and_no_opinions(
    filled_store: Store, labelling: LabellingRecord, open_page: Open
) -> None:
    with filled_store.writing() as w:
        w.labellings.share(labelling.id, Sharing.OWN, True, "")
    at = open_page("code")
    shown = listing(at)["details"]
    assert shown["facts"] == [] and shown["nearest"] == [] and shown["map"] is None
    found = listing(at)["actions"]
    assert "uncertain" in found and not {"accept", "recluster", "collect"} & {*found}
    assert not [row["note"] for row in listed(at) if row["note"]]
    assert "Suggestions" not in at.get("menu_button")[-1].proto.options
    assert "Differs from model" not in offered(open_page("code", surface="Table"))


def test_sentences_of_a_later_wave_are_offered(filled_store: Store, open_page: Open, tmp_path: Path) -> None:
    with filled_store.reading() as r:
        corpus = r.corpora.by_name(CORPUS)
    labelling = starts.begin(filled_store, NewLabelling(corpus.id, "whole", ""), starts.from_nothing)
    at = open_page("code", labelling="whole", surface="Sort")
    assert not at.exception and "code_extend" not in {button.key for button in at.button}
    file = tmp_path / "more.txt"
    file.write_text("= Oder =\n\nThe Oder is long. It ends in the Baltic Sea.\n", encoding="utf-8")
    run_here(filled_store, "append-corpus", {"files": [str(file)], "corpus": CORPUS, "wave": "more"}, quiet=True)
    at.run()
    assert "2 units of the project are not in this coding" in words_of(at)
    at.button(key="code_extend").click().run()
    assert not at.exception and "code_extend" not in {button.key for button in at.button}
    with filled_store.reading() as r:
        assert r.labellings.get(labelling.id).sentences == corpus.sentences + 2
    assert listing(at)["list"]["total"] == corpus.sentences + 2
    state: RelabelState = at.session_state[f"code_state_{labelling.id}"]
    new = [s.id for s in state.texts.sentences if s.text == "The Oder is long."]
    select(at, labelling, new)
    assert not at.run().exception
    press(at, labelling, "N")
    assert state.partition.numbers[state.partition.rows(new)[0]] != UNASSIGNED
