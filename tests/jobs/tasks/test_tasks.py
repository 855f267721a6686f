"""Tasks from making to checks: items, rights, labellings of people, progress and gold items."""

import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from tests.db.texts import add_corpus, add_list
from tests.jobs.helpers import finish_item, open_item, partition_of, sentences_of_item
from themescope.core.errors import AccessError, DataError, DuplicateNameError, StoreError
from themescope.core.labelling import operations as op
from themescope.core.labelling.codebook import operations as book
from themescope.core.labelling.codebook.entries import CodebookEntry, entry_of
from themescope.core.labelling.consensus import CodeModel
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.labelling.task_items import DistributionPlan, Order
from themescope.core.records.stored import LabellingRecord, Role, Sharing
from themescope.core.types import Ids
from themescope.db.records import ItemRecord, ItemState, NewItem, NewLabelling, Reason, TaskRecord
from themescope.db.store import Store
from themescope.jobs.common.labelled import judged_sentences, placed_sentences
from themescope.jobs.services import people, tasks
from themescope.jobs.services.labelling import agreement, starts
from themescope.jobs.services.labelling.agreement import coded_text, from_adjudication
from themescope.jobs.services.labelling.codebook import facts_of, methods_section
from themescope.jobs.services.labelling.files import HEADER, rows
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


def ids_of(store: Store, item: ItemRecord) -> Ids:
    with store.reading() as r:
        return np.array([s.id for s in sentences_of_item(r, item.range)])


def label(store: Store, person: str, labelling: int, item: ItemRecord, wrong: int = 0) -> None:
    """Put every sentence of an item to its section, the first ``wrong`` ones to another one."""
    session = LabellingSession(store, labelling, person)
    for sentence in ids_of(store, item)[:wrong]:
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


def test_members_of_a_blind_task_see_no_labelling_of_others_until_its_end(sqlite_store: Store, corpus: int) -> None:
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
        w.tasks.close(task.id, True)
    assert hidden_from(sqlite_store, "ben") == frozenset(), "nobody labels in a closed task"
    work_through(sqlite_store, made(sqlite_store, corpus, name="not blind"), "ada")
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
    partition = partition_of(sqlite_store, opened.id)
    assert {cluster.name for cluster in partition.clusters.values()} == {"Introduction", "Heading 1", "Heading 2"}
    assert open_item(sqlite_store, item.id) == opened
    with sqlite_store.reading() as r:
        assert not len(placed_sentences(r, opened, partition)), "nothing was judged yet"
    finish_item(sqlite_store, item.id)
    with sqlite_store.reading() as r:
        judged = placed_sentences(r, opened, partition)
        assert judged.tolist() == ids_of(sqlite_store, item).tolist()
    with sqlite_store.writing() as w:
        w.labellings.delete(opened.id, "ada")
    with pytest.raises(DataError, match="was deleted"):
        tasks.begin_labelling(sqlite_store, task.id, "ada")
    with pytest.raises(DataError, match="not a member"):
        tasks.begin_labelling(sqlite_store, task.id, "zoe")


@pytest.mark.parametrize(
    ("kind", "gold", "codes", "placed"),
    [
        (tasks.START_NOTHING, False, 0, False),
        (tasks.START_CLUSTERS, False, 3, False),
        (tasks.START_LABELLING, False, 3, True),
        (tasks.START_LABELLING, True, 3, False),  # gold labels are hidden from people who begin with them
    ],
)
def test_what_to_begin_with(sqlite_store: Store, corpus: int, kind: str, gold: bool, codes: int, placed: bool) -> None:
    new = NewLabelling(corpus, "codes", "ada", Sharing.GOLD if gold else Sharing.OWN)
    whole = starts.begin(sqlite_store, new, starts.from_sections)
    task = made(sqlite_store, corpus, start=kind, start_id=whole.id, gold_id=whole.id if gold else None)
    found = partition_of(sqlite_store, tasks.begin_labelling(sqlite_store, task.id, "ben"))
    assert len(found.clusters) == codes and (found.numbers == UNASSIGNED).all() != placed


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
    found = entry_of(partition_of(sqlite_store, tasks.begin_labelling(sqlite_store, task.id, "ben")), 1)
    assert (found.examples, found.counter_examples) == ((), (first,))


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
    with pytest.raises(StoreError, match="closed"):
        finish_item(sqlite_store, open_ones[0].id)
    with sqlite_store.writing() as w:
        w.tasks.close(task.id, False)
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


