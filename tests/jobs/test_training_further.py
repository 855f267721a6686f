"""Training on with a small triplet set: another set's validation triplets, a network to go on from, and the record."""

from pathlib import Path

import pytest

from tests.homes import CopyHome, MakeHome
from tests.jobs.helpers import write_articles
from tests.jobs.test_kinds import do
from themescope.core.errors import DataError
from themescope.core.models.artifact import load_model, title_digests
from themescope.core.types import Split
from themescope.db.records import TripletSetRecord
from themescope.db.store import Store

TINY = {"hidden": 4, "attention": 3, "epochs": 1, "vocabulary_limit": 200, "threads": 1, "device": "cpu"}


@pytest.fixture(scope="module")
def home(make_home: MakeHome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    articles = write_articles(tmp_path_factory.mktemp("files"), 30)

    def fill(store: Store) -> None:
        do(store, "import-corpus", files=[str(articles)], corpus="C")
        do(store, "build-triplets", corpus="C", name="all")
        do(store, "build-triplets", corpus="C", name="few", splits=["train"])

    return make_home(fill)


@pytest.fixture
def sets(copy_home: CopyHome, home: Path) -> tuple[Store, TripletSetRecord]:
    """“All” of the corpus, and “few” without validation triplets."""
    store = copy_home(home)
    with store.reading() as r:
        few = r.triplets.by_name("few")
        assert not len(r.triplets.ids(few.id, Split.VALIDATION))
    return store, few


def test_another_set_says_when_to_stop(sets: tuple[Store, TripletSetRecord]) -> None:
    store, few = sets
    learn = {"method": "triplets-sen", "triplets": "few", "settings": TINY}
    with pytest.raises(DataError, match="validation decides when training stops"):
        do(store, "train", name="alone", **learn)
    made = do(store, "train", name="with all", validation="all", **learn)
    own = do(store, "train", name="all", method="triplets-sen", triplets="all", settings=TINY)
    named = do(store, "train", name="all again", method="triplets-sen", triplets="all", validation="all",
               settings=TINY)  # fmt: skip
    assert named["cached"] and named["digest"] == own["digest"] != made["digest"]
    with store.reading() as r:
        model = r.models.by_name("with all")
        whole = r.triplets.by_name("all")
        ids = {int(i) for s in (Split.TRAIN, Split.VALIDATION) for i in r.triplets.rows(whole.id, s).articles}
        titles = [a.title for a in r.corpora.articles_by_id(ids).values()]
    assert model.triplet_set_id == few.id
    _, info = load_model(store.artifacts.path(model.artifact))
    assert info["record"]["validation"] == "all"
    assert set(info["record"]["train_titles"]) == set(title_digests(titles))


def test_what_the_first_network_saw_stays_on_record(sets: tuple[Store, TripletSetRecord]) -> None:
    store, _ = sets
    do(store, "train", name="first", method="triplets-sen", triplets="all", settings=TINY)
    learn = {"method": "triplets-sen", "triplets": "few", "validation": "all"}
    made = do(store, "train", name="second", models=["first"], settings={"epochs": 1, "threads": 1}, **learn)
    again = do(store, "train", name="third", models=["first"], settings={"epochs": 1, "threads": 1}, **learn)
    anew = do(store, "train", name="fourth", settings=TINY, **learn)
    assert again["cached"] and again["model"] == "second" and anew["digest"] != made["digest"]
    with store.reading() as r:
        first, second = r.models.by_name("first"), r.models.by_name("second")
    (_, before), (_, after) = (load_model(store.artifacts.path(m.artifact)) for m in (first, second))
    assert second.config["hidden"] == 4 and second.config["epochs"] == 1
    assert after["record"]["models"] == [first.digest]
    assert set(before["record"]["train_titles"]) <= set(after["record"]["train_titles"])
