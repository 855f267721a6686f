"""The methods section of labellings agrees with the store."""

import re

import pytest

from tests.db.texts import add_corpus
from tests.jobs.tasks.test_tasks import made, work_through
from themescope.core.labelling import operations as op
from themescope.core.records.stored import Sharing
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.agreement import from_adjudication
from themescope.jobs.services.labelling.codebook import facts_of, methods_section
from themescope.jobs.services.labelling.session import LabellingSession


@pytest.fixture
def labelled(sqlite_store: Store) -> tuple[Store, list[int]]:
    """Two people who did a task with gold items, and their adjudicated labelling."""
    corpus = add_corpus(sqlite_store, articles=10).id
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
