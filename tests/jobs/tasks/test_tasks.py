"""Tasks from making to checks: items, rights, labellings of people, progress and gold items."""

from concurrent.futures import ThreadPoolExecutor, wait
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from tests.db.texts import add_corpus
from tests.jobs.helpers import finish_item, open_item, sentences_of_item
from themescope.core.errors import AccessError, DataError, DuplicateNameError, StoreError
from themescope.core.labelling import operations as op
from themescope.core.labelling.codebook import operations as book
from themescope.core.labelling.codebook.entries import CodebookEntry, entry_of
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.labelling.task_items import DistributionPlan, Order
from themescope.core.records.stored import Role, Sharing
from themescope.db.records import ItemRecord, ItemState, NewItem, NewLabelling, Reason, TaskRecord
from themescope.db.store import Store
from themescope.jobs.common.labelled import placed_sentences
from themescope.jobs.services import people, tasks
from themescope.jobs.services.labelling import agreement, starts
from themescope.jobs.services.labelling.agreement import from_adjudication
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.tasks import TaskForm

PEOPLE = ("ada", "ben", "eve")


@pytest.fixture
def corpus(sqlite_store: Store) -> int:
    return add_corpus(sqlite_store, articles=10).id


def articles_of(store: Store, corpus: int) -> tuple[int, ...]:
    with store.reading() as r:
        return tuple(article.id for article in r.corpora.articles(corpus))


def made(store: Store, corpus: int, people: tuple[str, ...] = PEOPLE, share: float = 1.0, **more: object) -> TaskRecord:
    plan = DistributionPlan(people, share if len(people) > 1 else 0.0, 2, Order.GIVEN, 1)
    form = TaskForm(corpus, "pilot", "ada", articles_of(store, corpus), plan, start=tasks.START_SECTIONS)
    return tasks.make(store, TaskForm(**{**{f: getattr(form, f) for f in form.__slots__}, **more}))


def items_of(store: Store, task: TaskRecord, person: str | None = None) -> list[ItemRecord]:
    with store.reading() as r:
        return r.tasks.items(task.id, person)


def label(store: Store, person: str, labelling: int, item: ItemRecord, wrong: int = 0) -> None:
    """Put every sentence of an item to its section, the first ``wrong`` ones to another one."""
    session = LabellingSession(store, labelling, person)
    with store.reading() as r:
        ids = np.array([s.id for s in sentences_of_item(r, item.range)])
    for sentence in ids[:wrong]:
        number = int(session.partition.numbers[session.partition.rows([sentence])[0]])
        session.do(op.assign(session.partition, np.array([sentence]), number % 3 + 1))


def work_through(store: Store, task: TaskRecord, person: str, wrong: int = 0) -> int:
    """Open, label and finish all items of a person; return the labelling."""
    labelling = 0
    while (item := tasks.next_item(items_of(store, task, person))) is not None:
        labelling = open_item(store, item.id).id
        label(store, person, labelling, item, wrong)
        finish_item(store, item.id)
    return labelling


def hidden_from(store: Store, person: str) -> frozenset[int]:
    with store.reading() as r:
        return r.labellings.hidden_from(person)


def test_members_of_a_blind_task_see_no_labelling_of_others_until_it_is_closed(
    sqlite_store: Store, corpus: int
) -> None:
    task = made(sqlite_store, corpus, blind=True)
    adas = work_through(sqlite_store, task, "ada")
    other = add_corpus(sqlite_store, "other", articles=1).id
    elsewhere = starts.begin(sqlite_store, NewLabelling(other, "elsewhere", "ada"), starts.from_sections).id
    shared = NewLabelling(corpus, "Eve's", "eve", Sharing.SHARED, article_id=articles_of(sqlite_store, corpus)[0])
    by_eve = starts.begin(sqlite_store, shared, starts.from_sections).id
    assert hidden_from(sqlite_store, "ben") == {adas, by_eve}, "Ben has not begun"
    assert hidden_from(sqlite_store, "somebody else") == frozenset()
    bens = work_through(sqlite_store, task, "ben")
    assert adas in hidden_from(sqlite_store, "ben"), "Ben could read them, take his items back and change them"
    assert hidden_from(sqlite_store, "ada") == {bens, by_eve}
    assert {adas, bens} <= hidden_from(sqlite_store, "eve") and not {by_eve, elsewhere} & hidden_from(
        sqlite_store, "eve"
    )
    with sqlite_store.writing() as w:
        w.tasks.reopen(items_of(sqlite_store, task, "ben")[0].id)
    assert adas in hidden_from(sqlite_store, "ben")
    with sqlite_store.writing() as w:
        w.tasks.close(task.id, True)
    assert hidden_from(sqlite_store, "ben") == frozenset(), "nobody labels in a closed task"


