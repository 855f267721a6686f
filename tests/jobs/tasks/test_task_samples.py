"""Samples as tasks: what is drawn and given out, and the sampling probabilities that estimates are weighted by."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.db.texts import add_corpus
from tests.homes import CopyHome, MakeHome
from tests.jobs.helpers import finish_item, open_item, sentences_of_item
from tests.jobs.test_cli import call_json
from themescope.core.errors import DataError
from themescope.core.labelling import operations as op
from themescope.core.labelling.provenance import Allocation
from themescope.core.labelling.task_items import DistributionPlan, Order
from themescope.core.records.stored import Sharing
from themescope.core.types import Floats, Ids
from themescope.db.records import NewLabelling, TaskRecord
from themescope.db.store import Store
from themescope.jobs.queue.runner import run_here
from themescope.jobs.services import samples, tasks
from themescope.jobs.services.labelling import agreement, starts
from themescope.jobs.services.labelling.agreement import from_adjudication
from themescope.jobs.services.labelling.codebook import methods_section
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.jobs.services.samples import SampleForm
from themescope.jobs.services.tasks import TaskForm

PARTY = ("sentence", "party")
PARTIES = ["A"] * 60 + ["B"] * 30 + [""] * 10


def write(folder: Path, name: str, parties: list[str]) -> str:
    path = folder / name
    with path.open("w", encoding="utf-8", newline="") as stream:
        rows = [(f"{name} answer {row} about rents.", party) for row, party in enumerate(parties)]
        csv.writer(stream).writerows([("text", "party"), *rows])
    return str(path)


def do(store: Store, kind: str, /, **args: Any) -> dict[str, Any]:
    return run_here(store, kind, args, quiet=True)


SETTINGS = {"text": "text", "rows": "sentences"}


@pytest.fixture(scope="module")
def home(make_home: MakeHome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with "C", a list of 100 answers of two parties."""
    file = write(tmp_path_factory.mktemp("answers"), "answers.csv", PARTIES)

    def fill(store: Store) -> None:
        do(store, "import-corpus", files=[file], corpus="C", reader="table", settings=SETTINGS,
           types={"party": "category"})  # fmt: skip

    return make_home(fill)


@pytest.fixture
def survey(copy_home: CopyHome, home: Path) -> Store:
    return copy_home(home)


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


def test_two_people_label_the_same_random_sentences_each_in_an_order_of_their_own(survey: Store) -> None:
    assert np.isnan(everything(survey)[1]).all(), "without samples no probability is known"
    task = make(survey, SampleForm(20))
    adas, bens = given(survey, task, "ada"), given(survey, task, "ben")
    assert {*adas} == {*bens} and len({*adas}) == len(adas) == 20
    assert adas != bens and adas != sorted(adas)
    _, p, _ = everything(survey)
    assert p == pytest.approx(np.full(100, 0.2)), "a sentence has the same probability whether drawn or not"


def test_samples_follow_from_task_and_seed_and_are_independent_of_each_other(survey: Store) -> None:
    task = make(survey, SampleForm(50))
    first = {*given(survey, task, "ada")}
    with survey.writing() as w:
        w.tasks.delete(task.id)
    again = make(survey, SampleForm(50))
    assert {*given(survey, again, "ada")} == first
    other = {*given(survey, make(survey, SampleForm(50), "other", seed=1), "ada")}
    assert 10 < len(first & other) < 40, "the same seed, but another task"
    with survey.reading() as r:
        item = r.tasks.items(again.id, "ada")[0]
    open_item(survey, item.id)
    with survey.writing() as w:
        w.tasks.delete(again.id)
    third = {*given(survey, make(survey, SampleForm(50)), "ada")}
    assert 10 < len(first & third) < 40, "the labelling of the deleted task keeps its sample"


