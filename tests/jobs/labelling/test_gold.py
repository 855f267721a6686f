"""Gold labellings of two coders who used one codebook: 60 sentences, 4 codes, 10 disagreements."""

from collections import Counter

import numpy as np
import pytest

from tests.db.texts import add_list
from tests.jobs.helpers import finish_item, open_item
from themescope.core.labelling import operations as op
from themescope.core.labelling.codebook import operations as book
from themescope.core.labelling.codebook.entries import CodebookEntry, entry_of
from themescope.core.labelling.consensus import CodeModel
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.labelling.task_items import DistributionPlan
from themescope.core.records.stored import LabellingRecord, Sharing
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.common.labelled import judged_sentences
from themescope.jobs.services import tasks
from themescope.jobs.services.labelling import agreement, starts
from themescope.jobs.services.labelling.agreement import coded_text
from themescope.jobs.services.labelling.codebook import methods_section
from themescope.jobs.services.labelling.files import HEADER, rows
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.tasks import TaskForm

CODES = ("Boarding", "Delays", "Luggage", "Staff")
N, DISPUTED = 60, 10
PEOPLE = ("Anna", "Ben")


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
        corpus.id, "Pilot", "Anna", articles, DistributionPlan(PEOPLE, 1.0, 2),
        start=tasks.START_CLUSTERS, start_id=codes.record.id,
    )  # fmt: skip
    task = tasks.make(store, form)
    made = []
    for person in PEOPLE:
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


def test_gold_starts_from_the_codebook_and_leaves_disputed_units_open(
    sqlite_store: Store, coders: list[LabellingRecord]
) -> None:
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


def test_one_key_settles_a_disputed_unit_and_it_takes_part_in_learning(
    sqlite_store: Store, coders: list[LabellingRecord]
) -> None:
    session = gold_of(sqlite_store, coders)
    first = session.partition.ids[:1]
    step = session.do(op.assign(session.partition, first, 3))
    assert step is not None and not session.partition.uncertain[0]
    with sqlite_store.reading() as r:
        assert len(judged_sentences(r, session.record, session.partition)) == N - DISPUTED + 1
    session.undo()
    assert session.partition.uncertain[0] and session.partition.numbers[0] == UNASSIGNED


def test_exported_gold_rows_carry_the_coders_who_gave_the_code(
    sqlite_store: Store, coders: list[LabellingRecord]
) -> None:
    session = gold_of(sqlite_store, coders)
    session.do(op.assign(session.partition, session.partition.ids[:1], 3))
    made = coders_of(sqlite_store, session.record)
    assert made[:2] == [("Luggage", "Anna"), ("", "")]
    assert Counter(coder for _, coder in made[DISPUTED:]) == {"Anna, Ben": N - DISPUTED}


def test_of_three_coders_those_are_named_who_gave_the_code_of_the_majority(
    sqlite_store: Store, coders: list[LabellingRecord]
) -> None:
    """Eve agrees with Ben on all but one of the disputed sentences, and has a code of her own."""
    begin = starts.from_labelling(coders[1].id)
    eve = starts.begin(sqlite_store, NewLabelling(coders[0].corpus_id, "Eve", "Eve"), begin)
    session = LabellingSession(sqlite_store, eve.id, "Eve")
    ids = session.partition.ids
    numbers = session.partition.numbers.copy()
    session.do(op.unassign(session.partition, ids))
    for number in range(1, 5):
        session.do(op.assign(session.partition, ids[numbers == number], number))
    session.do(op.create(session.partition, session.next_number, "Own", ids[:1]))
    gold = gold_of(sqlite_store, [*coders, session.record])
    state = gold.partition
    assert [cluster.name for _, cluster in sorted(state.clusters.items())] == [*CODES, "Own"]
    assert state.uncertain.tolist() == [True] + [False] * (N - 1)
    assert state.notes[int(ids[0])] == "Anna: Boarding · Ben: Delays · Eve: Own"
    made = coders_of(sqlite_store, gold.record)
    assert {coder for _, coder in made[1:DISPUTED]} == {"Ben, Eve"}
    assert {coder for _, coder in made[DISPUTED:]} == {"Anna, Ben, Eve"}


def test_own_codes_beside_those_of_the_codebook_invent_none(sqlite_store: Store, coders: list[LabellingRecord]) -> None:
    """Eve placed one sentence only, in a code of her own."""
    begin = starts.from_labelling(coders[1].id)
    eve = starts.begin(sqlite_store, NewLabelling(coders[0].corpus_id, "Eve", "Eve"), begin)
    session = LabellingSession(sqlite_store, eve.id, "Eve")
    session.do(op.create(session.partition, session.next_number, "Own", session.partition.ids[:1]))
    state = gold_of(sqlite_store, [*coders, session.record]).partition
    assert [cluster.name for _, cluster in sorted(state.clusters.items())] == [*CODES, "Own"]
    assert state.uncertain.sum() == DISPUTED


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
