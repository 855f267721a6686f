"""Code page: a metric is learned from labels, and used in one step."""

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.homes import CopyHome, MakeHome
from tests.jobs.helpers import write_articles
from tests.jobs.labelling.test_learning_from_labels import MODEL, labelling
from tests.jobs.test_kinds import do
from tests.webapp.hands import words_of
from themescope.core.records.stored import LabellingRecord
from themescope.db.store import Store
from themescope.jobs.services.labelling import metrics
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.webapp.shared.text import plain

Open = Callable[..., AppTest]


@pytest.fixture(scope="module")
def home(make_home: MakeHome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    articles = write_articles(tmp_path_factory.mktemp("files"), 12, paragraphs=8)

    def fill(store: Store) -> None:
        do(store, "import-corpus", files=[str(articles)], corpus="C")
        do(store, "embed", corpus="C", model=MODEL)

    return make_home(fill)


def opened(open_page: Open, record: LabellingRecord) -> AppTest:
    """The tab with the form of the metric open."""
    at = open_page("code", view="Learn from it", labelling=record.name)
    at.session_state[f"code_metric_{record.id}_open"] = True
    at.run()
    assert not at.exception
    return at


def click(at: AppTest, label: str) -> AppTest:
    next(b for b in at.button if b.label == label).click().run()
    assert not at.exception
    return at


def state_of(store: Store, record: LabellingRecord) -> LabellingSession:
    return LabellingSession(store, record.id, "")


def test_a_metric_is_learned_used_and_stopped(
    copy_home: CopyHome, home: Path, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = copy_home(home)
    record, session = labelling(store, each=5, owner="")
    before = session.partition.to_bytes()
    monkeypatch.setattr(metrics.LearnedMetric, "helps", property(lambda self: True))
    at = click(opened(open_page, record), "Learn a metric")
    table = next(d.value for d in at.dataframe if "Measured on" in d.value.columns)
    assert list(table["Measured on"]) == ["Other units"]
    assert "Learned from 20 judged units" in words_of(at) and "**It helps** with other units." in words_of(at)
    next(t for t in at.toggle if t.label.startswith("Split around")).set_value(True).run()
    click(at, "Use this metric")
    used = state_of(store, record)
    model = metrics.model_in_use(store, used.partition)
    assert model is not None and model.name == f"Metric of mine on {MODEL}" and used.steps[-1].operation == "metric"
    assert f"This coding uses **{plain(model.name)}**" in words_of(at)
    edit = open_page("code", view="Settings", labelling=record.name)
    assert next(s for s in edit.selectbox if s.label == "Suggestions from").value == model.name
    click(at, "Stop using it")
    stopped = state_of(store, record)
    assert metrics.model_in_use(store, stopped.partition) is None
    stopped.sync()
    assert stopped.undo() is not None and stopped.undo() is not None
    assert stopped.partition.to_bytes() == before
