import csv
import json
import lzma
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import numpy as np
import pytest
from click.testing import CliRunner

import themescope
from tests.core.test_theme_finding import LIST, ONE_SUBJECT
from tests.homes import CopyHome, MakeHome
from tests.jobs.helpers import WORDS, write_articles
from tests.jobs.test_cli import call_json as call
from tests.jobs.test_kinds import do
from themescope.core.errors import ArtifactError, ConflictError, UnknownNameError
from themescope.core.metrics.partition import AdjustedRandIndex, MetricConfig
from themescope.core.models.artifact import load_model, read_info, saw_title, title_digests
from themescope.core.paths import DEFAULT, default_model, lacks_packages, model_folder, pretrained_folders
from themescope.core.readers import REGISTRY as READERS
from themescope.core.records.stored import ModelRecord
from themescope.core.types import SILENT, Sentence, Split, split_of_title
from themescope.db.store import Store
from themescope.jobs.cli.main import main
from themescope.jobs.common.models import NOT_STORED, add_model, find_model, selectable_models
from themescope.jobs.services.installation import demo_dump

DEFAULT_MODEL = default_model()

MODELS = list(pretrained_folders().values())
OURS = [folder for folder in MODELS if read_info(folder)["record"]["train_titles"]]
"""The models that were trained in this project, on articles that their records list."""
READABLE = pytest.mark.parametrize(
    "folder", [folder for folder in MODELS if not lacks_packages(folder.name)], ids=lambda folder: folder.name
)
"""Those whose base encoder needs no package that is missing here, see their cards."""
TOPICS = ("The army lost the battle near the river.", "Her second album reached the top of the charts.")


EVERY = pytest.mark.parametrize("folder", MODELS, ids=lambda folder: folder.name)


@EVERY
def test_it_has_a_card(folder: Path) -> None:
    card = (folder / "README.md").read_text("utf-8")
    needed = ["## Use and limits", "## Licences"]
    if folder in OURS and (folder / "training.json").is_file():
        needed += ["themescope train", "CC BY-SA", "triplet accuracy"]
    assert [text for text in needed if text not in card] == []
    assert sum(file.stat().st_size for each in MODELS for file in each.iterdir()) <= 35e6, "together they are small"


@READABLE
def test_it_tells_themes_apart_in_the_dimensions_of_its_card(folder: Path) -> None:
    fitted, _ = load_model(folder)
    war, music = TOPICS
    texts = [war, "Two regiments were sent to defend the town against the invasion.", music]
    vectors = fitted.embed([Sentence(text) for text in texts])
    assert np.isfinite(vectors).all()
    near, far = fitted.distances(vectors[[0, 0]], vectors[[1, 2]])
    assert near < far
    stated = re.search(r"([\d,]+) dimensions", (folder / "README.md").read_text("utf-8"))
    assert stated and int(stated[1].replace(",", "")) == vectors.shape[1]


@EVERY
def test_no_article_of_the_demo_was_in_its_training(folder: Path) -> None:
    info, reader = read_info(folder), READERS.build("mediawiki-dump")
    titles = [article.title for article in reader.read(demo_dump(), SILENT)]
    assert len(titles) > 90
    assert [title for title in titles if saw_title(info, title)] == []


@pytest.fixture(scope="module")
def titles(shared_data: Path) -> list[str]:
    """The titles of all articles that models could have been trained on; the text after a title is not read."""
    found = []
    for file in (*shared_data.glob("wikipedia/articles/*.jsonl.xz"), *shared_data.glob("wikipedia-more/*.jsonl.xz")):
        with lzma.open(file, "rt", encoding="utf-8") as lines:
            found += [json.loads(line[: line.index(', "source"')] + "}")["title"] for line in lines]
    return found


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
def test_themes_of_a_stored_list_are_as_of_the_library(sqlite_store: Store, tmp_path: Path, texts: list[str]) -> None:
    """Both choose the encoder by the kind of the texts; stored vectors have fewer digits."""
    pytest.importorskip("transformers")
    file = tmp_path / "list.txt"
    file.write_text("\n".join(texts), encoding="utf-8")
    do(sqlite_store, "import-list", file=str(file), corpus="L")
    settings = {"sample": 10, "subsamples": 1}
    result = do(sqlite_store, "find-themes", corpus="L", model=DEFAULT, settings=settings)
    expected = themescope.find_themes(texts, settings=settings)
    with sqlite_store.reading() as r:
        (labels,) = r.runs.labels(result["run_id"]).values()
    score = AdjustedRandIndex(MetricConfig()).score(labels, expected.labels)
    assert score == 1.0 if texts is LIST else score > 0.6
    assert len(expected.themes) == result["k"] and expected.context == (texts is not LIST)


METHOD = read_info(pretrained_folders()[DEFAULT_MODEL])["method"]


