"""Which files of this machine a job that was started from a page may read."""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.config import options
from themescope.core.errors import AccessError
from themescope.core.models import REGISTRY as MODELS
from themescope.core.paths import DATA
from themescope.core.readers import REGISTRY as READERS
from themescope.core.registry import Registry
from themescope.core.tasks.summaries import REGISTRY as SUMMARIZERS
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.common.files import UPLOADS, readable
from themescope.jobs.kinds import REGISTRY as KINDS
from themescope.jobs.queue.control import enqueue

ANYWHERE = Path(os.path.abspath(os.sep))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder that pages may read, beside one that they may not."""
    for name in ("texts", "texts-private"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.txt").write_text("text", encoding="utf-8")
    return tmp_path / "texts"


@pytest.fixture
def open_settings(settings: Settings, folder: Path) -> Settings:
    return replace(settings, import_folders=(folder,))


@pytest.fixture
def pages(sqlite_store: Store, folder: Path) -> Iterator[Store]:
    """The store as pages use it, with a folder that they may read."""
    store = Store(replace(sqlite_store.settings, import_folders=(folder,)))
    yield store.by(lambda: "")
    store.close()


class TestReadable:
    def test_files_below_the_folders(self, open_settings: Settings, folder: Path) -> None:
        for path in (folder, folder / "a.txt", folder / "new" / "b.txt", folder / "x" / ".." / "a.txt"):
            assert readable(open_settings, path) == path.resolve()
        (link := folder.parent / "link").symlink_to(folder)
        assert readable(replace(open_settings, import_folders=(link,)), link / "a.txt") == folder / "a.txt"

    def test_nothing_else_and_no_links_that_lead_out(self, open_settings: Settings, folder: Path) -> None:
        outside = [ANYWHERE, folder.parent, folder / "..", folder / ".." / "texts-private" / "a.txt"]
        (folder / "private").symlink_to(folder.parent / "texts-private")
        outside += [folder / "private" / "a.txt", ANYWHERE / "etc" / "passwd", Path("a.txt"), Path("a\0.txt")]
        for path in (*outside, open_settings.home):
            with pytest.raises(AccessError, match="is not below the folders that pages may read"):
                readable(open_settings, path)
        (folder / "inside").symlink_to(folder / "a.txt")
        (folder / "circle").symlink_to(folder / "circle")
        assert readable(open_settings, folder / "inside") == folder / "a.txt"
        with pytest.raises(AccessError, match="form a cycle"):
            readable(open_settings, folder / "circle")

    def test_uploads_and_pretrained_models_need_no_setting(self, settings: Settings) -> None:
        for path in (settings.home / UPLOADS / "1" / "a.txt", DATA / "models" / "some"):
            assert readable(settings, path) == path.resolve()
        with pytest.raises(AccessError, match="set THEMESCOPE_IMPORT_FOLDERS"):
            readable(settings, ANYWHERE / "etc" / "passwd")
        with pytest.raises(AccessError, match="Pages may not read"):
            readable(settings, settings.home / UPLOADS / ".." / "signing-key")


PATH_WORDS = re.compile(r"\b(paths?|files?|folder|copy of)\b", re.IGNORECASE)
FILES_OF_PAPERS = ("data", "words", "triplets", "scb", "sick", "document")
SECRET = str(ANYWHERE / "etc" / "passwd")
JOBS: list[tuple[str, Mapping[str, Any]]] = [
    ("add-model", {"folder": SECRET, "name": "m"}),
    ("evaluate-relatedness", {"model": "m", "sick": SECRET}),
    ("evaluate-summaries", {"documents": SECRET, "model": "m"}),
    ("evaluate-triplets", {"model": "m", "file": SECRET}),
    ("evaluate-triplets", {"model": "m", "triplets": "t", "sick": SECRET}),
    ("export-bundle", {"corpus": "c", "file": SECRET}),
    ("export-dataset", {"corpus": "c", "folder": SECRET}),
    ("import-bundle", {"file": SECRET, "corpus": "c"}),
    ("import-codings", {"file": SECRET, "corpus": "c"}),
    ("import-triplets", {"file": SECRET, "name": "t"}),
    ("import-corpus", {"files": [SECRET], "corpus": "c"}),
    ("append-corpus", {"wave": "2", "files": [SECRET], "corpus": "c"}),
    ("import-list", {"file": SECRET, "corpus": "c", "column": "text"}),
    *(("reproduce", {"paper": "ed18", name: SECRET}) for name in FILES_OF_PAPERS),
    ("train", {"method": "triplets-sen", "name": "m", "files": [SECRET, SECRET]}),
    ("train", {"method": "mean-vectors", "name": "m", "settings": {"word_vectors": SECRET}}),
    ("train", {"method": "mean-vectors", "name": "m", "settings": {"word_vectors": f"distilled:{SECRET}"}}),
    ("train", {"method": "minilm", "name": "m", "settings": {"folder": SECRET}}),
]


class TestJobsFromPages:
    @pytest.mark.parametrize(("kind", "args"), JOBS)
    def test_paths_outside_are_refused_and_the_command_line_is_free(
        self, pages: Store, sqlite_store: Store, kind: str, args: Mapping[str, Any]
    ) -> None:
        with pytest.raises(AccessError, match="is not below the folders that pages may read"):
            enqueue(pages, kind, args)
        with pages.reading() as r:
            assert r.jobs.list() == []
        assert enqueue(sqlite_store, kind, args).kind == kind

    def test_full_paths_inside_are_accepted(self, pages: Store, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        enqueue(pages, "import-corpus", {"files": [str(folder / "a.txt")], "corpus": "c"})
        enqueue(pages, "train", {"method": "mean-vectors", "name": "m"})
        enqueue(pages, "train", {"method": "mean-vectors", "name": "d", "settings": {"word_vectors": "distilled:"}})
        enqueue(pages, "export-bundle", {"corpus": "c"})
        monkeypatch.chdir(folder)
        with pytest.raises(AccessError, match="Enter the full path instead of"):
            enqueue(pages, "import-corpus", {"files": ["a.txt"], "corpus": "c"})
        with pages.reading() as r:
            assert len(r.jobs.list()) == 4

    def test_folders_with_links_that_lead_out_are_refused(self, pages: Store, folder: Path) -> None:
        (folder / "model" / "deep").mkdir(parents=True)
        enqueue(pages, "add-model", {"folder": str(folder / "model"), "name": "m"})
        (folder / "model" / "deep" / "config.json").symlink_to(SECRET)
        with pytest.raises(AccessError, match=r"config\.json' is not below"):
            enqueue(pages, "add-model", {"folder": str(folder / "model"), "name": "m"})


def test_every_argument_that_names_a_file_is_declared_so() -> None:
    """What is not declared with ``file=True`` is not checked."""
    declared = {(kind, name) for kind, args in JOBS for name, value in args.items() if SECRET in (value, *value)}
    for card in KINDS:
        for name, (_, _, info) in options(card.config_class()).items():
            says_so = bool(PATH_WORDS.search(info.help.replace("data folder", "")))
            assert info.file is says_so is ((card.id, name) in declared), (card.id, name)


@pytest.mark.parametrize("registry", [READERS, CLUSTERERS, SUMMARIZERS])
def test_only_settings_of_models_name_files(registry: Registry) -> None:
    """A job that carries other settings with files in them must say so in ``file_names``, as training does."""
    named = {card.id for card in registry if any(info.file for _, _, info in options(card.config_class()).values())}
    assert named == set()
    assert any(info.file for card in MODELS for _, _, info in options(card.config_class()).values())
