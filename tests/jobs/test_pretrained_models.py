"""Pretrained models: size, model card, vectors, training articles, and their copy in the store."""

import json
import lzma
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest

import themescope
from tests.core.test_theme_finding import LIST, ONE_SUBJECT
from tests.jobs.test_kinds import do
from themescope.core.errors import ConflictError
from themescope.core.models.artifact import load_model, read_info, saw_title, title_digests
from themescope.core.paths import DEFAULT, default_model, lacks_packages, model_folder, pretrained_folders
from themescope.core.protocols import SILENT
from themescope.core.readers import REGISTRY as READERS
from themescope.core.records.stored import ModelRecord
from themescope.core.types import Sentence, Split, split_of_title
from themescope.db.store import Store
from themescope.jobs.common.models import add_model, find_model
from themescope.jobs.services.installation.demo import demo_dump

DEFAULT_MODEL = default_model()

MODELS = list(pretrained_folders().values())
OURS = [folder for folder in MODELS if read_info(folder)["record"]["train_titles"]]
"""The models that were trained in this project, on articles that their records list."""
TOPICS = ("The army lost the battle near the river.", "Her second album reached the top of the charts.")


def test_there_is_one() -> None:
    assert MODELS


@pytest.fixture(params=MODELS, ids=lambda folder: folder.name)
def folder(request: pytest.FixtureRequest) -> Path:
    chosen: Path = request.param
    return chosen


def test_it_has_a_card(folder: Path) -> None:
    card = (folder / "README.md").read_text("utf-8")
    trained = ("themescope train", "CC BY-SA", "triplet accuracy") if folder in OURS else ()
    for needed in ("## Use and limits", "## Licences", *trained):
        assert needed in card


def test_its_card_states_its_dimensions(folder: Path) -> None:
    if lacks_packages(folder.name):
        pytest.skip("The packages of its base encoder are not installed, see its card.")
    stated = re.search(r"([\d,]+) dimensions", (folder / "README.md").read_text("utf-8"))
    fitted, _ = load_model(folder)
    assert stated and int(stated[1].replace(",", "")) == fitted.embed([Sentence(TOPICS[0])]).shape[1]


def test_together_they_are_small() -> None:
    assert sum(file.stat().st_size for folder in MODELS for file in folder.iterdir()) <= 35e6


def test_it_tells_themes_apart(folder: Path) -> None:
    if lacks_packages(folder.name):
        pytest.skip("The packages of its base encoder are not installed, see its card.")
    fitted, _ = load_model(folder)
    war, music = TOPICS
    texts = [war, "Two regiments were sent to defend the town against the invasion.", music]
    vectors = fitted.embed([Sentence(text) for text in texts])
    assert np.isfinite(vectors).all()
    near, far = fitted.distances(vectors[[0, 0]], vectors[[1, 2]])
    assert near < far


def test_no_article_of_the_demo_was_in_its_training(folder: Path) -> None:
    info, reader = read_info(folder), READERS.build("mediawiki-dump")
    titles = [article.title for article in reader.read(demo_dump(), SILENT)]
    assert len(titles) > 90
    assert [title for title in titles if saw_title(info, title)] == []


@pytest.fixture(scope="module")
def titles(shared_data: Path) -> list[str]:
    """The titles of all articles that models could have been trained on; the text after a title is not read."""
    files = [*shared_data.glob("wikipedia/articles/*.jsonl.xz"), *shared_data.glob("wikipedia-more/*.jsonl.xz")]
    return [json.loads(line[: line.index(', "source"')] + "}")["title"] for file in files for line in lines_of(file)]


def lines_of(file: Path) -> Iterator[str]:
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        yield from lines


@pytest.mark.slow  # all titles of Wikipedia are unpacked; the answer changes with the files of models only
@pytest.mark.parametrize("folder", OURS, ids=lambda folder: folder.name)
def test_no_test_article_was_in_its_training(folder: Path, titles: list[str]) -> None:
    recorded = set(read_info(folder)["record"]["train_titles"])
    seen = [title for title in titles if recorded.intersection(title_digests([title]))]
    assert len(seen) == len(recorded) > 4_000
    assert Split.TEST not in map(split_of_title, seen)


def test_it_is_stored_once_however_many_ask_for_it_at_once(store: Store) -> None:
    begin = Barrier(4)

    def ask(name: str) -> ModelRecord:
        begin.wait()
        return find_model(store, name)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(ask, [DEFAULT, DEFAULT_MODEL] * 2))
    with store.reading() as r:
        assert r.models.list() == [found[0]] == [*{model.id: model for model in found}.values()]


def test_a_copy_that_another_version_stored_is_not_stored_again(sqlite_store: Store, tmp_path: Path) -> None:
    source = tmp_path / "other version"
    shutil.copytree(model_folder(DEFAULT), source)
    (source / "README.md").write_text("Another text.", "utf-8")
    stored, _ = add_model(sqlite_store, source, DEFAULT_MODEL, read_info(source), sqlite_store.writing)
    assert find_model(sqlite_store, DEFAULT) == stored


def test_a_conflict_with_something_else_is_told(sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def conflict(*_: object, **__: object) -> None:
        raise ConflictError("Something else.")

    monkeypatch.setattr("themescope.jobs.common.models.add_model", conflict)
    with pytest.raises(ConflictError, match="Something else"):
        find_model(sqlite_store, DEFAULT)


@pytest.mark.parametrize("texts", [LIST, ONE_SUBJECT], ids=["list", "one subject"])
def test_themes_of_a_stored_list_are_those_of_the_library(
    sqlite_store: Store, tmp_path: Path, texts: list[str]
) -> None:
    """Both choose the encoder by the kind of the texts."""
    pytest.importorskip("transformers")
    file = tmp_path / "list.txt"
    file.write_text("\n".join(texts), encoding="utf-8")
    do(sqlite_store, "import-list", file=str(file), corpus="L")
    settings = {"sample": 10, "subsamples": 1}
    result = do(sqlite_store, "find-themes", corpus="L", model=DEFAULT_MODEL, settings=settings)
    expected = themescope.find_themes(texts, settings=settings)
    with sqlite_store.reading() as r:
        (labels,) = r.runs.labels(result["run_id"]).values()
    assert (labels == expected.labels).all() and result["reason"] == expected.reason
