"""The Agreement page."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.jobs.tasks.test_tasks import CODES, DISPUTED, N, task_of_two
from tests.webapp.filled import HOSTILE, of_sections
from tests.webapp.hands import Open, plain_words_of, press, words_of
from themescope.core.labelling import operations as op
from themescope.core.labelling.partition import UNASSIGNED, start
from themescope.core.records.stored import Sharing
from themescope.core.types import Article, Paragraph, Section
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.common.labelled import placed_sentences
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.agreement import COPIED
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.webapp.features import agreement as state
from themescope.webapp.features.agreement import results

ADAS = "Unit"
"""A labelling may be called like a column."""
PARTS = (state.RELIABILITY, state.PAIRS, state.MACHINE)


@pytest.fixture
def labelled(filled_store: Store) -> Store:
    """Two labellings of the Danube: by its sections, and with one section taken apart."""
    of_sections(filled_store, ADAS, "ada", article=1)
    bens = of_sections(filled_store, HOSTILE, "ben", article=1)
    session = LabellingSession(filled_store, bens.id, "ben")
    session.do(op.assign(session.partition, session.partition.members(2)[:2], 3))
    session.do(op.rename(session.partition, 3, HOSTILE))
    return filled_store


@pytest.fixture
def open_both(labelled: Store, open_page: Open) -> Callable[..., AppTest]:
    """Open the page and choose Ada's labelling, too, in which she has placed nothing."""

    def opened(**view: str) -> AppTest:
        at = open_page("agreement", parts=PARTS, **view)
        assert "nobody coded a unit in it" in words_of(at)
        return at.multiselect[0].set_value([ADAS, HOSTILE]).run()

    return opened


def test_people_side_by_side(labelled: Store, open_both: Open) -> None:
    at = open_both(counted=results.ALL)
    assert not at.error
    pairs = next(d.value for d in at.dataframe if "ARI" in d.value)
    assert pairs["First"].tolist()[0] in (ADAS, HOSTILE)
    assert len(pairs) == 1 and pairs["Units"].tolist() == [24]
    assert "Remark" not in pairs and "One text, so no intervals." in words_of(at)
    disputed = next(d.value for d in at.dataframe if "Most probable" in d.value)
    assert "Unit (2)" in disputed and disputed["Unit"].str.len().min() > 20
    assert len(disputed) == 6, "two were moved, and four have a code that Ben calls otherwise"
    press(at, "Settle them")
    with labelled.reading() as r:
        gold = [x for x in r.labellings.list() if x.kind is Sharing.GOLD]
        found = r.labellings.snapshot(gold[0].id).partition
    assert found.uncertain.sum() == 6
    assert gold[0].origin["from"] == "adjudication"


def test_what_nobody_touched_is_no_agreement_of_people(open_both: Open) -> None:
    at = open_both()
    assert {m.label: m.value for m in at.metric} == {
        "Alpha over pairs": "undefined", "Units": "0", "Pairs of units": "0",
    }  # fmt: skip
    assert "no codes with common names" in words_of(at), "Ben has placed sentences in a cluster of his own only"
    pairs = next(d.value for d in at.dataframe if "ARI" in d.value)
    assert pairs["Units"].tolist() == [0]
    assert results.ALL in words_of(at)
    at.button_group(key=state.COUNTED).set_value(results.ONE).run()
    assert {m.label: m.value for m in at.metric}["Units"] == "2"
    at.button_group(key=state.COUNTED).set_value(results.ALL).run()
    assert {m.label: m.value for m in at.metric}["Units"] == "24"


def test_a_vote_counts_where_the_person_placed_the_sentence(labelled: Store, open_both: Open) -> None:
    at = open_both()
    press(at, "Make the gold coding")
    with labelled.reading() as r:
        (gold,) = [x for x in r.labellings.list() if x.kind is Sharing.GOLD]
        found = r.labellings.snapshot(gold.id).partition
        bens = r.labellings.snapshot(r.labellings.by_name(HOSTILE).id).partition
        placed = np.isin(found.ids, placed_sentences(r, r.labellings.by_name(HOSTILE), bens))
    assert placed.sum() == 2 and not found.uncertain[placed].any(), "Ada has placed nothing, so nothing is tied"
    assert {found.clusters[int(n)].name for n in found.numbers[placed]} == {HOSTILE}, "where Ben put them"


