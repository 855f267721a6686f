"""Samples as tasks: what is drawn and given out, and the sampling probabilities that estimates are weighted by."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.db.texts import add_corpus
from tests.homes import MakeHome
from tests.jobs.helpers import finish_item, open_item, sentences_of_item
from tests.jobs.test_cli import call_json
from tests.jobs.test_kinds import do
from tests.jobs.test_waves import write
from themescope.core.errors import DataError
from themescope.core.labelling.provenance import Allocation
from themescope.core.labelling.task_items import DistributionPlan, Order
from themescope.core.types import Floats, Ids
from themescope.db.records import TaskRecord
from themescope.db.store import Store
from themescope.jobs.services import samples, tasks
from themescope.jobs.services.labelling.codebook import methods_section
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.samples import SampleForm
from themescope.jobs.services.tasks import TaskForm

PARTY = ("sentence", "party")
PARTIES = ["A"] * 60 + ["B"] * 30 + [""] * 10


SETTINGS = {"text": "text", "rows": "sentences"}


@pytest.fixture(scope="module")
def home(make_home: MakeHome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with "C", a list of 100 answers of two parties."""
    rows = [(f"Answer {row} about rents.", party) for row, party in enumerate(PARTIES)]
    file = write(tmp_path_factory.mktemp("answers"), "answers.csv", rows, "text party")

    def fill(store: Store) -> None:
        do(store, "import-corpus", files=[file], corpus="C", reader="table", settings=SETTINGS,
           types={"party": "category"})  # fmt: skip

    return make_home(fill)


def corpus_id(store: Store, name: str = "C") -> int:
    with store.reading() as r:
        return r.corpora.by_name(name).id


def make(store: Store, form: SampleForm, name: str = "pilot", seed: int = 1, **more: Any) -> TaskRecord:
    plan = DistributionPlan(("ada", "ben"), 1.0, 2, Order.RANDOM, seed)
    return tasks.make(store, TaskForm(corpus_id(store), name, "ada", (), plan, blind=True, sample=form, **more))


def given(store: Store, task: TaskRecord, person: str) -> list[int]:
    """Return the ids of the sentences that a person gets, in the order of the task."""
    with store.reading() as r:
        ranges = [item.range for item in r.tasks.items(task.id, person)]
        return [s.id for one in ranges for s in sentences_of_item(r, one)]


def everything(store: Store) -> tuple[Ids, Floats, np.ndarray]:
    with store.reading() as r:
        id = corpus_id(store)
        ids = r.corpora.sentence_ids(id)
        column = next(one for one in r.columns.list(id) if one.name == "party")
        parties = np.array([*column.categories, ""])[r.columns.values(column, ids)]
        return ids, samples.sampling_probabilities(r, id, ids), parties


def test_two_people_label_the_same_random_sentences_each_in_an_order_of_their_own(filled: Store) -> None:
    assert np.isnan(everything(filled)[1]).all(), "without samples no probability is known"
    task = make(filled, SampleForm(20))
    adas, bens = given(filled, task, "ada"), given(filled, task, "ben")
    assert {*adas} == {*bens} and len({*adas}) == len(adas) == 20
    assert adas != bens and adas != sorted(adas)
    _, p, _ = everything(filled)
    assert p == pytest.approx(np.full(100, 0.2)), "a sentence has the same probability whether drawn or not"


def test_samples_follow_from_task_and_seed_and_are_independent_of_each_other(filled: Store) -> None:
    task = make(filled, SampleForm(50))
    first = {*given(filled, task, "ada")}
    with filled.writing() as w:
        w.tasks.delete(task.id)
    again = make(filled, SampleForm(50))
    assert {*given(filled, again, "ada")} == first
    other = {*given(filled, make(filled, SampleForm(50), "other", seed=1), "ada")}
    assert 10 < len(first & other) < 40, "the same seed, but another task"
    with filled.reading() as r:
        item = r.tasks.items(again.id, "ada")[0]
    open_item(filled, item.id)
    with filled.writing() as w:
        w.tasks.delete(again.id)
    third = {*given(filled, make(filled, SampleForm(50)), "ada")}
    assert 10 < len(first & third) < 40, "the labelling of the deleted task keeps its sample"