def test_members_of_an_open_task_see_each_other(sqlite_store: Store, corpus: int) -> None:
    task = made(sqlite_store, corpus)
    work_through(sqlite_store, task, "ada")
    assert hidden_from(sqlite_store, "ben") == frozenset()


def test_articles_are_cut_into_items_that_people_share(sqlite_store: Store, corpus: int) -> None:
    task = made(sqlite_store, corpus, longest=5)
    items = items_of(sqlite_store, task)
    assert {item.sentences for item in items} == {4}  # 12 sentences in three equal parts
    assert len(items) == 10 * 3 * 2
    assert [item.person for item in items].count("ada") == 20
    with sqlite_store.reading() as r:
        assert [member.person for member in r.tasks.members(task.id)] == ["ada", "ben", "eve"]
        assert r.tasks.list(corpus) == [task] and r.tasks.list(corpus + 1) == []
    with pytest.raises(DuplicateNameError):
        made(sqlite_store, corpus)


def test_a_person_begins_with_an_own_labelling_of_the_sentences_of_the_task(sqlite_store: Store, corpus: int) -> None:
    task = made(sqlite_store, corpus, blind=True, articles=articles_of(sqlite_store, corpus)[:2])
    item = tasks.next_item(items_of(sqlite_store, task, "ada"))
    assert item is not None and item.state is ItemState.OPEN
    opened = open_item(sqlite_store, item.id)
    assert opened.owner == "ada" and opened.blind and opened.sentences == 24
    with sqlite_store.reading() as r:
        assert r.tasks.item(item.id).state is ItemState.STARTED
        assert r.tasks.of_labelling(opened.id) == (task, "ada")
        partition = r.labellings.snapshot(opened.id).partition
    assert {cluster.name for cluster in partition.clusters.values()} == {"Introduction", "Heading 1", "Heading 2"}
    assert open_item(sqlite_store, item.id) == opened
    with sqlite_store.reading() as r:
        assert not len(placed_sentences(r, opened, partition)), "nothing was judged yet"
    finish_item(sqlite_store, item.id)
    with sqlite_store.reading() as r:
        judged = placed_sentences(r, opened, partition)
        assert judged.tolist() == [s.id for s in sentences_of_item(r, item.range)]
    with sqlite_store.writing() as w:
        w.labellings.delete(opened.id, "ada")
    with pytest.raises(DataError, match="was deleted"):
        tasks.begin_labelling(sqlite_store, task.id, "ada")
    with pytest.raises(DataError, match="not a member"):
        tasks.begin_labelling(sqlite_store, task.id, "zoe")


@pytest.mark.parametrize("kind", [tasks.START_NOTHING, tasks.START_CLUSTERS, tasks.START_LABELLING])
def test_what_people_begin_with(sqlite_store: Store, corpus: int, kind: str) -> None:
    whole = starts.begin(sqlite_store, NewLabelling(corpus, "codes", "ada"), starts.from_sections)
    task = made(sqlite_store, corpus, start=kind, start_id=whole.id)
    labelling = tasks.begin_labelling(sqlite_store, task.id, "ben")
    with sqlite_store.reading() as r:
        found = r.labellings.snapshot(labelling).partition
    assert len(found.clusters) == (0 if kind == tasks.START_NOTHING else 3)
    assert (found.numbers == UNASSIGNED).all() == (kind != tasks.START_LABELLING)


@pytest.mark.parametrize("kind", [tasks.START_CLUSTERS, tasks.START_RUN])
def test_nobody_begins_with_what_was_deleted_or_in_a_closed_task(sqlite_store: Store, corpus: int, kind: str) -> None:
    task = made(sqlite_store, corpus, start=kind, start_id=999)
    with pytest.raises(DataError, match="begin with in the task 'pilot' was deleted"):
        tasks.begin_labelling(sqlite_store, task.id, "ben")
    with sqlite_store.writing() as w:
        w.tasks.close(task.id, True)
    with pytest.raises(StoreError, match="'pilot' is closed"):
        open_item(sqlite_store, items_of(sqlite_store, task, "ben")[0].id)
    with sqlite_store.reading() as r:
        assert r.labellings.list() == []


