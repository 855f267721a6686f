"""The Tasks page, and tasks on the Agreement page."""

from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.db.texts import add_corpus, add_list
from tests.jobs.helpers import finish_item, open_item, sentences_of_item
from tests.webapp.columned import SIDE, add_columns
from tests.webapp.filled import HOSTILE, of_sections
from tests.webapp.hands import Open, press, words_of
from themescope.core.labelling import operations as op
from themescope.core.labelling.provenance import Allocation
from themescope.core.labelling.task_items import DistributionPlan
from themescope.core.records.stored import Role
from themescope.db.records import ItemRecord, TaskRecord
from themescope.db.store import Store
from themescope.jobs.services import people
from themescope.jobs.services import tasks as work
from themescope.jobs.services.labelling import agreement as checks
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.webapp.features import tasks
from themescope.webapp.features.coding.queries import neighbours_in_text
from themescope.webapp.features.tasks import overview
from themescope.webapp.shared.labelling import Task


@pytest.fixture
def task(filled_store: Store) -> TaskRecord:
    """All articles by Ada and a person with a hostile name, in whole articles, from the sections."""
    plan = DistributionPlan(("ada", HOSTILE), 1.0, 2)
    made = work.TaskForm(1, "pilot", "ada", (1, 2, 3), plan, instructions=HOSTILE, start=work.START_SECTIONS)
    return work.make(filled_store, made)


def items_of(store: Store, task: TaskRecord, person: str) -> list[ItemRecord]:
    with store.reading() as r:
        return r.tasks.items(task.id, person)


def finish(store: Store, task: TaskRecord, person: str, moved: int, left: int = 0) -> None:
    """Finish the items of a person but the last ``left``, with some sentences of the first article moved."""
    items = items_of(store, task, person)
    for place, item in enumerate(items[: len(items) - left]):
        opened = open_item(store, item.id)
        if not place:
            session = LabellingSession(store, opened.id, person)
            ids = session.partition.members(2)[:moved]
            session.do(op.assign(session.partition, np.sort(ids), 3))
        finish_item(store, item.id)


def form(open_page: Open, corpus: str = "") -> AppTest:
    at = open_page("tasks", person="ada", view=tasks.NEW, **({"corpus": corpus} if corpus else {}))
    at.text_input(key="tasks_form_name").set_value("first task")
    return at.multiselect(key="tasks_form_people").set_value(["ada"]).run()


def made_by(store: Store, at: AppTest) -> tuple[TaskRecord, list[ItemRecord]]:
    press(at, "Create task")
    assert not at.error and "first task was created" in words_of(at)
    with store.reading() as r:
        (made,) = r.tasks.list()
        return made, r.tasks.items(made.id)


def test_six_fields_give_the_same_blind_random_units_to_everybody(filled_store: Store, open_page: Open) -> None:
    record = of_sections(filled_store, "mine", "ada")
    at = form(open_page)
    assert at.selectbox(key="tasks_form_start").value == "Codebook of mine"
    at.multiselect(key="tasks_form_people").set_value(["ada", " Jose\u0301  B"])
    at.number_input(key="tasks_form_units").set_value(4).run()
    made, items = made_by(filled_store, at)
    assert made.person == "ada" and made.blind and made.settings["start_id"] == record.id
    assert {item.person for item in items} == {"ada", "Jos\u00e9 B"}, "as people sign in"
    assert len(items) == 8 and len({item.range for item in items}) == 4
    at = open_page("tasks", person="ada", task="first task")
    assert "4 of 72 units at random" in words_of(at).replace("\\", "")
    id = work.begin_labelling(filled_store, made.id, "ada")
    with filled_store.reading() as r:
        names = [cluster.name for cluster in r.labellings.clusters(id).values()]
        assert names == [cluster.name for cluster in r.labellings.clusters(record.id).values()]


@pytest.mark.parametrize("waves", [(), ("wave 1", "Autumn")])
def test_a_list_is_coded_by_waves_and_samples(waves: tuple[str, ...], filled_store: Store, open_page: Open) -> None:
    corpus = add_list(filled_store, waves=waves)
    at = form(open_page, corpus.name)
    what = at.selectbox(key="tasks_form_articles")
    assert what.options == [overview.SAMPLED, overview.EVERY, *([overview.WAVES] if waves else [])]
    if waves:
        what.set_value(overview.WAVES).run()
        at.multiselect(key="tasks_form_waves").select("Autumn").run()
        _, (item,) = made_by(filled_store, at)
        with filled_store.reading() as r:
            assert r.corpora.articles_by_id([item.article_id])[item.article_id].title == "file 1"


