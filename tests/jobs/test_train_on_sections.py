"""Trainings on sections, and trainings that go on from another."""

from pathlib import Path

import pytest

from tests.homes import CopyHome, MakeHome
from tests.jobs.helpers import write_articles
from tests.jobs.test_kinds import do
from themescope.core.errors import ConfigError, DataError
from themescope.core.models.artifact import load_model, title_digests
from themescope.core.types import Split
from themescope.db.store import Store
from themescope.jobs.common.articles import SectionSentences

NETWORK = {"hidden": 4, "attention": 3, "epochs": 1, "vocabulary_limit": 200, "threads": 1, "device": "cpu"}


@pytest.fixture(scope="module")
def home(make_home: MakeHome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The corpora “C” and “Demo”; the sets “all” of “C”, and “few” without validation triplets."""
    folder = tmp_path_factory.mktemp("files")

    def fill(store: Store) -> None:
        do(store, "import-corpus", files=[str(write_articles(folder, 30))], corpus="C")
        do(store, "import-corpus", files=[str(write_articles(folder, 6))], corpus="Demo")
        do(store, "build-triplets", corpus="C", name="all")
        do(store, "build-triplets", corpus="C", name="few", splits=["train"])

    return make_home(fill)


@pytest.fixture
def store(copy_home: CopyHome, home: Path) -> Store:
    return copy_home(home)


def titles(store: Store, *splits: Split, without: int = 0) -> list[str]:
    """Titles of the corpus in some splits, without the first articles."""
    with store.reading() as r:
        articles = r.corpora.articles(r.corpora.by_name("C").id, limit=100)
        left_out = {a.title for a in r.corpora.articles(r.corpora.by_name("Demo").id, limit=100)} if without else set()
    return [a.title for a in articles if a.split in splits and a.title not in left_out]


def test_the_articles_of_both_splits_are_recorded_without_those_of_other_corpora(store: Store) -> None:
    learn = {"method": "triplets-sen-contrastive", "settings": NETWORK}
    with pytest.raises(ConfigError, match="Choose a corpus"):
        do(store, "train", name="all", **learn)
    learn["corpus"] = "C"
    made = do(store, "train", name="all", **learn)
    again = do(store, "train", name="again", **learn)
    assert again["cached"] and again["digest"] == made["digest"]
    without = do(store, "train", name="without", without=["Demo"], **learn)
    assert without["digest"] != made["digest"]
    with store.reading() as r:
        models = [r.models.by_name(name) for name in ("all", "without")]
    every, fewer = (load_model(store.artifacts.path(model.artifact))[1]["record"] for model in models)
    assert every["corpus"] == "C"
    assert every["train_titles"] == title_digests(titles(store, Split.TRAIN, Split.VALIDATION))
    assert fewer["train_titles"] == title_digests(titles(store, Split.TRAIN, Split.VALIDATION, without=1))
    assert fewer["without"] == ["Demo"] and len(fewer["train_titles"]) < len(every["train_titles"])


def test_a_teacher_is_optional_and_its_articles_are_recorded(store: Store) -> None:
    static = {"dim": 6, "vocabulary_limit": 200, "least_count": 1, "epochs": 1, "threads": 1, "device": "cpu"}
    do(store, "train", method="static-encoder", name="teacher", corpus="C", settings=static)
    arguments = {"method": "static-encoder", "corpus": "C", "without": ["Demo"], "settings": static}
    do(store, "train", name="alone", **arguments)
    do(store, "train", name="taught", models=["teacher"], **arguments)
    with store.reading() as r:
        teacher, alone, taught = (r.models.by_name(name) for name in ("teacher", "alone", "taught"))
    assert alone.digest != taught.digest
    records = {m.name: load_model(store.artifacts.path(m.artifact))[1]["record"] for m in (teacher, alone, taught)}
    assert records["taught"]["models"] == [teacher.digest] and "models" not in records["alone"]
    assert records["taught"]["train_titles"] == records["teacher"]["train_titles"] != records["alone"]["train_titles"]


def test_a_model_is_found_again_by_a_job_of_0_2_that_names_devices(store: Store) -> None:
    settings = {"dim": 6, "vocabulary_limit": 200, "least_count": 1, "epochs": 1, "threads": 1, "device": "cpu"}
    arguments = {"method": "static-encoder", "corpus": "C"}
    first = do(store, "train", name="one", settings=settings, **arguments)
    again = do(store, "train", name="two", settings=settings | {"devices": 2}, **arguments)
    assert (first["cached"], again["cached"], again["model"]) == (False, True, "one")


def test_sections_of_the_test_split_and_short_sentences_are_not_read(store: Store) -> None:
    with store.reading() as r:
        corpus = r.corpora.by_name("C")
    read = SectionSentences(store, corpus, Split.VALIDATION)
    assert all(5 <= len(s.text.split()) <= 50 for s in read)
    assert sorted(read.titles) == sorted(titles(store, Split.VALIDATION))
    demo = SectionSentences(store, corpus, Split.TRAIN, frozenset(titles(store, Split.TRAIN)))
    with pytest.raises(DataError, match="train split"):
        len(demo)


def test_another_set_says_when_to_stop(store: Store) -> None:
    learn = {"method": "triplets-sen", "triplets": "few", "settings": NETWORK, "keep_start": True}
    with pytest.raises(DataError, match="validation decides when training stops"):
        do(store, "train", name="alone", **learn)
    made = do(store, "train", name="with all", validation="all", **learn)
    learn["triplets"] = "all"
    own = do(store, "train", name="all", **learn)
    named = do(store, "train", name="all again", validation="all", **learn)
    assert named["cached"] and named["digest"] == own["digest"] != made["digest"]
    with store.reading() as r:
        model = r.models.by_name("with all")
        whole, few = r.triplets.by_name("all"), r.triplets.by_name("few")
        ids = {int(i) for s in (Split.TRAIN, Split.VALIDATION) for i in r.triplets.rows(whole.id, s).articles}
        titles = [a.title for a in r.corpora.articles_by_id(ids).values()]
    assert model.triplet_set_id == few.id
    _, info = load_model(store.artifacts.path(model.artifact))
    assert info["record"]["validation"] == "all"
    assert set(info["record"]["train_titles"]) == set(title_digests(titles))


def test_what_the_first_network_saw_stays_on_record(store: Store) -> None:
    do(store, "train", name="first", method="triplets-sen", triplets="all", settings=NETWORK, keep_start=True)
    learn = {"method": "triplets-sen", "triplets": "few", "validation": "all", "keep_start": True}
    made = do(store, "train", name="second", models=["first"], settings={"epochs": 1, "threads": 1}, **learn)
    again = do(store, "train", name="third", models=["first"], settings={"epochs": 1, "threads": 1}, **learn)
    anew = do(store, "train", name="fourth", settings=NETWORK, **learn)
    assert again["cached"] and again["model"] == "second" and anew["digest"] != made["digest"]
    with store.reading() as r:
        first, second = r.models.by_name("first"), r.models.by_name("second")
    (_, before), (_, after) = (load_model(store.artifacts.path(m.artifact)) for m in (first, second))
    assert second.config["hidden"] == 4 and second.config["epochs"] == 1
    assert after["record"]["models"] == [first.digest]
    assert set(before["record"]["train_titles"]) <= set(after["record"]["train_titles"])