def test_blind_labellers_see_nothing_before_they_have_finished(labelled: Store, open_page: Open) -> None:
    with labelled.writing() as w:
        record = w.labellings.by_name(ADAS)
        w.labellings.share(record.id, Sharing.OWN, True, "ada")
    at = open_page("agreement", parts=PARTS)
    at.text_input(key="person").set_value("ada").run()
    assert "hidden until yours is finished" in words_of(at)
    assert not at.dataframe


NAMES = ("Israel and Gaza", "Religion", "Society", "Economy")
TABLE = [[3, 0, 0, 0], [0, 3, 0, 0], [0, 0, 10, 2], [1, 1, 1, 9]]
"""25 of 30 sentences have the same code: nominal alpha .759, kappa .755."""


@pytest.fixture
def coded(sqlite_store: Store) -> Store:
    """A text of 30 sentences, the template of a codebook, and two codings with the same names and other numbers."""
    with sqlite_store.writing() as w:
        corpus = w.corpora.create("Survey", "en")
        paragraphs = tuple(Paragraph("", (f"Answer number {n} of the survey.",)) for n in range(30))
        w.corpora.add_articles(corpus.id, [Article("Answers", (Section("", 1, paragraphs),))])
        w.corpora.finish(corpus.id, {})
        article = w.corpora.articles(corpus.id)[0]
        ids = [sentence.id for sentence in w.corpora.sentences(article.id)]
    cells = [(row, column) for row, counts in enumerate(TABLE) for column, n in enumerate(counts) for _ in range(n)]
    for owner, name, side, order in (("anna", "Pilot", None, 1), ("anna", "Anna", 0, 1), ("ben", "Ben", 1, -1)):
        numbers = [0] * 30 if side is None else [NAMES[::order].index(NAMES[cell[side]]) + 1 for cell in cells]
        code(sqlite_store, NewLabelling(corpus.id, name, owner, article_id=article.id), ids, numbers, NAMES[::order])
    return sqlite_store


def code(store: Store, new: NewLabelling, ids: Sequence[int], numbers: Sequence[int], names: Sequence[str]) -> None:
    """Make a labelling with empty clusters, and place its sentences as its owner."""
    begin = start(ids, [UNASSIGNED] * len(ids), starts.clusters(names))
    with store.writing() as w:
        record = w.labellings.create(replace(new, origin={"from": "clusters", "name": "Pilot"}), begin)
    session = LabellingSession(store, record.id, new.owner)
    for number in range(1, len(names) + 1):
        if chosen := [id for id, given in zip(ids, numbers, strict=True) if given == number]:
            session.do(op.assign(session.partition, chosen, number))


def test_the_headline_is_agreement_on_named_codes(coded: Store, open_page: Open) -> None:
    at = open_page("agreement", parts=PARTS)
    assert at.multiselect[0].value == ["Ben", "Anna"]
    assert {m.label: m.value for m in at.metric} == {
        "Krippendorff's alpha": ".759", "Cohen's kappa": ".755", "Equal": "83%", "Units": "30",
    }  # fmt: skip
    assert all(re.fullmatch(r"\[\.\d{3}, \.\d{3}\]", m.delta) for m in at.metric[:2])
    codes = at.dataframe[0].value.set_index("Code")
    assert codes.loc["Society", ["Anna", "Ben", "All"]].tolist() == [12, 11, 10]
    assert codes.loc["Economy", "Kappa"].startswith(".") and "[" in codes.loc["Economy", "Alpha"]
    assert "tentative conclusions only" in words_of(at) and "agree least on **Economy**" in words_of(at)
    assert "25 of 30 units" in words_of(at) and "Codes of the same name are on the diagonal" in words_of(at)
    assert "**Pilot** (nobody coded a unit in it)" in words_of(at)
    press(at, "Collect 5 disagreements as errors")
    with coded.reading() as r:
        collected = r.failures.of("Survey")
        assert collected is not None and collected.sentences == 5