def test_a_labelling_has_the_sampled_sentences_only_and_each_is_an_item(survey: Store) -> None:
    task = make(survey, SampleForm(5))
    for number in range(5):
        with survey.reading() as r:
            item = tasks.next_item(r.tasks.items(task.id, "ada"))
        assert item is not None and item.sentences == 1 and item.place == number
        opened = open_item(survey, item.id)
        session = LabellingSession(survey, opened.id, "ada")
        assert {*session.partition.ids.tolist()} == {*given(survey, task, "ada")}
        finish_item(survey, item.id)
    assert opened.blind and opened.article_id is None


@pytest.mark.parametrize("allocation", [Allocation.PROPORTIONAL, Allocation.EQUAL])
def test_strata_have_probabilities_of_their_own(survey: Store, allocation: Allocation) -> None:
    task = make(survey, SampleForm(30, by=PARTY, allocation=allocation))
    ids, p, parties = everything(survey)
    sampled = np.isin(ids, given(survey, task, "ben"))
    for party in ("A", "B", ""):
        inside = parties == party
        assert p[inside] == pytest.approx(sampled[inside].sum() / inside.sum())
    assert p.sum() == pytest.approx(30)
    expected = {"A": 18, "B": 9, "": 3} if allocation is Allocation.PROPORTIONAL else {"A": 10, "B": 10, "": 10}
    assert {party: int(sampled[parties == party].sum()) for party in expected} == expected


def test_values_that_are_not_drawn_from_have_no_probability(survey: Store) -> None:
    task = make(survey, SampleForm(by=PARTY, allocation=Allocation.GIVEN, given=(("A", 12), ("", 3))))
    ids, p, parties = everything(survey)
    sampled = np.isin(ids, given(survey, task, "ada"))
    assert {party: int(sampled[parties == party].sum()) for party in ("A", "B", "")} == {"A": 12, "B": 0, "": 3}
    assert p[parties == "A"] == pytest.approx(0.2) and np.isnan(p[parties == "B"]).all()
    task = make(survey, SampleForm(6, where=(PARTY, ("B",))), "B")
    assert (parties[np.isin(ids, given(survey, task, "ada"))] == "B").all()
    _, p, _ = everything(survey)
    assert p[parties == "B"] == pytest.approx(0.2) and p[parties == "A"] == pytest.approx(0.2)
    make(survey, SampleForm(30), "all")
    _, p, _ = everything(survey)
    assert p[parties == "B"] == pytest.approx(1 - 0.8 * 0.7) and p[parties == "A"] == pytest.approx(1 - 0.8 * 0.7)


def test_several_samples_have_the_probability_of_their_union(survey: Store) -> None:
    first, second = make(survey, SampleForm(20)), make(survey, SampleForm(6, where=(PARTY, ("B",))), "more of B")
    _, p, parties = everything(survey)
    assert p[parties == "A"] == pytest.approx(0.2) and p[parties == "B"] == pytest.approx(1 - 0.8 * 0.8)
    fresh = make(survey, SampleForm(10, new_only=True), "fresh", seed=3)
    before = {*given(survey, first, "ada"), *given(survey, second, "ada")}
    assert not before & {*given(survey, fresh, "ada")}
    _, p, parties = everything(survey)
    assert p[parties == "A"] == pytest.approx(1 - 0.8 * (1 - 10 / (100 - len(before))))
    with survey.writing() as w:
        for task in w.tasks.list():
            w.tasks.delete(task.id)
    # 30 and then 20 of the other 70 of 100 are a random sample of 50.
    make(survey, SampleForm(30))
    make(survey, SampleForm(20, new_only=True), "more")
    assert everything(survey)[1] == pytest.approx(np.full(100, 0.5))


def test_a_later_wave_is_in_no_earlier_sample(survey: Store, tmp_path: Path) -> None:
    make(survey, SampleForm(20, by=PARTY))
    file = write(tmp_path, "more.csv", ["A"] * 40)
    do(survey, "append-corpus", files=[file], corpus="C", wave="spring", reader="table", settings=SETTINGS)
    ids, p, _ = everything(survey)
    assert np.isnan(p[100:]).all() and len(ids) == 140 and not np.isnan(p[:100]).any()
    spring = SampleForm(10, where=(("article", "wave"), ("spring",)))
    task = make(survey, spring, "spring")
    assert {*given(survey, task, "ada")} <= {*ids[100:].tolist()}
    _, p, _ = everything(survey)
    assert p[100:] == pytest.approx(0.25) and p[:100].max() < 0.25


