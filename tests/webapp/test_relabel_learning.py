"""Fine-tuning on corrections on the page Code: queued jobs, and their effects."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from tests.homes import CopyHome, MakeHome
from tests.jobs.helpers import write_articles
from tests.jobs.test_kinds import do
from tests.webapp.hands import words_of
from themescope.core.labelling import operations as op
from themescope.core.records.stored import JobStatus, LabellingRecord
from themescope.core.types import Split, split_of_title
from themescope.db.label_records import NewLabelling
from themescope.db.store import Store
from themescope.jobs.services.labelling import starts
from themescope.jobs.services.labelling.session import LabellingSession

Open = Callable[..., AppTest]
TINY = {"hidden": 4, "attention": 3, "epochs": 1, "vocabulary_limit": 200, "threads": 1, "device": "cpu"}


@pytest.fixture(scope="module")
def home(make_home: MakeHome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    articles = write_articles(tmp_path_factory.mktemp("files"), 30)

    def fill(store: Store) -> None:
        do(store, "import-corpus", files=[str(articles)], corpus="C")
        do(store, "build-triplets", corpus="C", name="all")
        do(store, "train", method="triplets-sen", name="net", triplets="all", settings=TINY)

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


def settings(open_page: Open, record: LabellingRecord) -> AppTest:
    at = open_page("code", view="Learn from it", labelling=record.name)
    assert not at.exception
    return at


def test_a_network_is_taught_and_measured(placed: tuple[Store, LabellingRecord], open_page: Open) -> None:
    store, record = placed
    at = settings(open_page, record)
    network = next(s for s in at.selectbox if s.label == "Fine-tune")
    assert network.options == ["No model: only make triplets", "net"]
    network.set_value("net").run()
    next(b for b in at.button if b.label == "Fine-tune").click().run()
    assert not at.exception and "Job queued" in words_of(at)
    with store.reading() as r:
        asked = [j for j in reversed(r.jobs.list(status=JobStatus.QUEUED))]
    assert [j.kind for j in asked] == ["learn-labels", "train", "evaluate-triplets", "evaluate-triplets",
                                       "embed", "embed"]  # fmt: skip
    assert [j.after for j in asked] == [None, asked[0].id, *[asked[1].id] * 4]
    train = asked[1].args
    assert (train["models"], train["triplets"], train["validation"]) == (["net"], "mine labels", "all")
    results = [do(store, job.kind, **job.args) for job in asked]
    with store.reading() as r:
        assert r.models.by_name(train["name"]).triplet_set_id == r.triplets.by_name("mine labels").id
        values = {run: r.runs.scores([run])[0].value for run in (results[2]["run_id"], results[3]["run_id"])}
    at = settings(open_page, record)
    assert "95 % interval (paired bootstrap" in words_of(at)
    assert "that nobody placed, a unit of the same section is nearer" in words_of(at)
    shown = next(d.value for d in at.dataframe if "Triplet accuracy" in d.value.columns)
    assert list(shown[""]) == ["Before", "After", "Difference"]
    assert not any(b.label == "See both side by side" for b in at.button)  # it leads to a tab of the page Triplets
    assert list(shown["Model"]) == ["net", train["name"], ""]
    assert [float(v) for v in shown["Triplet accuracy"][:2]] == pytest.approx(list(values.values()), abs=6e-4)