def test_examples_outside_of_the_task_leave_counter_examples_what_they_are(sqlite_store: Store, corpus: int) -> None:
    whole = starts.begin(sqlite_store, NewLabelling(corpus, "codes", "ada"), starts.from_sections)
    session, articles = LabellingSession(sqlite_store, whole.id, "ada"), articles_of(sqlite_store, corpus)
    with sqlite_store.reading() as r:
        first, last = (r.corpora.sentences(article)[0].id for article in (articles[0], articles[-1]))
    session.do(book.write(session.partition, 1, CodebookEntry(examples=(last,), counter_examples=(first,))))
    task = made(sqlite_store, corpus, articles=articles[:2], start=tasks.START_CLUSTERS, start_id=whole.id)
    labelling = tasks.begin_labelling(sqlite_store, task.id, "ben")
    with sqlite_store.reading() as r:
        found = entry_of(r.labellings.snapshot(labelling).partition, 1)
    assert (found.examples, found.counter_examples) == ((), (first,))


def test_gold_labels_are_hidden_from_people_who_begin_with_them(sqlite_store: Store, corpus: int) -> None:
    gold = starts.begin(sqlite_store, NewLabelling(corpus, "gold", "ada", Sharing.GOLD), starts.from_sections)
    task = made(sqlite_store, corpus, start=tasks.START_LABELLING, start_id=gold.id, gold_id=gold.id)
    labelling = tasks.begin_labelling(sqlite_store, task.id, "ben")
    with sqlite_store.reading() as r:
        assert (r.labellings.snapshot(labelling).partition.numbers == UNASSIGNED).all()


def test_who_may_do_what(sqlite_store: Store, corpus: int) -> None:
    for name, role in (("ada", Role.ADMIN), ("ben", Role.LABELLER), ("eve", Role.LABELLER), ("val", Role.VIEWER)):
        people.set_role(sqlite_store, name, role)
    ben, eve = (sqlite_store.by(lambda name=name: name) for name in ("ben", "eve"))
    with pytest.raises(AccessError):
        made(ben, corpus, person="ben")
    task = made(sqlite_store.by(lambda: "ada"), corpus)
    own = items_of(sqlite_store, task, "ben")[0]
    assert open_item(ben, own.id).owner == "ben"
    for write in (lambda: finish_item(eve, own.id), lambda: open_item(eve, own.id)):
        with pytest.raises(AccessError):
            write()
    for change in (
        lambda w: w.tasks.reassign(task.id, [own.id], "eve"),
        lambda w: w.tasks.close(task.id, True),
        lambda w: w.tasks.delete(task.id),
        lambda w: w.tasks.add_member(task.id, "zoe"),
    ):
        with pytest.raises(AccessError), eve.writing() as w:
            change(w)
    finish_item(ben, own.id)


def test_items_are_given_to_others_and_tasks_are_closed(sqlite_store: Store, corpus: int) -> None:
    task = made(sqlite_store, corpus)
    done, *open_ones = items_of(sqlite_store, task, "ada")
    open_item(sqlite_store, done.id)
    finish_item(sqlite_store, done.id)
    with sqlite_store.writing() as w:
        with pytest.raises(DataError, match="not a member"):
            w.tasks.reassign(task.id, [], "zoe")
        w.tasks.add_member(task.id, "zoe")
        assert w.tasks.reassign(task.id, [done.id, *(item.id for item in open_ones)], "zoe") == len(open_ones)
        known = {item.range for item in w.tasks.items(task.id, "ben")}
        theirs = [item for item in w.tasks.items(task.id, "zoe") if item.range in known]
        assert theirs and w.tasks.reassign(task.id, [item.id for item in theirs], "ben") == 0
        w.tasks.close(task.id, True)
    assert [item.id for item in items_of(sqlite_store, task, "ada")] == [done.id]
    assert [item.place for item in items_of(sqlite_store, task, "zoe")] == list(range(len(open_ones)))
    with pytest.raises(StoreError, match="closed"), sqlite_store.writing() as w:
        w.tasks.reopen(done.id)
    with sqlite_store.writing() as w:
        w.tasks.close(task.id, False)
        w.tasks.reopen(done.id)
        assert w.tasks.item(done.id).state is ItemState.STARTED
        w.tasks.delete(task.id)
        assert w.tasks.list() == [] and len(w.labellings.list()) == 1


def test_a_person_gets_the_same_sentences_once(sqlite_store: Store, corpus: int) -> None:
    task = made(sqlite_store, corpus, people=("ada", "ben"))
    ids = [item.id for item in items_of(sqlite_store, task)]
    with sqlite_store.writing() as w:
        w.tasks.add_member(task.id, "zoe")
        assert w.tasks.reassign(task.id, ids, "zoe") == 10
    given = [item.range for item in items_of(sqlite_store, task, "zoe")]
    assert len(given) == len({*given}) == 10 and len(items_of(sqlite_store, task)) == 20


