"""The machine and the rest: a network, predictions, and what is new in a wave."""

import re
from pathlib import Path

import numpy as np
import pytest

from tests.homes import CopyHome, MakeHome
from tests.jobs.helpers import write_articles
from tests.jobs.labelling.test_learning_from_labels import MODEL, labelling
from tests.jobs.test_kinds import do
from tests.jobs.test_placed_waves import NEW, THEMES, listed, sentences, wave_of, write
from tests.webapp.filled import end_job
from tests.webapp.hands import Open, jobs_of, plain_words_of, press, words_of
from tests.webapp.test_unit import Surface
from themescope.core.labelling import operations as op
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.labelling.provenance import Source
from themescope.core.records.stored import JobStatus, LabellingRecord, Sharing
from themescope.core.types import Split, split_of_title
from themescope.db.records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.common.labelled import judged_sentences, provenance_of
from themescope.jobs.services import pipeline
from themescope.jobs.services.labelling import agreement, starts
from themescope.jobs.services.labelling.agreement import coded_text
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.webapp.features.coding import UNSURE_QUEUE
from themescope.webapp.features.coding.rest import ACCEPT_KEY, CONFIRM_KEY, DISMISS_KEY, RANDOM, UNSURE

TINY = {"hidden": 4, "attention": 3, "epochs": 1, "vocabulary_limit": 200, "threads": 1, "device": "cpu"}