def test_a_labelling_has_the_sampled_sentences_only_and_each_is_an_item(filled: Store) -> None:
    task = make(filled, SampleForm(5))
    for number in range(5):
        with filled.reading() as r:
            item = tasks.next_item(r.tasks.items(task.id, "ada"))
        assert item is not None and item.sentences == 1 and item.place == number
        opened = open_item(filled, item.id)
        session = LabellingSession(filled, opened.id, "ada")
        assert {*session.partition.ids.tolist()} == {*given(filled, task, "ada")}
        finish_item(filled, item.id)
    assert opened.blind and opened.article_id is None


@pytest.mark.parametrize("allocation", [Allocation.PROPORTIONAL, Allocation.EQUAL])
def test_strata_have_probabilities_of_their_own(filled: Store, allocation: Allocation) -> None:
    task = make(filled, SampleForm(30, by=PARTY, allocation=allocation))
    ids, p, parties = everything(filled)
    sampled = np.isin(ids, given(filled, task, "ben"))
    for party in ("A", "B", ""):
        inside = parties == party
        assert p[inside] == pytest.approx(sampled[inside].sum() / inside.sum())
    assert p.sum() == pytest.approx(30)
    expected = {"A": 18, "B": 9, "": 3} if allocation is Allocation.PROPORTIONAL else {"A": 10, "B": 10, "": 10}
    assert {party: int(sampled[parties == party].sum()) for party in expected} == expected
    told = methods_section(filled, [tasks.begin_labelling(filled, task.id, "ben")])
    assert "30 of 100 units at random, 3 strata by party" in told.replace("\\", "")


def test_values_that_are_not_drawn_from_have_no_probability(filled: Store) -> None:
    task = make(filled, SampleForm(by=PARTY, allocation=Allocation.GIVEN, given=(("A", 12), ("", 3))))
    ids, p, parties = everything(filled)
    sampled = np.isin(ids, given(filled, task, "ada"))
    assert {party: int(sampled[parties == party].sum()) for party in ("A", "B", "")} == {"A": 12, "B": 0, "": 3}
    assert p[parties == "A"] == pytest.approx(0.2) and np.isnan(p[parties == "B"]).all()
    task = make(filled, SampleForm(6, where=(PARTY, ("B",))), "B")
    assert (parties[np.isin(ids, given(filled, task, "ada"))] == "B").all()
    _, p, _ = everything(filled)
    assert p[parties == "B"] == pytest.approx(0.2) and p[parties == "A"] == pytest.approx(0.2)
    make(filled, SampleForm(30), "all")
    _, p, _ = everything(filled)
    assert p[parties == "B"] == pytest.approx(1 - 0.8 * 0.7) and p[parties == "A"] == pytest.approx(1 - 0.8 * 0.7)


def test_several_samples_have_the_probability_of_their_union(filled: Store) -> None:
    first, second = make(filled, SampleForm(20)), make(filled, SampleForm(6, where=(PARTY, ("B",))), "more of B")
    _, p, parties = everything(filled)
    assert p[parties == "A"] == pytest.approx(0.2) and p[parties == "B"] == pytest.approx(1 - 0.8 * 0.8)
    fresh = make(filled, SampleForm(10, new_only=True), "fresh", seed=3)
    before = {*given(filled, first, "ada"), *given(filled, second, "ada")}
    assert not before & {*given(filled, fresh, "ada")}
    _, p, parties = everything(filled)
    assert p[parties == "A"] == pytest.approx(1 - 0.8 * (1 - 10 / (100 - len(before))))
    with filled.writing() as w:
        for task in w.tasks.list():
            w.tasks.delete(task.id)
    # 30 and then 20 of the other 70 of 100 are a random sample of 50.
    make(filled, SampleForm(30))
    make(filled, SampleForm(20, new_only=True), "more")
    assert everything(filled)[1] == pytest.approx(np.full(100, 0.5))


