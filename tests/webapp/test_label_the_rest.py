"""Code page: the rest of a labelling is predicted, and predictions are confirmed and corrected one by one."""

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.homes import CopyHome, MakeHome
from tests.jobs.helpers import write_articles
from tests.jobs.labelling.test_learning_from_labels import MODEL, labelling
from tests.jobs.test_kinds import do
from tests.webapp.hands import jobs_of, press, words_of
from tests.webapp.test_unit import Surface
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.labelling.provenance import Source
from themescope.db.store import Store
from themescope.jobs.common.labelled import provenance_of
from themescope.jobs.services.labelling.agreement import coded_text
from themescope.webapp.features.coding import UNSURE_QUEUE
from themescope.webapp.features.coding.rest import RANDOM, UNSURE

Open = Callable[..., AppTest]


@pytest.fixture(scope="module")
def home(make_home: MakeHome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    articles = write_articles(tmp_path_factory.mktemp("files"), 12, paragraphs=8)

    def fill(store: Store) -> None:
        do(store, "import-corpus", files=[str(articles)], corpus="C")
        do(store, "embed", corpus="C", model=MODEL)

    return make_home(fill)


def test_predictions_are_confirmed_corrected_and_exported(copy_home: CopyHome, home: Path, open_page: Open) -> None:
    store = copy_home(home)
    record, _ = labelling(store, each=6, owner="")
    at = open_page("code", view="Label the rest", labelling="mine")
    assert not at.exception and "No predictions yet" in words_of(at)
    at = press(at, "Predict the rest")
    assert [job["labelling"] for job in jobs_of(store, "predict-labels")] == ["mine"]
    do(store, "predict-labels", labelling="mine")
    at = open_page("code", view="Label the rest", labelling="mine")
    assert not at.exception and [metric.label for metric in at.metric] == ["Accuracy", "Macro F1"]
    assert all("[" in metric.value for metric in at.metric), "with their intervals"
    at = press(at, "Check unsure predictions")
    state, queue = (at.session_state[f"code_{name}_{record.id}"] for name in ("state", "unit"))
    assert not at.exception and queue.name == UNSURE_QUEUE and len(queue.ids) == 40
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
    assert not at.exception and "**26** of" in words_of(at) and "**2 coded since then**" in words_of(at)
    press(at, "Make them a coding")
    with store.reading() as r:
        made = r.labellings.by_name("mine · predictions")
        state = r.labellings.snapshot(made.id).partition
        by = provenance_of(r, made, state)
        coder = coded_text(r, [made]).coders[0]
    assert {(m.source, m.coder) for m in by.makers} == {(Source.MACHINE, MODEL)} and coder.machine
    assert (state.numbers != UNASSIGNED).all() and coder.placed.all(), "also what people labelled"
    assert (by.probability > 0.2).all()


def test_a_machine_label_becomes_a_persons_when_it_is_confirmed(copy_home: CopyHome, home: Path) -> None:
    from themescope.core.labelling import operations as op
    from themescope.jobs.common.labelled import judged_sentences

    store = copy_home(home)
    record, session = labelling(store, each=6, owner="")
    ids = session.partition.ids[session.partition.numbers == UNASSIGNED][:3]
    made = op.assign(session.partition, ids, 1)
    session.do(op.Operation(made.kind, made.summary, made.change_set, "a model"))

    def judged() -> set[int]:
        with store.reading() as r:
            return set(judged_sentences(r, record, session.partition).tolist())

    assert not judged() & set(ids.tolist())
    before = session.partition.to_bytes()
    assert session.do(op.approve(session.partition, ids)) is not None and session.partition.to_bytes() == before
    assert set(ids.tolist()) <= judged()
    session.undo()
    assert not judged() & set(ids.tolist())