@pytest.fixture(scope="module")
def home(make_home: MakeHome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    articles = write_articles(tmp_path_factory.mktemp("files"), 30)

    def fill(store: Store) -> None:
        do(store, "import-corpus", files=[str(articles)], corpus="C")
        do(store, "build-triplets", corpus="C", name="all")
        do(store, "train", method="triplets-sen", name="net", triplets="all", settings=TINY, keep_start=True)

    return make_home(fill)


@pytest.fixture
def placed(copy_home: CopyHome, home: Path) -> tuple[Store, LabellingRecord]:
    """A small network, and a labelling of a training article in which somebody moved ten sentences."""
    store = copy_home(home)
    with store.reading() as r:
        corpus = r.corpora.by_name("C")
        article = next(a for a in r.corpora.articles(corpus.id) if split_of_title(a.title) is Split.TRAIN)
    record = starts.begin(store, NewLabelling(corpus.id, "mine", "Ada", article_id=article.id), starts.from_sections)
    session = LabellingSession(store, record.id, "Ada")
    numbers = sorted(session.partition.clusters)
    moved = np.concatenate([session.partition.members(number)[:2] for number in numbers[1:6]])
    session.do(op.assign(session.partition, moved, numbers[1]))
    return store, record


def test_a_network_is_taught_and_measured(placed: tuple[Store, LabellingRecord], open_page: Open) -> None:
    store, _ = placed
    at = open_page("code", view="Learn from it", labelling="mine")
    network = next(s for s in at.selectbox if s.label == "Fine-tune")
    assert network.options == ["No model: only make triplets", "net"]
    network.set_value("net").run()
    press(at, "Fine-tune")
    assert "Job queued" in words_of(at)
    with store.reading() as r:
        asked = [j for j in reversed(r.jobs.list(status=JobStatus.QUEUED))]
    assert [j.kind for j in asked] == ["learn-labels", "train", "evaluate-triplets", "evaluate-triplets",
                                       "embed", "embed"]  # fmt: skip
    assert [j.after for j in asked] == [None, asked[0].id, *[asked[1].id] * 4]
    train = asked[1].args
    assert (train["models"], train["triplets"], train["validation"]) == (["net"], "mine labels", "all")
    assert not train.get("keep_start")  # a training that learned nothing gives no model
    asked[1].args["keep_start"] = True
    results = [do(store, job.kind, **job.args) for job in asked]
    with store.reading() as r:
        assert r.models.by_name(train["name"]).triplet_set_id == r.triplets.by_name("mine labels").id
        values = {run: r.runs.scores([run])[0].value for run in (results[2]["run_id"], results[3]["run_id"])}
    at = open_page("code", view="Learn from it", labelling="mine")
    assert "95 % interval (paired bootstrap" in words_of(at)
    assert "that nobody placed, a unit of the same section is nearer" in words_of(at)
    shown = next(d.value for d in at.dataframe if "Triplet accuracy" in d.value.columns)
    assert list(shown[""]) == ["Before", "After", "Difference"]
    assert not any(b.label == "See both side by side" for b in at.button)  # it leads to a tab of the page Triplets
    assert list(shown["Model"]) == ["net", train["name"], ""]
    assert [float(v) for v in shown["Triplet accuracy"][:2]] == pytest.approx(list(values.values()), abs=6e-4)
    with store.writing() as w:  # the next training on the same triplets teaches nothing
        error = "Nothing was learned. Train on more data."
        end_job(w, "train", args={"triplets": "mine labels"}, error=error)
    at = open_page("code", view="Learn from it", labelling="mine")
    assert "Nothing was learned. Train on more data." in plain_words_of(at)


def test_one_code_is_too_few_to_predict_from(copy_home: CopyHome, embedded_home: Path, open_page: Open) -> None:
    store = copy_home(embedded_home)
    record, session = labelling(store, each=6, owner="")
    every = session.partition.ids[session.partition.numbers != UNASSIGNED]
    session.do(op.assign(session.partition, every, min(session.partition.clusters)))
    at = open_page("code", view="Label the rest", labelling=record.name)
    assert len(every) >= 20 and "with at least 2 codes" in words_of(at)
    assert next(button for button in at.button if button.label == "Predict the rest").disabled


def test_the_machine_comes_after_disputes_and_waves(copy_home: CopyHome, embedded_home: Path, open_page: Open) -> None:
    store = copy_home(embedded_home)
    record, _ = labelling(store, each=6, owner="")
    other = starts.begin(store, NewLabelling(record.corpus_id, "theirs", ""), starts.from_labelling(record.id))
    begin = agreement.from_adjudication([record.id, other.id], True, None)
    starts.begin(store, NewLabelling(record.corpus_id, "gold", "", Sharing.GOLD), begin)
    at = press(open_page("code", labelling="gold", surface="Code"), "Label the rest")
    assert [job["labelling"] for job in jobs_of(store, "predict-labels")] == ["gold"]
    assert "coded by people" in words_of(at)
    do(store, "predict-labels", labelling="gold")
    at = open_page("code", labelling="gold", surface="Code")
    assert "Label the rest" not in [button.label for button in at.button], "it was done"
    said = words_of(open_page("code", view="Label the rest", labelling="gold"))
    predicted = re.search(r"([1-9][\d,]*) predicted from", said)
    assert predicted and f"of {predicted[1]} predictions have" in said, "also those that the gold coding does not have"
    with store.writing() as w:
        added = w.jobs.add("append-corpus", "Add", {})
    assert [(job.kind, job.after == added.id) for job in pipeline.queue_wave(store, "C", "spring", added.id)] == [
        ("place-wave", True), ("predict-labels", False),
    ]  # fmt: skip


def test_predictions_are_confirmed_and_exported(copy_home: CopyHome, embedded_home: Path, open_page: Open) -> None:
    store = copy_home(embedded_home)
    record, _ = labelling(store, each=6, owner="")
    at = open_page("code", view="Label the rest", labelling="mine")
    assert "No predictions yet" in words_of(at)
    at = press(at, "Predict the rest")
    assert [job["labelling"] for job in jobs_of(store, "predict-labels")] == ["mine"]
    do(store, "predict-labels", labelling="mine")
    at = open_page("code", view="Label the rest", labelling="mine")
    assert [metric.label for metric in at.metric] == ["Accuracy", "Macro F1"]
    assert all("[" in metric.value for metric in at.metric), "with their intervals"
    by_code = next(d.value for d in at.dataframe if "Precision" in d.value.columns)
    assert len(by_code) == 4 and by_code["F1"].str.fullmatch(r"1?\.\d{3} \[1?\.\d{3}, 1?\.\d{3}\]").all()
    at = press(at, "Check unsure predictions")
    state, queue = (at.session_state[f"code_{name}_{record.id}"] for name in ("state", "unit"))
    assert queue.name == UNSURE_QUEUE and len(queue.ids) == 40
    shown = Surface(state, queue)
    first, steps = shown.unit, len(state.session.steps)
    assert first["codes"] == [] and first["suggested"]["cluster"] in state.partition.clusters
    shown.key("accept", cluster=first["suggested"]["cluster"])
    second = shown.unit
    assert second["id"] != first["id"]
    shown.key("code", code=2)
    made = state.session.steps[steps:]
    assert len(made) == 2 and made[0].selection_method.endswith(", suggestion accepted")
    assert {step.selection_method.partition(",")[0] for step in made} <= {RANDOM, UNSURE}
    partition = state.partition
    given = partition.numbers[partition.rows([first["id"], second["id"]])].tolist()
    assert given == [first["suggested"]["cluster"], 2]
    at = open_page("code", view="Label the rest", labelling="mine")
    assert "**26** of" in words_of(at) and "**2 coded since then**" in words_of(at)
    press(at, "Make them a coding")
    with store.reading() as r:
        made = r.labellings.by_name("mine · predictions")
        state = r.labellings.snapshot(made.id).partition
        by = provenance_of(r, made, state)
        coder = coded_text(r, [made]).coders[0]
    assert {(m.source, m.coder) for m in by.makers} == {(Source.MACHINE, MODEL)} and coder.machine
    assert (state.numbers != UNASSIGNED).all() and coder.placed.all(), "also what people labelled"
    assert (by.probability > 0.2).all()


def test_a_machine_label_becomes_a_persons_when_it_is_confirmed(copy_home: CopyHome, embedded_home: Path) -> None:
    store = copy_home(embedded_home)
    _, session = labelling(store, each=6, owner="")
    ids = session.partition.ids[session.partition.numbers == UNASSIGNED][:3]
    made = op.assign(session.partition, ids, 1)
    session.do(op.Operation(made.kind, made.summary, made.change_set, "a model"))
    assert not judged(store, session) & set(ids.tolist())
    before = session.partition.to_bytes()
    assert session.do(op.approve(session.partition, ids)) is not None and session.partition.to_bytes() == before
    assert set(ids.tolist()) <= judged(store, session)
    session.undo()
    assert not judged(store, session) & set(ids.tolist())


def opened(store: Store) -> LabellingSession:
    with store.reading() as r:
        (record,) = r.labellings.list()
    return LabellingSession(store, record.id, "")


def judged(store: Store, session: LabellingSession) -> set[int]:
    with store.reading() as r:
        return set(judged_sentences(r, session.record, session.partition).tolist())


@pytest.mark.parametrize("confirmed", [False, True])
def test_a_new_theme_becomes_a_code_by_key(waved: Store, open_page: Open, confirmed: bool) -> None:
    old = opened(waved)
    at = open_page("code", view="Label the rest", labelling="mine")
    assert "50 units without a code" in words_of(at)
    label, key = ("Make and confirm", CONFIRM_KEY) if confirmed else ("Make it a code", ACCEPT_KEY)
    button = next(one for one in at.button if one.label == label)
    assert button.proto.shortcut.lower() == key.lower()
    at = press(at, label)
    assert "Possible new theme" not in words_of(at)
    session = opened(waved)
    (new,) = set(session.partition.clusters) - set(old.partition.clusters)
    members = session.partition.members(new)
    assert any(word in session.partition.clusters[new].name.lower() for word in NEW)
    assert (set(members.tolist()) <= judged(waved, session)) is confirmed
    assert np.array_equal(session.partition.only(old.partition.ids).numbers, old.partition.numbers)
    session.undo()
    assert new not in session.partition.clusters and len(session.partition.ids) == 230
    session.undo()
    assert session.partition.to_bytes() == old.partition.to_bytes()


def test_themes_say_what_they_leave_out(waved: Store, open_page: Open, tmp_path: Path) -> None:
    at = open_page("themes", corpus="C")
    assert "Continues an earlier result by “spring”" in words_of(at)
    listed(waved, "append-corpus", write(tmp_path / "third.csv", sentences(NEW, 4, 3)), wave="autumn")
    at = open_page("themes", corpus="C")
    assert "4 sentences of “autumn” are not in this result" in words_of(at)


def test_a_dismissed_theme_comes_back_only_by_undo(waved: Store, open_page: Open) -> None:
    at = open_page("code", view="Label the rest", labelling="mine")
    assert next(one for one in at.button if one.label == "Dismiss").proto.shortcut.lower() == DISMISS_KEY.lower()
    at = press(at, "Dismiss")
    assert "Possible new theme" not in words_of(at)
    assert len(opened(waved).partition.clusters) == len(THEMES)
    opened(waved).undo()
    at = open_page("code", view="Label the rest", labelling="mine")
    assert "Possible new theme" in words_of(at)


def test_sure_predictions_become_labels_of_a_machine(waved: Store, open_page: Open) -> None:
    at = open_page("code", view="Label the rest", labelling="mine")
    button = next(one for one in at.button if one.label.endswith("at least so sure"))
    at = button.click().run()
    session = opened(waved)
    wave = session.partition.rows(wave_of(waved))
    placed = session.partition.ids[wave][session.partition.numbers[wave] != UNASSIGNED]
    assert button.label == f"Assign the {len(placed)} units that are at least so sure" and len(placed) > 5
    assert not set(placed.tolist()) & judged(waved, session)
    assert f"{50 - len(placed)} units without a code" in words_of(at)


def test_units_of_a_wave_are_checked_one_by_one(waved: Store, open_page: Open) -> None:
    session = opened(waved)
    session.extend()
    at = press(open_page("code", view="Label the rest", labelling="mine"), "Check them")
    record = session.record
    shown = Surface(at.session_state[f"code_state_{record.id}"], at.session_state[f"code_unit_{record.id}"])
    assert shown.data["total"] == 50 and set(shown.queue.ids.tolist()) == set(wave_of(waved).tolist())
    assert shown.unit["suggested"]["cluster"] in session.partition.clusters