def test_a_later_wave_is_in_no_earlier_sample(filled: Store, tmp_path: Path) -> None:
    make(filled, SampleForm(20, by=PARTY))
    file = write(tmp_path, "more.csv", [(f"One more answer, {row}.", "A") for row in range(40)], "text party")
    do(filled, "append-corpus", files=[file], corpus="C", wave="spring", reader="table", settings=SETTINGS)
    ids, p, _ = everything(filled)
    assert np.isnan(p[100:]).all() and len(ids) == 140 and not np.isnan(p[:100]).any()
    spring = SampleForm(10, where=(("article", "wave"), ("spring",)))
    task = make(filled, spring, "spring")
    assert {*given(filled, task, "ada")} <= {*ids[100:].tolist()}
    _, p, _ = everything(filled)
    assert p[100:] == pytest.approx(0.25) and p[:100].max() < 0.25


def test_probabilities_outlive_the_task_and_travel_in_a_bundle(filled: Store, tmp_path: Path) -> None:
    task = make(filled, SampleForm(20, by=PARTY))
    with filled.reading() as r:
        item = r.tasks.items(task.id, "ada")[0]
    open_item(filled, item.id)
    _, before, _ = everything(filled)
    with filled.writing() as w:
        w.tasks.delete(task.id)
    _, after, _ = everything(filled)
    assert (after == before).all()
    path = str(tmp_path / "project.zip")
    do(filled, "export-bundle", corpus="C", file=path)
    with filled.writing() as w:
        w.corpora.delete(corpus_id(filled))
    do(filled, "import-bundle", file=path)
    assert (everything(filled)[1] == before).all()


def test_whole_articles_are_a_sample_too(sqlite_store: Store) -> None:
    corpus = add_corpus(sqlite_store, "C", articles=8)
    make(sqlite_store, SampleForm(2, whole_articles=True), longest=5)
    with sqlite_store.reading() as r:
        p = samples.sampling_probabilities(r, corpus.id, r.corpora.sentence_ids(corpus.id))
        items = r.tasks.items(r.tasks.list(corpus.id)[0].id, "ada")
    assert p == pytest.approx(0.25)
    assert len({item.article_id for item in items}) == 2 and all(item.sentences <= 5 for item in items)
    with pytest.raises(DataError, match="not of whole articles"):
        make(sqlite_store, SampleForm(2, whole_articles=True, new_only=True), "new")


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        (SampleForm(101), "from 1 to 100"),
        (SampleForm(2, by=PARTY), "3 strata"),
        (SampleForm(by=PARTY, allocation=Allocation.GIVEN, given=(("B", 31),)), "31 with 'B' .* from 30"),
        (SampleForm(by=PARTY, allocation=Allocation.GIVEN, given=(("Z", 1),)), "1 with 'Z' .* from 0"),
        (SampleForm(by=PARTY, allocation=Allocation.GIVEN), "at least one unit"),
        (SampleForm(2, by=("sentence", "text")), "no column 'text' of categories"),
        (SampleForm(2, by=PARTY, whole_articles=True), "Draw sentences instead"),
        (SampleForm(2, where=(PARTY, ("Z",))), "No sentence can be drawn"),
    ],
)
def test_what_cannot_be_drawn_is_said_and_nothing_is_made(filled: Store, form: SampleForm, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        make(filled, form)
    with filled.reading() as r:
        assert not r.tasks.list()


def test_the_command_draws_and_tells_the_probabilities(filled: Store) -> None:
    words = ("sample", "C", "pilot", "--number", "20", "--person", "Ada", "--person", " Ben ", "--by", "party")
    told = call_json(*words, "--where", "party=A", "--where", "party=B")
    assert told["unit"] == "sentence"
    assert [(row["stratum"], row["drawn"], row["probability"]) for row in told["strata"]] == [
        ("A", 13, round(13 / 60, 6)),
        ("B", 7, round(7 / 30, 6)),
    ]
    own = call_json(*words[:2], "own", *words[5:], "--of", "A=5", "--of", "B=6")
    assert [(row["stratum"], row["drawn"]) for row in own["strata"]] == [("–", 0), ("A", 5), ("B", 6)]
    with filled.reading() as r:
        task = r.tasks.by_name("pilot")
        items = r.tasks.items(task.id)
    assert task.blind and len(items) == 40 and {item.person for item in items} == {"Ada", "Ben"}