def test_a_sample_is_stratified_restricted_and_not_too_large(filled_store: Store, open_page: Open) -> None:
    add_columns(filled_store)
    at = form(open_page)
    at.number_input(key="tasks_form_units").set_value(3)
    at.selectbox(key="tasks_form_strata").set_value("side").run()
    press(at, "Create task")
    assert "4 strata" in at.error[0].value
    at.number_input(key="tasks_form_units").set_value(9)
    at.selectbox(key="tasks_form_where").set_value("side").run()
    at.selectbox(key="tasks_form_allocation").set_value(Allocation.EQUAL)
    at.multiselect(key="tasks_form_values_side").set_value([SIDE[0], SIDE[2]]).run()
    made_by(filled_store, at)
    (table,) = [d.value for d in open_page("tasks", person="ada", task="first task").dataframe if "Drawn" in d.value]
    drawn = dict(zip(table["side"], table["Drawn"], strict=True))
    assert sorted(drawn.values()) == [4, 5] and {*drawn} == {SIDE[0], SIDE[2]}


def test_a_sampled_sentence_has_its_neighbours_in_the_article_and_a_row_of_a_list_none(filled_store: Store) -> None:
    with filled_store.reading() as r:
        article = r.corpora.articles(1)[0]
        first, second, third, *_ = r.corpora.sentences(article.id)
    assert neighbours_in_text([second, first], 1) == [(first.text, third.text), ("", second.text)]
    rows = add_corpus(filled_store, "rows", articles=1)
    add_columns(filled_store, rows.id)
    with filled_store.reading() as r:
        (_, row, *_) = r.corpora.sentences(r.corpora.articles(rows.id)[0].id)
    assert neighbours_in_text([row], rows.id) == [("", "")]


def test_others_see_progress_and_checks_only(task: TaskRecord, filled_store: Store, open_page: Open) -> None:
    finish(filled_store, task, "ada", 0)
    finish(filled_store, task, HOSTILE, 2)
    at = open_page("tasks", person="ada", task="pilot")
    progress = at.dataframe[0].value.set_index("Person")
    assert progress.loc["ada", "Units"] == "72 of 72" and progress.loc[HOSTILE, "Remaining"] == "done"
    agreement = open_page("agreement", person="ada", scope="Task: pilot")
    disputed = next(d.value for d in agreement.dataframe if "Most probable" in d.value)
    assert len(disputed) == 2
    for name, role in (("ada", Role.ADMIN), ("lea", Role.LABELLER), ("val", Role.VIEWER)):
        people.set_role(filled_store, name, role)
    for name in ("lea", "val"):
        at = open_page("tasks", person=name, task="pilot")
        assert len(at.dataframe) == 1 and not {b.label for b in at.button} & {"⋯", "Give", "Give these items"}
        assert tasks.NEW not in [b.label for b in open_page("tasks", person=name).button]


def test_codings_with_open_items_do_not_count_yet(task: TaskRecord, filled_store: Store, open_page: Open) -> None:
    finish(filled_store, task, "ada", 1)
    finish(filled_store, task, HOSTILE, 2, left=1)
    at = open_page("agreement", person="ada", scope="Task: pilot")
    assert at.multiselect[0].value == ["pilot · ada"] and "1 of 3 items of its task are open" in words_of(at)
    with filled_store.writing() as w:
        w.tasks.close(task.id, True)
    at = open_page("agreement", person="ada", scope="Task: pilot")
    assert len(at.multiselect[0].value) == 2 and "Left out" not in words_of(at)


def test_the_list_counts_what_has_a_code(task: TaskRecord, filled_store: Store, open_page: Open) -> None:
    finish(filled_store, task, "ada", 0)
    at = open_page("tasks", person="ada")
    assert not [b for b in at.button if b.label in ("Start", "Continue", "Close task")]
    first, *_ = items_of(filled_store, task, "ada")
    with filled_store.reading() as r:
        (labelling,) = r.labellings.list()
        ids = [sentence.id for sentence in sentences_of_item(r, first.range)]
    session = LabellingSession(filled_store, labelling.id, "ada")
    session.do(op.unassign(session.partition, np.array(ids[:1])))
    at = open_page("tasks", person="ada")
    assert {"Continue", "New task"} <= {b.label for b in at.button}
    press(at, "Details")
    assert "48 of 144 units" in words_of(at), "an item with a unit without a code is not done"
    session.undo()
    finish(filled_store, task, HOSTILE, 0)
    press(open_page("tasks", person="ada"), "Close task")
    with filled_store.reading() as r:
        assert r.tasks.get(task.id).closed


def test_checks_follow_items_given_away(task: TaskRecord, filled_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    monkeypatch.setattr(checks, "checks", lambda store, id: made.append(id) or [])
    items = items_of(filled_store, task, "ada")
    given, done = replace(items[0], person="eve"), replace(items[0], done=task.created)
    for first in (items[0], items[0], given, done):
        overview.checks_of(Task(task, (), (first, *items[1:])))
    assert len(made) == 3