def test_probabilities_outlive_the_task_and_travel_in_a_bundle(survey: Store, tmp_path: Path) -> None:
    task = make(survey, SampleForm(20, by=PARTY))
    with survey.reading() as r:
        item = r.tasks.items(task.id, "ada")[0]
    open_item(survey, item.id)
    _, before, _ = everything(survey)
    with survey.writing() as w:
        w.tasks.delete(task.id)
    _, after, _ = everything(survey)
    assert (after == before).all()
    path = str(tmp_path / "project.zip")
    do(survey, "export-bundle", corpus="C", file=path)
    with survey.writing() as w:
        w.corpora.delete(corpus_id(survey))
    do(survey, "import-bundle", file=path)
    assert (everything(survey)[1] == before).all()


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
def test_what_cannot_be_drawn_is_said_and_nothing_is_made(survey: Store, form: SampleForm, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        make(survey, form)
    with survey.reading() as r:
        assert not r.tasks.list()


def test_the_command_draws_and_tells_the_probabilities(survey: Store) -> None:
    words = ("sample", "C", "pilot", "--number", "20", "--person", "Ada", "--person", " Ben ", "--by", "party")
    told = call_json(*words, "--where", "party=A", "--where", "party=B")
    assert told["unit"] == "sentence"
    assert [(row["stratum"], row["drawn"], row["probability"]) for row in told["strata"]] == [
        ("A", 13, round(13 / 60, 6)),
        ("B", 7, round(7 / 30, 6)),
    ]
    own = call_json(*words[:2], "own", *words[5:], "--of", "A=5", "--of", "B=6")
    assert [(row["stratum"], row["drawn"]) for row in own["strata"]] == [("–", 0), ("A", 5), ("B", 6)]
    with survey.reading() as r:
        task = r.tasks.by_name("pilot")
        items = r.tasks.items(task.id)
    assert task.blind and len(items) == 40 and {item.person for item in items} == {"Ada", "Ben"}


def test_two_people_label_a_sample_which_is_compared_adjudicated_and_described(survey: Store) -> None:
    id = corpus_id(survey)
    with survey.reading() as r:
        ids = r.corpora.sentence_ids(id)
    codes = starts.from_labels(ids[:2], np.array([0, 1]), {0: "rents", 1: "other"}, {"from": "table"})
    begun = starts.begin(survey, NewLabelling(id, "codes", "ada"), codes)
    task = make(survey, SampleForm(24, by=PARTY), start=tasks.START_CLUSTERS, start_id=begun.id)
    made = {}
    for person, wrong in (("ada", 0), ("ben", 3)):
        with survey.reading() as r:
            items = r.tasks.items(task.id, person)
        for item, sentence in zip(items, given(survey, task, person), strict=True):
            made[person] = open_item(survey, item.id).id
            session = LabellingSession(survey, made[person], person)
            number = 1 + (sentence % 2 if item.place >= wrong else 1 - sentence % 2)
            session.do(op.assign(session.partition, np.array([sentence]), number))
            finish_item(survey, item.id)
    with survey.reading() as r:
        text = agreement.coded_text(r, [r.labellings.get(id) for id in made.values()])
        assert not agreement.left_out(r, text.coders)
    assert len(text.ids) == 24 and text.coders[0].placed.all() and text.coders[1].placed.all()
    assert (text.coders[0].judged == text.coders[1].judged).sum() == 21
    new = NewLabelling(id, "gold", "ada", Sharing.GOLD)
    gold = starts.begin(survey, new, from_adjudication([*made.values()], placed_only=True))
    assert gold.sentences == 24
    told = methods_section(survey, [*made.values()])
    assert "24 of 100 units at random, 3 strata by party" in told.replace("\\", "")