def test_two_coders_of_the_same_units_and_their_gold_labelling(sqlite_store: Store, open_page: Open) -> None:
    """Ten of sixty sentences are disputed: each has a probable code, both are reliable, and gold is the codebook's."""
    task_of_two(sqlite_store)
    at = open_page("agreement", parts=PARTS, scope="Task: Pilot", person="Anna")
    reliability = next(d.value for d in at.dataframe if "Accuracy" in d.value)
    assert len(reliability) == 2 and reliability["Units"].tolist() == [N, N]
    assert reliability["Accuracy"].str.fullmatch(r"\.\d{3} \[\.\d{3}, \.\d{3}\]").all()
    assert "too few" not in words_of(at) and "two people alone do not show who is right" in words_of(at)
    disputed = next(d.value for d in at.dataframe if "Most probable" in d.value)
    assert len(disputed) == DISPUTED
    assert disputed["Most probable"].str.fullmatch(rf"({'|'.join(CODES)}) \(\.\d+\)").all()
    press(at, "Settle them")
    press(open_page("agreement", parts=PARTS, scope="Task: Pilot", person="Anna"), "Settle them")
    with sqlite_store.reading() as r:
        assert [one.name for one in r.labellings.list() if one.kind is Sharing.GOLD] == ["Pilot gold"], "opened again"
        state_of = r.labellings.snapshot(r.labellings.by_name("Pilot gold").id).partition
    assert [c.name for _, c in sorted(state_of.clusters.items())] == [*CODES]
    assert state_of.uncertain.sum() == (state_of.numbers == UNASSIGNED).sum() == DISPUTED


def copy_of_anna(store: Store, placed: int) -> None:
    """Another coding of hers, in which the first sentences have the codes that they have in the first."""
    with store.reading() as r:
        known = r.labellings.by_name("Anna")
        found = r.labellings.snapshot(known.id).partition
    numbers = [*found.numbers.tolist()[:placed], *[0] * (30 - placed)]
    new = NewLabelling(known.corpus_id, "Anna 2", "anna", article_id=known.article_id)
    code(store, new, found.ids.tolist(), numbers, NAMES)


def test_copies_of_ones_own_labelling_do_not_count_and_say_so(coded: Store, open_page: Open) -> None:
    copy_of_anna(coded, 30)
    at = open_page("agreement", parts=PARTS)
    assert at.multiselect[0].value == ["Ben", "Anna"]
    assert "**Anna 2** (a copy of “Anna” by the same person)" in words_of(at)
    assert {m.label: m.value for m in at.metric}["Krippendorff's alpha"] == ".759"
    at.multiselect[0].set_value(["Anna", "Anna 2"]).run()
    assert {m.label: m.value for m in at.metric}["Krippendorff's alpha"] == "1.000"


@pytest.mark.parametrize(("placed", "counts"), [(COPIED - 1, True), (COPIED, False)])
def test_a_few_equal_sentences_make_no_copy(coded: Store, open_page: Open, placed: int, counts: bool) -> None:
    copy_of_anna(coded, placed)
    assert ("Anna 2" in open_page("agreement", parts=PARTS).multiselect[0].value) == counts


def test_a_labelling_finished_later_appears_unless_the_selection_was_changed(coded: Store, open_page: Open) -> None:
    with coded.reading() as r:
        pilot = r.labellings.by_name("Pilot")
    at, changed = open_page("agreement", parts=PARTS), open_page("agreement", parts=PARTS)
    changed.multiselect[0].set_value(["Anna"]).run()
    session = LabellingSession(coded, pilot.id, "anna")
    session.do(op.assign(session.partition, session.partition.ids[:5].tolist(), 1))
    assert at.run().multiselect[0].value == ["Ben", "Anna", "Pilot"]
    assert changed.run().multiselect[0].value == ["Anna"]


def _coded(store: Store, name: str, origin: dict[str, object]) -> None:
    """Add a labelling of the Danube in which its sentences have the codes of its sections."""
    new = NewLabelling(1, name, name, article_id=1)
    starts.begin(store, new, lambda *of: starts.from_sections(*of)._replace(origin=origin))


def test_whether_a_machine_may_replace_a_person(filled_store: Store, open_page: Open) -> None:
    for name in ("ada", "ben", "eve"):
        _coded(filled_store, name, {"from": "table", "name": name})
    _coded(filled_store, "tiny", {"from": "model", "maker": ["machine", "tiny"]})
    at = open_page("agreement", parts=PARTS)
    assert "tiny** (coded by a model, not by a person)" in plain_words_of(at)
    assert at.multiselect[0].value == ["eve", "ben", "ada"]
    (table,) = [d.value for d in at.dataframe if "Machine wins" in d.value]
    assert sorted(table["Person"]) == ["ada", "ben", "eve"] and table["Units"].tolist() == [24] * 3
    assert "Passed" in words_of(at)
    at.multiselect[0].set_value(["ada", "tiny"]).run()
    assert "at least two people" in words_of(at)