def test_gold_labellings_begin_with_the_codes_of_one_or_of_the_majority(sqlite_store: Store, corpus: int) -> None:
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
    state, right = partition_of(sqlite_store, record.id), partition_of(sqlite_store, first)
    names = [state.clusters[int(n)].name for n in state.numbers]
    assert names == [right.clusters[int(n)].name for n in right.numbers]
    one = starts.begin(sqlite_store, replace(new, name="of one"), from_adjudication([first]))
    state, own = partition_of(sqlite_store, one.id), partition_of(sqlite_store, first)
    assert (state.numbers == own.numbers).all() and not state.uncertain.any()


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
    ids = ids_of(sqlite_store, first)
    session.do(op.create(session.partition, 1, "one", ids[:10]))
    session.do(op.none_fits(session.partition, ids[10:11]))
    session.do(op.note(session.partition, ids[11:], "cut in the middle"))
    finish_item(sqlite_store, first.id)

    def items() -> list[ItemRecord]:
        with sqlite_store.reading() as r:
            return tasks.items_of(r, task.id)

    def done() -> list[bool]:
        return [item.done is not None for item in items()][:2]

    assert done() == [True, False]
    assert [session.partition.notes[int(id)] for id in ids[10:]] == [op.NONE_FITS, "cut in the middle"]
    session.do(op.assign(session.partition, ids[10:11], 1))
    assert int(ids[10]) not in session.partition.notes, "a code fits now"
    session.do(op.unassign(session.partition, ids[:1]))
    assert done() == [False, False] and tasks.progress(["ada"], items())[0].done == 0
    session.undo()
    assert done() == [True, False]


# --- the methods section agrees with the store ------------------------------------------------------------------------


@pytest.fixture
def labelled(sqlite_store: Store, corpus: int) -> tuple[Store, list[int]]:
    """Two people who did a task with gold items, and their adjudicated labelling."""
    gold = starts.begin(sqlite_store, NewLabelling(corpus, "right", "ada", Sharing.GOLD), starts.from_sections)
    task = made(sqlite_store, corpus, people=("ada", "ben"), gold_id=gold.id, gold_share=0.2)
    ids = [work_through(sqlite_store, task, "ada"), work_through(sqlite_store, task, "ben", wrong=1)]
    session = LabellingSession(sqlite_store, ids[0], "ada")
    session.do(op.rename(session.partition, 1, "Lead"))
    session.undo()
    adjudicated = NewLabelling(corpus, "final", "ada", Sharing.GOLD)
    starts.begin(sqlite_store, adjudicated, from_adjudication(ids, placed_only=True, gold_id=gold.id))
    return sqlite_store, ids


def test_facts_are_those_of_the_store(labelled: tuple[Store, list[int]]) -> None:
    store, ids = labelled
    facts = facts_of(store, ids)
    with store.reading() as r:
        steps = [step for id in ids for step in r.label_steps.list(id)]
        gold = r.labellings.by_name("final")
        items = r.tasks.items(r.tasks.list()[0].id)
    assert (facts.corpus, facts.articles, facts.sentences) == ("demo", 10, 120)
    assert (facts.labellings, facts.people, facts.judged) == (2, 2, 120)
    assert sum(facts.steps.values()) == len(steps) - 2 and facts.undone == 1
    assert facts.first == min(step.when.date() for step in steps)
    (task,) = facts.tasks
    assert (task.items, task.people, task.shared, task.gold) == (10, 2, 8, 2)
    assert len({item.range for item in items}) == task.items
    coding = facts.coding
    assert coding is not None and coding.alpha.estimate is not None and 0 < coding.alpha.estimate.value < 1
    assert coding.over == "texts" and not facts.alpha and not facts.pairs, "both began with the same sections"
    assert facts.reliability is not None and facts.reliability.people == 2
    (adjudication,) = facts.adjudications
    assert adjudication.sentences == gold.sentences and adjudication.method == "majority of each code"
    (start,) = facts.starts
    assert (start.kind, start.labellings) == ("sections", 2)


