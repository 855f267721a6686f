"""The Tasks page, the bar of a task in Relabel, and tasks on the Agreement page."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.db.texts import add_corpus, add_list
from tests.webapp.columned import SIDE, add_columns
from tests.webapp.filled import HOSTILE
from tests.webapp.hands import press, words_of
from themescope.core.labelling import operations as op
from themescope.core.labelling.provenance import Allocation
from themescope.core.labelling.task_items import DistributionPlan, Order
from themescope.core.records.stored import Role
from themescope.db.label_records import ItemRecord, ItemState, TaskRecord
from themescope.db.store import Store
from themescope.jobs.services.accounts import people
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.tasks import checks, making, work
from themescope.jobs.services.tasks.work import OpenItem
from themescope.webapp.features import tasks
from themescope.webapp.features.coding import ShownChange, Unsaved
from themescope.webapp.features.coding.actions import UNSEEN, dispatch
from themescope.webapp.features.coding.editing import RelabelState
from themescope.webapp.features.coding.queries import neighbours_in_text
from themescope.webapp.features.coding.sentences import columns_data
from themescope.webapp.features.tasks import overview
from themescope.webapp.shared.labelling import codebook_view
from themescope.webapp.shared.labelling.codebook_view import Task
from themescope.webapp.shared.results import compare_queries

Open = Callable[..., AppTest]


def button(at: AppTest, label: str) -> AppTest:
    return next(b for b in at.button if b.label == label)


@pytest.fixture
def task(filled_store: Store) -> TaskRecord:
    """All articles by Ada and a person with a hostile name, in whole articles, from the sections."""
    with filled_store.reading() as r:
        corpus = r.corpora.list()[0]
        articles = tuple(article.id for article in r.corpora.articles(corpus.id))
    plan = DistributionPlan(("ada", HOSTILE), 1.0, 2)
    made = making.TaskForm(corpus.id, "pilot", "ada", articles, plan, instructions=HOSTILE, start=making.START_SECTIONS)
    return making.make(filled_store, made)


def items_of(store: Store, task: TaskRecord, person: str) -> list[ItemRecord]:
    with store.reading() as r:
        return r.tasks.items(task.id, person)


def pressed(held: RelabelState, kind: str, turn: int) -> None:
    """What a key sends while the page shows the turn."""
    action = {"kind": kind, "number": held.acknowledged + 1, "turn": turn}
    dispatch(held, {"session": held.browser_session, "actions": [action]})


def uncode(store: Store, opened: OpenItem, item: ItemRecord) -> None:
    """Take the first sentence of an item out of its cluster."""
    session = LabellingSession(store, opened.labelling.id, item.person)
    session.do(op.unassign(session.partition, np.array(sentence_ids(store, [item])[:1])))


def skip(at: AppTest, item: ItemRecord, reason: str) -> None:
    at.text_input(key=f"code_task_bar_reason_{item.id}").set_value(reason)
    button(at, "Skip, next").click().run()


def finish(store: Store, task: TaskRecord, person: str, moved: int) -> None:
    """Finish all items of a person, with some sentences of the first article moved."""
    for place, item in enumerate(items_of(store, task, person)):
        opened = work.open_item(store, item.id)
        if not place:
            session = LabellingSession(store, opened.labelling.id, person)
            ids = session.partition.members(2)[:moved]
            session.do(op.assign(session.partition, np.sort(ids), 3))
        work.finish_item(store, item.id)


def test_a_member_who_has_not_begun_blind_work_sees_no_labels_of_others(
    filled_store: Store, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    with filled_store.reading() as r:
        corpus = r.corpora.list()[0]
        articles = r.corpora.articles(corpus.id)
    wanted = making.TaskForm(
        corpus.id, "secret", "ada", tuple(a.id for a in articles), DistributionPlan(("ada", "ben"), 1.0, 2), blind=True,
        start=making.START_SECTIONS,
    )  # fmt: skip
    task = making.make(filled_store, wanted)
    finish(filled_store, task, "ada", 2)
    with filled_store.reading() as r:
        (adas,) = r.labellings.list()
    at = open_page("agreement", person="ben", scope="Task: secret")
    assert not at.exception and "blind task" in words_of(at) and not at.dataframe and not at.multiselect
    for page, empty in (("code", "Needs the codings of two people"), ("codebook", "No labellings yet")):
        at = open_page(page, person="ben")
        assert not at.exception and empty in words_of(at), page
        at = open_page(page, person="ben", labelling=adas.name)
        assert not at.exception and f"There is no coding called “{adas.name}”" in words_of(at), page
    monkeypatch.setattr(compare_queries, "current_person", lambda: "ben")
    found = compare_queries.partitions(articles[0], corpus.created)
    assert "labelling" not in {partition.kind for partition in found}
    finish(filled_store, task, "ben", 0)
    assert "blind task" in words_of(open_page("agreement", person="ben", scope="Task: secret"))
    with filled_store.writing() as w:
        w.tasks.close(w.tasks.list()[0].id, True)
    at = open_page("agreement", person="ben", scope="Task: secret")
    assert "blind task" not in words_of(at) and at.multiselect


def test_a_task_is_made_with_people_and_overlap(filled_store: Store, open_page: Open) -> None:
    at = open_page("tasks", person="ada", view=tasks.NEW)
    assert not at.exception and "A task needs a name, articles and people." in words_of(at)
    at.text_input(key="tasks_form_name").set_value("first task")
    at.multiselect(key="tasks_form_people").set_value(["ada", " Jose\u0301  B"]).run()
    at.number_input(key="tasks_form_share").set_value(100)
    at.button_group(key="tasks_form_articles").set_value(overview.FIRST).run()
    at.number_input(key="tasks_form_number").set_value(2).run()
    button(at, "Create task").click().run()
    assert not at.exception and not at.error
    with filled_store.reading() as r:
        (made,) = r.tasks.list()
        items = r.tasks.items(made.id)
    assert (made.name, made.person, made.settings["several"]) == ("first task", "ada", 2)
    assert len(items) == 4 and {item.person for item in items} == {"ada", "Jos\u00e9 B"}, "as people sign in"
    assert "first task was created" in words_of(at) and "0 of 4 items are done" in words_of(at)


@pytest.mark.parametrize(
    ("waves", "offered"),
    [
        ((), ["All sentences", "Random sentences"]),
        (("wave 1", "Autumn"), ["All sentences", "Chosen waves", "Random sentences"]),
    ],
)
def test_a_list_is_labelled_by_waves_and_samples(
    waves: tuple[str, ...], offered: list[str], filled_store: Store, open_page: Open
) -> None:
    corpus = add_list(filled_store, waves=waves)
    at = open_page("tasks", person="ada", corpus=corpus.name, view=tasks.NEW)
    what = at.button_group(key="tasks_form_articles")
    assert not at.exception and what.options == offered and what.value == offered[0]
    if waves:
        what.set_value(overview.WAVES).run()
        at.multiselect(key="tasks_form_waves").select("Autumn")
        at.text_input(key="tasks_form_name").set_value("autumn")
        at.multiselect(key="tasks_form_people").set_value(["ada"]).run()
        button(at, "Create task").click().run()
        assert not at.exception and not at.error
        with filled_store.reading() as r:
            (made,) = r.tasks.list()
            (item,) = r.tasks.items(made.id)
            assert r.corpora.articles_by_id([item.article_id])[item.article_id].title == "file 1"


def test_two_people_get_the_same_random_sentences_blind(filled_store: Store, open_page: Open) -> None:
    at = open_page("tasks", person="ada", view=tasks.NEW)
    at.text_input(key="tasks_form_name").set_value("sample")
    at.multiselect(key="tasks_form_people").set_value(["ada", "ben"])
    at.button_group(key="tasks_form_articles").set_value("Random sentences").run()
    assert not at.exception and at.toggle(key="tasks_form_blind_sample").value
    assert at.selectbox(key="tasks_form_order_sample").value is Order.RANDOM
    assert not any(one.label == "Longest item" for one in at.number_input)
    at.number_input(key="tasks_form_units").set_value(4)
    at.toggle(key="tasks_form_everybody").set_value(True).run()
    button(at, "Create task").click().run()
    assert not at.exception and not at.error
    with filled_store.reading() as r:
        (made,), (corpus,) = r.tasks.list(), r.corpora.list()
    words = words_of(at).replace("\\", "")
    assert f"4 of {corpus.sentences} sentences at random" in words and "Unit of analysis: sentence" in words
    with filled_store.reading() as r:
        items = r.tasks.items(made.id)
    assert made.blind and len(items) == 8 and len({item.range for item in items}) == 4
    opened = work.open_item(filled_store, items_of(filled_store, made, "ada")[0].id)
    at = open_page("code", person="ada", **codebook_view.item_view(opened))
    assert not at.exception
    held = at.session_state[f"code_state_{opened.labelling.id}"]
    assert held.heading.startswith("item 1 of 4"), "the columns draw it with the sentence"
    assert held.selected.tolist() == sentence_ids(filled_store, items_of(filled_store, made, "ada")[:1])
    assert held.texts.ids.tolist() == sentence_ids(filled_store, items_of(filled_store, made, "ada"))
    assert held.finish is not None and "1 sentence without a code" in words_of(at)
    shown = held.turn
    button(at, "Skip, next").click().run()
    assert "Say why the item has no code" in words_of(at)
    skip(at, items_of(filled_store, made, "ada")[0], "two topics")
    assert held.selected.tolist() == sentence_ids(filled_store, items_of(filled_store, made, "ada")[1:2])
    assert held.heading.startswith("item 2 of 4") and [*held.partition.notes.values()] == ["two topics"]
    pressed(held, "none_fits", shown)
    assert held.notice == UNSEEN and len(held.partition.notes) == 1, "the key was pressed on the item before"
    shown = held.turn
    pressed(held, "none_fits", shown)
    assert [*held.partition.notes.values()] == ["two topics", "None of the codes fits."]
    at.run()
    pressed(held, "uncertain", shown)
    assert held.partition.uncertain.sum() == 1, "a quick key is for the sentence that is still shown"
    states = [item.state for item in items_of(filled_store, made, "ada")]
    assert states == [ItemState.DONE, ItemState.STARTED, ItemState.OPEN, ItemState.OPEN]


def test_a_sample_is_stratified_and_restricted(filled_store: Store, open_page: Open) -> None:
    add_columns(filled_store)
    at = open_page("tasks", person="ada", view=tasks.NEW)
    at.text_input(key="tasks_form_name").set_value("strata")
    at.multiselect(key="tasks_form_people").set_value(["ada"])
    at.button_group(key="tasks_form_articles").set_value("Random sentences").run()
    at.number_input(key="tasks_form_units").set_value(9)
    at.selectbox(key="tasks_form_strata").set_value("side")
    at.selectbox(key="tasks_form_where").set_value("side").run()
    at.selectbox(key="tasks_form_allocation").set_value(Allocation.EQUAL)
    at.multiselect(key="tasks_form_values_side").set_value([SIDE[0], SIDE[2]]).run()
    button(at, "Create task").click().run()
    assert not at.exception and not at.error
    assert "2 strata by side (equal)" in words_of(at).replace("\\", "")
    (table,) = [one.value for one in at.dataframe if "Could be drawn" in one.value]
    assert sorted(table["Drawn"]) == [4, 5] and table["side"].tolist() == sorted([SIDE[0], SIDE[2]])


def test_a_sample_has_own_numbers_for_each_value(filled_store: Store, open_page: Open) -> None:
    add_columns(filled_store)
    at = open_page("tasks", person="ada", view=tasks.NEW)
    at.text_input(key="tasks_form_name").set_value("own")
    at.multiselect(key="tasks_form_people").set_value(["ada"])
    at.button_group(key="tasks_form_articles").set_value("Random sentences").run()
    at.selectbox(key="tasks_form_strata").set_value("side").run()
    at.selectbox(key="tasks_form_allocation").set_value(Allocation.GIVEN).run()
    assert "Number" in [one.label for one in at.metric]
    at.number_input(key=f"tasks_form_of_side_{SIDE[2]}").set_value(2).run()
    at = press(at, "Create task")
    assert not at.exception and not at.error
    (table,) = [one.value for one in at.dataframe if "Could be drawn" in one.value]
    assert dict(zip(table["side"], table["Drawn"], strict=True))[SIDE[2]] == 2 == sum(table["Drawn"])


def test_too_large_a_sample_is_refused_with_the_reason(filled_store: Store, open_page: Open) -> None:
    add_columns(filled_store)
    at = open_page("tasks", person="ada", view=tasks.NEW)
    at.text_input(key="tasks_form_name").set_value("strata")
    at.multiselect(key="tasks_form_people").set_value(["ada"])
    at.button_group(key="tasks_form_articles").set_value("Random sentences").run()
    at.number_input(key="tasks_form_units").set_value(3)
    at.selectbox(key="tasks_form_strata").set_value("side").run()
    button(at, "Create task").click().run()
    assert "4 strata" in at.error[0].value


def test_codes_keep_their_places_from_item_to_item(task: TaskRecord, filled_store: Store, open_page: Open) -> None:
    places = []
    for item in items_of(filled_store, task, "ada"):
        opened = work.open_item(filled_store, item.id)
        at = open_page("code", person="ada", **codebook_view.item_view(opened))
        held = at.session_state[f"code_state_{opened.labelling.id}"]
        ids = np.array(sentence_ids(filled_store, [item]))
        places.append([column["name"] for column in columns_data(held, ids)["columns"]])
        work.finish_item(filled_store, item.id)
    assert places[0][0] == "Unassigned" and len(places) == 3 and places[0] == places[1] == places[2]


def test_a_sampled_sentence_has_its_neighbours_in_the_article_and_a_row_of_a_list_none(filled_store: Store) -> None:
    with filled_store.reading() as r:
        article = r.corpora.articles(1)[0]
        first, second, third, *_ = r.corpora.sentences(article.id)
    assert neighbours_in_text(second, 1) == [first.text, third.text]
    assert neighbours_in_text(first, 1) == ["", second.text]
    rows = add_corpus(filled_store, "rows", articles=1)
    add_columns(filled_store, rows.id)
    with filled_store.reading() as r:
        (_, row, *_) = r.corpora.sentences(r.corpora.articles(rows.id)[0].id)
    assert neighbours_in_text(row, rows.id) == ["", ""]


def sentence_ids(store: Store, items: list[ItemRecord]) -> list[int]:
    with store.reading() as r:
        return [s.id for item in items for s in making.sentences_of_item(r, item.range)]


def test_progress_checks_and_routing(task: TaskRecord, filled_store: Store, open_page: Open) -> None:
    finish(filled_store, task, "ada", 0)
    finish(filled_store, task, HOSTILE, 2)
    at = open_page("tasks", person="ada", view=tasks.ALL)
    assert not at.exception
    progress = at.dataframe[0].value.set_index("Person")
    assert progress.loc["ada", "Items"] == "3 of 3" and progress.loc[HOSTILE, "Remaining"] == "done"
    assert at.dataframe[1].value["Agreement over time"].tolist() == ["3 items, too few"] * 2
    assert "this person has every item" in words_of(at).replace("\\", "")
    at.text_input(key="tasks_reassign_name").set_value("eve").run()
    at.button(key="tasks_reassign_add").click().run()
    at.selectbox(key="tasks_route_person").set_value("eve").run()
    at.number_input(key="tasks_route_most").set_value(1).run()
    at.button(key="tasks_route_send").click().run()
    assert not at.exception and "1 item given to eve" in words_of(at)
    with filled_store.reading() as r:
        (item,) = r.tasks.items(task.id, "eve")
        assert item.range == r.tasks.items(task.id, "ada")[0].range
    agreement = open_page("agreement", person="ada", scope="Task: pilot")
    assert not agreement.exception
    assert "taken to be equally reliable" in words_of(agreement)
    disputed = next(d.value for d in agreement.dataframe if "Most probable" in d.value)
    assert len(disputed) == 2 and disputed["Probability"].between(0, 1).all()


def test_a_labelling_with_open_items_does_not_count_for_agreement(
    task: TaskRecord, filled_store: Store, open_page: Open
) -> None:
    finish(filled_store, task, "ada", 1)
    finish(filled_store, task, HOSTILE, 2)
    with filled_store.writing() as w:
        w.tasks.reopen(w.tasks.items(task.id, HOSTILE)[-1].id)
    at = open_page("agreement", person="ada", scope="Task: pilot")
    assert at.multiselect[0].value == ["pilot · ada"] and "1 of 3 items of its task are open" in words_of(at)
    with filled_store.writing() as w:
        w.tasks.close(task.id, True)
    at = open_page("agreement", person="ada", scope="Task: pilot")
    assert len(at.multiselect[0].value) == 2 and "Left out" not in words_of(at)


def test_a_done_item_can_be_taken_back(task: TaskRecord, filled_store: Store, open_page: Open) -> None:
    finish(filled_store, task, "ada", 0)
    at = open_page("tasks", person="ada")
    assert "All items are done" in words_of(at)
    button(at, "Not done yet").click().run()
    assert not at.exception and not at.error
    assert items_of(filled_store, task, "ada")[0].state is ItemState.STARTED
    assert [b.label for b in at.button if b.label == "Continue"] == ["Continue"]


def test_others_see_progress_but_change_nothing(task: TaskRecord, filled_store: Store, open_page: Open) -> None:
    for name, role in (("ada", Role.ADMIN), ("lea", Role.LABELLER), ("val", Role.VIEWER)):
        people.set_role(filled_store, name, role)
    for name in ("lea", "val"):
        at = open_page("tasks", person=name, view=tasks.ALL)
        assert not at.exception and len(at.dataframe) == 1
        assert not {b.label for b in at.button} & {"Close task", "Give", "Give these items", "Delete task …"}
        assert tasks.NEW not in [tab.label for tab in at.tabs]


def test_the_bar_in_relabel_is_about_the_item_that_is_shown(
    task: TaskRecord, filled_store: Store, open_page: Open
) -> None:
    first, second, _ = items_of(filled_store, task, "ada")
    work.open_item(filled_store, first.id)
    opened = work.open_item(filled_store, second.id)
    uncode(filled_store, opened, second)
    view = {"surface": "Code", "labelling": opened.labelling.name, "filter": "Selection"}
    at = open_page("code", person="ada", selection=str(opened.selection_id), **view)
    held = at.session_state[f"code_state_{opened.labelling.id}"]
    assert held.heading.startswith("item 2 of 3")
    skip(at, second, "one has no section")
    states = [item.state for item in items_of(filled_store, task, "ada")]
    assert states == [ItemState.STARTED, ItemState.DONE, ItemState.OPEN]


def test_an_item_with_a_change_that_is_not_saved_is_not_done(
    task: TaskRecord, filled_store: Store, open_page: Open
) -> None:
    first = items_of(filled_store, task, "ada")[0]
    opened = work.open_item(filled_store, first.id)
    uncode(filled_store, opened, first)
    view = {"surface": "Code", "labelling": opened.labelling.name, "filter": "Selection"}
    at = open_page("code", person="ada", selection=str(opened.selection_id), **view)
    editing = at.session_state[f"code_state_{opened.labelling.id}"]
    editing.unsaved = Unsaved(ShownChange(lambda p: op.unassign(p, p.ids[:1])), "no answer")
    skip(at, first, "one has no section")
    assert items_of(filled_store, task, "ada")[0].state is ItemState.STARTED
    assert "Your last change is not saved" in words_of(at) and editing.unsaved is not None


def test_checks_are_made_anew_when_items_are_given_away(
    task: TaskRecord, filled_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    monkeypatch.setattr(checks, "checks", lambda store, id: made.append(id) or [])
    items = items_of(filled_store, task, "ada")
    given, done = replace(items[0], person="eve"), replace(items[0], done=task.created)
    for first in (items[0], items[0], given, done):
        overview.checks_of(Task(task, (), (first, *items[1:])))
    assert len(made) == 3