def test_items_that_are_given_twice_at_the_same_time_are_given_once(store: Store) -> None:
    corpus = add_corpus(store, articles=3).id
    task = made(store, corpus, people=("ada",))
    new = [NewItem(*item.range, "zoe", Reason.ROUTING) for item in items_of(store, task)]

    def give() -> int:
        with store.writing() as other:
            return other.tasks.add_items(task.id, new)

    with ThreadPoolExecutor(1) as pool:
        with store.writing() as w:
            w.tasks.add_member(task.id, "zoe")
        with store.writing() as w:
            assert w.tasks.add_items(task.id, new) == 3
            waiting = pool.submit(give)
            wait([waiting], 0.5)
        assert waiting.result() == 0
    assert len(items_of(store, task, "zoe")) == 3


def test_progress_and_due_state(sqlite_store: Store, corpus: int) -> None:
    now = datetime(2026, 11, 25, 12, tzinfo=UTC)
    task = made(sqlite_store, corpus, due=now + timedelta(days=2))
    items = items_of(sqlite_store, task)
    assert tasks.due_state(task, items, now) == "due in 2 days"
    assert tasks.due_state(task, items, now + timedelta(days=1)) == "due in 1 day"
    assert tasks.due_state(task, items, now + timedelta(days=2)) == "due today"
    assert tasks.due_state(task, items, now + timedelta(days=3)) == "overdue"
    timed = [
        ItemRecord(item.id, 1, 1, 0, 9, "ada", place, Reason.DISTRIBUTION, now, now + timedelta(seconds=seconds))
        for place, (item, seconds) in enumerate(zip(items[:3], (20, 40, 90_000), strict=True))
    ]
    left = ItemRecord(9, 1, 1, 0, 19, "ada", 3, Reason.DISTRIBUTION, None, None)
    ada, ben = tasks.progress(["ada", "ben"], [*timed, left])
    assert (ada.items, ada.done, ada.sentences, ada.sentences_done) == (4, 3, 50, 30)
    assert ada.seconds_per_sentence == pytest.approx(3.0)  # the one that stayed open for a day does not count
    assert ada.remaining_s == pytest.approx(60.0)
    assert (ben.items, ben.remaining_s, ben.last) == (0, 0.0, None)
    assert tasks.due_state(task, timed, now) == "done"


def test_gold_items_are_checked(sqlite_store: Store, corpus: int) -> None:
    gold = starts.begin(sqlite_store, NewLabelling(corpus, "gold", "ada", Sharing.GOLD), starts.from_sections)
    task = made(sqlite_store, corpus, gold_id=gold.id, gold_share=1.0)
    assert {item.reason for item in items_of(sqlite_store, task)} == {Reason.GOLD}
    work_through(sqlite_store, task, "ada")
    work_through(sqlite_store, task, "ben", wrong=3)
    ada, ben = agreement.checks(sqlite_store, task.id).values()
    assert ada is not None and ada.value == 1.0 and ada.n == 120
    assert ben is not None and ben.value == pytest.approx(0.75)
    assert ben.low < 0.75 < ben.high


def test_right_codes_of_gold_items_are_told_once_their_item_is_done(sqlite_store: Store, corpus: int) -> None:
    gold = starts.begin(sqlite_store, NewLabelling(corpus, "gold", "ada", Sharing.GOLD), starts.from_sections)
    session = LabellingSession(sqlite_store, gold.id, "ada")
    chosen = session.partition.ids.tolist()
    session.do(book.choose_training(session.partition, map(str, range(len(chosen))), chosen, "by its section"))
    task = made(sqlite_store, corpus, gold_id=gold.id, gold_share=1.0, tell=True)
    first, *_ = items_of(sqlite_store, task, "ben")
    label(sqlite_store, "ben", open_item(sqlite_store, first.id).id, first, wrong=3)
    assert agreement.gold_answers(sqlite_store, task.id, "ben") == []
    finish_item(sqlite_store, first.id)
    told = agreement.gold_answers(sqlite_store, task.id, "ben")
    assert len(told) == 12 and sum(not answer.correct for answer in told) == 3
    assert all((answer.given == answer.right) == answer.correct for answer in told)
    assert {answer.explanation for answer in told} == {"by its section"}
    assert agreement.gold_answers(sqlite_store, task.id, "ada") == []
    quiet = made(sqlite_store, corpus, name="quiet", gold_id=gold.id, gold_share=1.0)
    work_through(sqlite_store, quiet, "ben")
    assert agreement.gold_answers(sqlite_store, quiet.id, "ben") == []


