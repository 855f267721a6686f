"""Triplets: accuracy by length and article, who reviewed what, a set without the bad ones, and what it changed."""

from collections.abc import Callable

import numpy as np
from streamlit.testing.v1 import AppTest

from tests.webapp.choices import choice
from tests.webapp.filled import SET
from tests.webapp.hands import jobs_of, words_of
from themescope.core.metrics.statistics import paired_test
from themescope.core.metrics.triplets import correctness
from themescope.core.records.stored import JobStatus, ModelRecord
from themescope.core.types import Split
from themescope.db.records import TripletSetRecord, Verdict
from themescope.db.store import Store
from themescope.jobs.kinds import check_job
from themescope.jobs.queue.runner import run_here
from themescope.webapp.features.triplets import sets as reviews

Open = Callable[..., AppTest]


def review(store: Store) -> TripletSetRecord:
    """Two training triplets are bad for Ada, one is ambiguous for Bob; so is a bad test triplet."""
    with store.writing() as w:
        chosen = w.triplets.by_name(SET)
        train, test = (w.triplets.ids(chosen.id, split).tolist() for split in (Split.TRAIN, Split.TEST))
        said = [(train[0], "Ada", Verdict.BAD), (train[1], "Ada", Verdict.BAD), (train[2], "Bob", Verdict.AMBIGUOUS),
                (test[0], "Bob", Verdict.BAD)]  # fmt: skip
        for triplet, person, verdict in said:
            w.reviews.add(chosen.id, triplet, person, verdict)
    return chosen


def trained(store: Store, name: str, on: TripletSetRecord, **config: object) -> ModelRecord:
    with store.writing() as w:
        return w.models.add(
            name=name, method="triplets-sen", config=config, seed=3, digest=name, artifact=name, metrics={},
            triplet_set_id=on.id, corpus_id=on.corpus_id,
        )  # fmt: skip


def evaluate(store: Store, model: ModelRecord, on: TripletSetRecord, margins: list[float]) -> None:
    with store.writing() as w:
        ids = w.triplets.ids(on.id, Split.TEST)
        w.runs.add(kind="triplets", digest=f"on {model.name}", model_id=model.id, triplet_set_id=on.id,
                   config={"split": "test"}, margins={Split.TEST: (ids, np.array(margins, np.float32))})  # fmt: skip


def test_a_set_without_bad_triplets_is_queued_with_a_training(filled_store: Store, open_page: Open) -> None:
    chosen = review(filled_store)
    net = trained(filled_store, "net", chosen, epochs=2)
    at = open_page("triplets", view="Sets", set=SET)
    assert "Excludes **2** train and **0** validation triplets. The test split is kept" in words_of(at)
    next(s for s in at.selectbox if s.label == "Retrain").select("net")
    next(b for b in at.button if b.label == "Build cleaned set").click().run()
    assert not at.exception and not at.error
    (clean,) = jobs_of(filled_store, "clean-triplets")
    (train,) = jobs_of(filled_store, "train")
    asked = sorted((str(a["model"]), a["triplets"], a["split"]) for a in jobs_of(filled_store, "evaluate-triplets"))
    assert (clean["triplets"], clean["people"], clean["splits"]) == (SET, ["Ada", "Bob"], ["train", "validation"])
    assert (train["triplets"], train["method"], train["seed"]) == (clean["name"], net.method, net.seed)
    assert train["settings"] == {"epochs": 2}
    assert asked == [("net", SET, "test"), ("net cleaned", SET, "test")]
    check_job("clean-triplets", clean)
    check_job("train", train)
    with filled_store.reading() as r:
        by_kind = {j.kind: j for j in r.jobs.list(status=JobStatus.QUEUED)}
    assert by_kind["train"].after == by_kind["clean-triplets"].id
    assert by_kind["evaluate-triplets"].after == by_kind["train"].id


def test_what_leaving_out_changed_is_shown_with_its_interval(filled_store: Store, open_page: Open) -> None:
    chosen = review(filled_store)
    run_here(filled_store, "clean-triplets", {"triplets": SET, "name": "clean"}, quiet=True)
    with filled_store.reading() as r:
        clean = r.triplets.by_name("clean")
    at = open_page("triplets", view="Sets", set=SET)
    assert "2 train, 0 validation, 0 test excluded" in words_of(at) and "No model is trained on both" in words_of(at)
    before, after = trained(filled_store, "net", chosen), trained(filled_store, "net again", clean)
    trained(filled_store, "another", clean, epochs=9)  # other settings: no twin
    at = open_page("triplets", view="Sets", set=SET)
    assert "not yet compared with net" in words_of(at)
    margins = [1.0, -1.0, -1.0, 1.0], [1.0, 1.0, -1.0, 1.0]
    for model, listed in zip((before, after), margins, strict=True):
        evaluate(filled_store, model, chosen, listed)
    at = open_page("triplets", view="Sets", set=SET)
    assert not at.exception and not at.error
    table = next(d.value for d in at.dataframe if "Model" in d.value.columns)
    assert table["Triplet accuracy"].tolist()[:2] == [".500", ".750"]
    (effect,) = reviews.cleaning_effects(chosen, clean)
    a, b = (correctness(np.array(m, np.float32)) for m in margins)
    assert effect.measured is not None and effect.measured.test == paired_test(b, a, np.ones(4, int))
    next(b for b in at.button if b.label == "Compare margins").click().run()
    assert choice(at, "triplets_model").value == "net again" and "difference +.250" in words_of(at)