@pytest.fixture(scope="module")
def home(make_home: MakeHome, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = write_articles(tmp_path_factory.mktemp("files"), 8, sections=5, paragraphs=2)

    def fill(store: Store) -> None:
        do(store, "import-corpus", files=[str(path)], corpus="C")
        do(store, "build-triplets", corpus="C", name="T", rules={"min_tokens": 3})

    return make_home(fill)


@pytest.fixture
def store(copy_home: CopyHome, home: Path) -> Store:
    """A store with a corpus "C" and triplets "T", but without any model."""
    return copy_home(home)


def test_pretrained_models_are_listed_and_found_by_name_before_and_after_their_first_use(store: Store) -> None:
    """Pages queue jobs with the name that they show."""
    row = call("list", "models")["models"][0]
    assert (row["name"], row["method"], row["pretrained"], row["created"]) == (DEFAULT_MODEL, METHOD, True, "")
    shown = selectable_models(store)[0]
    assert (shown.name, shown.id) == (DEFAULT_MODEL, NOT_STORED)
    assert do(store, "embed", corpus="C", model=shown.name)["embedded"] == 8
    shown = selectable_models(store)[0]
    assert shown == find_model(store, DEFAULT) and shown.id != NOT_STORED
    row = call("list", "models")["models"][0]
    assert (row["name"], row["pretrained"]) == (DEFAULT_MODEL, True) and row["created"]


def test_it_is_exported_built_upon_and_used_by_the_path_of_its_folder(store: Store, tmp_path: Path) -> None:
    assert call("export", "model", DEFAULT, tmp_path / "out")["model"] == DEFAULT_MODEL
    assert call("evaluate", "triplets", "T", "--method", tmp_path / "out")["rows"][0]["model"] == "out"
    call("train", "hybrid", "--model", DEFAULT, "--corpus", "C", "--name", "H")
    with store.reading() as r:
        assert {m.name for m in r.models.list()} >= {DEFAULT_MODEL, "H"}


def test_files_are_embedded_searched_and_clustered_by_any_of_its_names(tmp_path: Path) -> None:
    lines = tmp_path / "lines.txt"
    lines.write_text("\n".join(f"The {word} was seen near the river." for word in WORDS), encoding="utf-8")
    call("embed", lines, "--method", DEFAULT, "--out", lines.with_suffix(".npy"))
    expected = themescope.load(DEFAULT).encode(lines.read_text("utf-8").splitlines())
    np.testing.assert_allclose(np.load(lines.with_suffix(".npy")), expected, atol=1e-5)
    near = call("similar", "A stone by the river.", "--in", lines, "--method", METHOD, "--top", "1")["nearest"]
    assert "river" in near[0]["sentence"]
    found = call("cluster", lines, "--method", DEFAULT_MODEL, "--k", "2")
    with Path(found["file"]).open(encoding="utf-8", newline="") as stream:
        assert len(list(csv.DictReader(stream))) == len(WORDS)


def test_similar_reads_the_vectors_that_are_stored(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A corpus is embedded once, not at each call."""
    first = call("similar", "A stone by the river.", "--in", "C", "--top", "3")
    assert call("embed", "C")["cached"] and first["among"] == call("embed", "C")["sentences"]
    assert [one["cosine"] for one in first["nearest"]] == sorted((o["cosine"] for o in first["nearest"]), reverse=True)
    text = first["nearest"][0]["sentence"]
    monkeypatch.setattr(themescope.SentenceModel, "encode", None)
    assert call("similar", text, "--in", "C", "--top", "1")["nearest"] == [{"cosine": 1.0, "sentence": text}]


def test_one_that_was_added_under_another_name_is_found_and_hides_no_model_of_the_store(store: Store) -> None:
    do(store, "add-model", folder=str(pretrained_folders()[DEFAULT_MODEL]), name="ours")
    others = set(pretrained_folders()) - {DEFAULT_MODEL}
    assert {m.name for m in selectable_models(store)} == {"ours", *others}
    assert find_model(store, DEFAULT).name == find_model(store, DEFAULT_MODEL).name == "ours"
    do(store, "train", method="word-counts", name=DEFAULT_MODEL)
    assert find_model(store, DEFAULT_MODEL).method == "word-counts"
    assert find_model(store, DEFAULT).method == METHOD


def test_an_unknown_name_offers_the_pretrained_models_and_without_them_what_to_do_is_told(
    store: Store, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'default'"):
        find_model(store, "defualt")
    refused = CliRunner().invoke(main, ["embed", "C", "--method", "triplets-sen-title"])
    assert refused.exit_code == 2 and "'triplets-sen-titles'" in refused.output
    monkeypatch.setattr("themescope.core.paths.DATA", tmp_path)
    with pytest.raises(ArtifactError, match="Install Themescope again"):
        find_model(store, DEFAULT)