def test_every_number_of_the_text_is_a_fact(labelled: tuple[Store, list[int]]) -> None:
    store, ids = labelled
    facts, section = facts_of(store, ids), methods_section(store, ids)
    body = section.split("## References")[0].replace(facts.version, "").replace("95 %", "").replace("(80%)", "")
    body = re.sub(r"\([A-Z][^()]* (19|20)\d\d\)", "", body)
    coding = facts.coding
    assert coding is not None
    known = {f"{coding.sentences:,}", f"{coding.observed:.0%}".rstrip("%")}
    known |= {f"{value:,}" for value in (facts.articles, facts.sentences, facts.labellings, facts.people, facts.judged)}
    known |= {f"{value:,}" for value in (*facts.steps.values(), sum(facts.steps.values()), facts.undone, 8, 2, 10)}
    known |= {part for day in (facts.first, facts.last) for part in str(day).split("-")}
    estimates = [one for ends in facts.reliability.rates.values() for one in ends] if facts.reliability else []
    coefficients = [coding.alpha, coding.kappa, *(code.kappa for code in coding.codes)]
    estimates += [found.estimate for found in coefficients if found.estimate is not None]
    known |= {f"{value:.3f}" for e in estimates for value in (e.value, e.low, e.high)}
    known |= {f"{n:,}" for made in facts.adjudications for n in (made.sentences, made.left_open)}
    known |= {str(task.seed) for task in facts.tasks}
    numbers = set(re.findall(r"\d[\d,.]*\d|\d", body))
    assert numbers <= known, numbers - known
    assert "\\cite{dawid1979}" in methods_section(store, ids, "latex")
    assert "@article{dawid1979" in methods_section(store, ids, "bibtex")


# --- gold labellings of two coders who used one codebook: 60 sentences, 4 codes, 10 disagreements ---------------------

CODES = ("Boarding", "Delays", "Luggage", "Staff")
N, DISPUTED = 60, 10
CODERS = ("Anna", "Ben")


def task_of_two(store: Store) -> list[LabellingRecord]:
    """The labellings of a task that begins with a codebook; Ben gives the first ten sentences the next code."""
    corpus = add_list(store, waves=("first", "second"))
    with store.reading() as r:
        ids = r.corpora.sentence_ids(corpus.id)
    assert len(ids) == N
    begin = starts.from_labels(ids[:4], np.arange(4), dict(enumerate(CODES)), {"from": "table"})
    codes = LabellingSession(store, starts.begin(store, NewLabelling(corpus.id, "Codes", "Anna"), begin).id, "Anna")
    codes.do(book.write(codes.partition, 2, CodebookEntry(definition="Late or cancelled")))
    with store.reading() as r:
        articles = tuple(article.id for article in r.corpora.articles(corpus.id))
    form = TaskForm(
        corpus.id, "Pilot", "Anna", articles, DistributionPlan(CODERS, 1.0, 2),
        start=tasks.START_CLUSTERS, start_id=codes.record.id,
    )  # fmt: skip
    task = tasks.make(store, form)
    made = []
    for person in CODERS:
        session = LabellingSession(store, tasks.begin_labelling(store, task.id, person), person)
        codes_of = np.arange(N) % 4
        codes_of[:DISPUTED] = (codes_of[:DISPUTED] + (person == "Ben")) % 4
        for code in range(4):
            session.do(op.assign(session.partition, ids[codes_of == code], code + 1))
        with store.reading() as r:
            items = r.tasks.items(task.id, person)
        for item in items:
            open_item(store, item.id)
            finish_item(store, item.id)
        made.append(session.record)
    return made


@pytest.fixture
def coders(sqlite_store: Store) -> list[LabellingRecord]:
    return task_of_two(sqlite_store)


def gold_of(store: Store, coders: list[LabellingRecord]) -> LabellingSession:
    new = NewLabelling(coders[0].corpus_id, "Gold", "Anna", Sharing.GOLD)
    begin = agreement.from_adjudication([record.id for record in coders], placed_only=True)
    return LabellingSession(store, starts.begin(store, new, begin).id, "Anna")


def coders_of(store: Store, record: LabellingRecord) -> list[tuple[str, str]]:
    """Code and coder of every exported row."""
    columns = [HEADER.index(name) for name in ("cluster", "coder")]
    return [(str(row[columns[0]]), str(row[columns[1]])) for row in rows(store, record.id)]