def test_a_gold_labelling_of_three_begins_with_the_majority(sqlite_store: Store, corpus: int) -> None:
    task = made(sqlite_store, corpus, people=("ada", "ben", "eve"))
    first = work_through(sqlite_store, task, "ada")
    second = work_through(sqlite_store, task, "ben")
    ranges = [{item.range for item in items_of(sqlite_store, task, person)} for person in ("ada", "eve")]
    contested = [item for item in items_of(sqlite_store, task, "ben") if all(item.range in held for held in ranges)]
    for item in contested[:4]:
        label(sqlite_store, "ben", second, item, wrong=3)
    third = work_through(sqlite_store, task, "eve")
    new = NewLabelling(corpus, "adjudicated", "ada", Sharing.GOLD)
    record = starts.begin(sqlite_store, new, from_adjudication([first, second, third], placed_only=True))
    assert record.origin["method"] == "majority of each code" and record.origin["open"] == 0
    with sqlite_store.reading() as r:
        state, right = (r.labellings.snapshot(id).partition for id in (record.id, first))
    names = [state.clusters[int(n)].name for n in state.numbers]
    assert names == [right.clusters[int(n)].name for n in right.numbers]


def test_people_are_forgotten_and_corpora_deleted_with_their_tasks(sqlite_store: Store, corpus: int) -> None:
    people.add(sqlite_store, "ben", Role.LABELLER, None)
    task = made(sqlite_store, corpus, instructions="Ask ben.")
    tasks.begin_labelling(sqlite_store, task.id, "ben")
    people.forget(sqlite_store, "ben")
    with sqlite_store.reading() as r:
        names = [member.person for member in r.tasks.members(task.id)]
        assert names == ["ada", "eve", "former-user-1"]
        assert len(r.tasks.items(task.id, "former-user-1")) > 0 and not r.tasks.items(task.id, "ben")
        assert r.tasks.get(task.id).instructions == "Ask former-user-1."
    with sqlite_store.writing() as w:
        w.corpora.delete(corpus)
        assert w.tasks.list() == [] and w.tasks.items(task.id) == []


def test_an_item_is_done_while_its_sentences_have_codes_or_reasons(sqlite_store: Store, corpus: int) -> None:
    task = made(sqlite_store, corpus, people=("ada",), start=tasks.START_NOTHING)
    first = items_of(sqlite_store, task, "ada")[0]
    session = LabellingSession(sqlite_store, open_item(sqlite_store, first.id).id, "ada")
    with sqlite_store.reading() as r:
        ids = np.array([s.id for s in sentences_of_item(r, first.range)])
    session.do(op.create(session.partition, 1, "one", ids[:10]))
    session.do(op.none_fits(session.partition, ids[10:11]))
    session.do(op.note(session.partition, ids[11:], "cut in the middle"))
    finish_item(sqlite_store, first.id)

    def done() -> list[bool]:
        with sqlite_store.reading() as r:
            return [item.done is not None for item in tasks.items_of(r, task.id)][:2]

    assert done() == [True, False]
    assert [session.partition.notes[int(id)] for id in ids[10:]] == [op.NONE_FITS, "cut in the middle"]
    session.do(op.assign(session.partition, ids[10:11], 1))
    assert int(ids[10]) not in session.partition.notes, "a code fits now"
    session.do(op.unassign(session.partition, ids[:1]))
    assert done() == [False, False] and tasks.progress(["ada"], work_items(sqlite_store, task))[0].done == 0
    session.undo()
    assert done() == [True, False]


def work_items(store: Store, task: TaskRecord) -> list[ItemRecord]:
    with store.reading() as r:
        return tasks.items_of(r, task.id)


def test_adjudication_of_one_person_counts_votes(sqlite_store: Store, corpus: int) -> None:
    one = starts.begin(sqlite_store, NewLabelling(corpus, "one", "ada"), starts.from_sections)
    gold = NewLabelling(corpus, "gold", "ada", Sharing.GOLD)
    record = starts.begin(sqlite_store, gold, from_adjudication([one.id]))
    with sqlite_store.reading() as r:
        state, own = (r.labellings.snapshot(labelling.id).partition for labelling in (record, one))
    assert (state.numbers == own.numbers).all() and not state.uncertain.any()
