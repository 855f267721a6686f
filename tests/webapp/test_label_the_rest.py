"""Code page: the rest of a labelling is predicted, and predictions are confirmed and corrected one by one."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.homes import CopyHome, MakeHome
from tests.jobs.helpers import write_articles
from tests.jobs.labelling.test_learning_from_labels import MODEL, labelling
from tests.jobs.test_kinds import do
from tests.webapp.hands import jobs_of, press, words_of
from themescope.core.labelling.partition import UNASSIGNED
from themescope.core.labelling.provenance import Source
from themescope.core.records.stored import LabellingRecord
from themescope.db.store import Store
from themescope.jobs.common.labelled import provenance_of
from themescope.jobs.services.labelling.agreement import coded_text
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.webapp.features.coding.rest import RANDOM, UNSURE

Open = Callable[..., AppTest]


@pytest.fixture(scope="module")
def home(make_home: MakeHome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    articles = write_articles(tmp_path_factory.mktemp("files"), 12, paragraphs=8)

    def fill(store: Store) -> None:
        do(store, "import-corpus", files=[str(articles)], corpus="C")
        do(store, "embed", corpus="C", model=MODEL)

    return make_home(fill)


def keys_of(at: AppTest) -> list[tuple[str, str]]:
    """Name and key of every code of the shown sentence, in their order."""
    codes = [b for b in at.button if re.fullmatch(r"code_rest_\d+_\d+", str(b.key))]
    return [(b.label, b.proto.shortcut) for b in codes]


def names_of(store: Store, record: LabellingRecord) -> dict[int, str]:
    with store.reading() as r:
        return {number: cluster.name for number, cluster in r.labellings.clusters(record.id).items()}


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
    table = next(d.value for d in at.dataframe if "Predicted code" in d.value.columns)
    before = len(table)
    confirm = next(button for button in at.button if "confirm" in str(button.key))
    keys, before_confirming = keys_of(at), len(LabellingSession(store, record.id, "").steps)
    assert [name for name, _ in keys] == [name for _, name in sorted(names_of(store, record).items())]
    assert [key for _, key in keys] == ["1", "2", "3", "4"], "the key of a code is its place in the codebook"
    at = confirm.click().run()
    assert not at.exception and keys_of(at) == keys
    confirm.click().run()
    assert len(LabellingSession(store, record.id, "").steps) == before_confirming + 1, (
        "a second press of what was shown before"
    )
    corrected = next(b for b in at.button if str(b.key).startswith("code_rest_") and str(b.key).endswith("_2"))
    at = corrected.click().run()
    assert not at.exception and "**26** of" in words_of(at) and "**2 labels since then**" in words_of(at)
    session = LabellingSession(store, record.id, "")
    last, one_before = session.steps[-1], session.steps[-2]
    assert {last.selection_method, one_before.selection_method} <= {RANDOM, UNSURE}
    assert (session.partition.numbers != UNASSIGNED).sum() == 26
    table = next(d.value for d in at.dataframe if "Predicted code" in d.value.columns)
    assert len(table) == before - 2
    press(at, "Labelling of the predictions")
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