def test_disputed_units_are_open_until_one_key_settles_them(sqlite_store: Store, coders: list[LabellingRecord]) -> None:
    session = gold_of(sqlite_store, coders)
    state = session.partition
    assert [cluster.name for _, cluster in sorted(state.clusters.items())] == [*CODES], "in the codebook's order"
    assert entry_of(state, 2).definition == "Late or cancelled"
    disputed = np.arange(N) < DISPUTED
    assert (state.numbers[disputed] == UNASSIGNED).all() and (state.uncertain == disputed).all()
    assert state.numbers[~disputed].tolist() == (np.arange(N) % 4 + 1)[DISPUTED:].tolist()
    assert [state.notes[int(id)] for id in state.ids[:2]] == [
        "Anna: Boarding · Ben: Delays", "Anna: Delays · Ben: Luggage",
    ]  # fmt: skip
    assert len(state.notes) == DISPUTED
    # One key settles a disputed unit, which takes part in learning and has its coder in the export.
    step = session.do(op.assign(session.partition, session.partition.ids[:1], 3))
    assert step is not None and not session.partition.uncertain[0]
    with sqlite_store.reading() as r:
        assert len(judged_sentences(r, session.record, session.partition)) == N - DISPUTED + 1
    made = coders_of(sqlite_store, session.record)
    assert made[:2] == [("Luggage", "Anna"), ("", "")]
    assert Counter(coder for _, coder in made[DISPUTED:]) == {"Anna, Ben": N - DISPUTED}
    session.undo()
    assert session.partition.uncertain[0] and session.partition.numbers[0] == UNASSIGNED


def test_of_three_coders_those_of_the_majority_are_named(sqlite_store: Store, coders: list[LabellingRecord]) -> None:
    """Eve has a code of her own beside those of the codebook, and then agrees with Ben on all other sentences."""
    begin = starts.from_labelling(coders[1].id)
    eve = starts.begin(sqlite_store, NewLabelling(coders[0].corpus_id, "Eve", "Eve"), begin)
    session = LabellingSession(sqlite_store, eve.id, "Eve")
    ids, numbers = session.partition.ids, session.partition.numbers.copy()
    session.do(op.create(session.partition, session.next_number, "Own", ids[:1]))
    state = gold_of(sqlite_store, [*coders, session.record]).partition
    assert [cluster.name for _, cluster in sorted(state.clusters.items())] == [*CODES, "Own"]
    assert state.uncertain.sum() == DISPUTED, "she judged one sentence only"
    session.do(op.unassign(session.partition, ids[1:]))
    for number in range(1, 5):
        session.do(op.assign(session.partition, ids[1:][numbers[1:] == number], number))
    gold = gold_of(sqlite_store, [*coders, session.record])
    state = gold.partition
    assert [cluster.name for _, cluster in sorted(state.clusters.items())] == [*CODES, "Own"]
    assert state.uncertain.tolist() == [True] + [False] * (N - 1)
    assert state.notes[int(ids[0])] == "Anna: Boarding · Ben: Delays · Eve: Own"
    made = coders_of(sqlite_store, gold.record)
    assert {coder for _, coder in made[1:DISPUTED]} == {"Ben, Eve"}
    assert {coder for _, coder in made[DISPUTED:]} == {"Anna, Ben, Eve"}


def test_reliability_of_two_coders_of_the_same_units(sqlite_store: Store, coders: list[LabellingRecord]) -> None:
    with sqlite_store.reading() as r:
        text = coded_text(r, coders)
    found = agreement.adjudicated(
        [coder.judged for coder in text.coders], text.articles, [coder.names for coder in text.coders]
    )
    model = found.model
    assert isinstance(model, CodeModel) and model.shared == (N, N) and "two people alone" in model.equal_because
    first, second = model.accuracy
    assert first == second and first is not None and first.low < first.value < first.high
    right = first.value
    assert right**2 + (1 - right) ** 2 / 3 == pytest.approx(50 / 60, abs=0.03), "the share of equal codes"
    assert found.differ.sum() == found.unclear.sum() == DISPUTED
    assert all(found.names[int(code)] in CODES for code in found.labels)
    assert (found.certainty[~found.differ] > 0.9).all() and (found.certainty[found.differ] > 0.4).all()
    told = methods_section(sqlite_store, [record.id for record in coders])
    assert "For 2 people, all taken to be equally reliable" in told and f"{right:.3f}" in told
    gold_of(sqlite_store, coders)
    again = methods_section(sqlite_store, [record.id for record in coders])
    assert f"{DISPUTED} units without one began open" in again
