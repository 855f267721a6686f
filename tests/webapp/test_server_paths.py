"""Paths of the server in forms: not offered without a setting, and refused outside the folders that it names."""

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from themescope.db.store import Store
from themescope.jobs.common.files import NO_FOLDERS
from themescope.webapp.shared.forms import SERVER_PATH

Open = Callable[..., AppTest]
TEXT = "# Towns\n\n## History\n\nIt was founded in 1204.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder that pages may read, beside one that they may not."""
    for name in ("texts", "private"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "towns.md").write_text(TEXT, encoding="utf-8")
    return tmp_path / "texts"


@pytest.fixture
def allowed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEMESCOPE_IMPORT_FOLDERS", str(folder))


def typed(open_page: Open, path: Path) -> AppTest:
    """The import form after a path was typed."""
    at = open_page("import")
    at.session_state["texts_import_source_0"] = SERVER_PATH
    at.session_state["texts_import_path_0"] = str(path)
    at.run()
    assert not at.exception
    return at


def shown(at: AppTest) -> str:
    kinds = (at.markdown, at.caption, at.error, at.text)
    told = [str(element.value) for kind in kinds for element in kind] + [
        e.proto.help for e in (*at.caption, *at.file_uploader)
    ]
    return "\n".join(told).replace("\\", "")


def has_import(at: AppTest) -> bool:
    return any(button.label == "Import" for button in at.button)


def test_without_folders_no_path_is_offered(sqlite_store: Store, open_page: Open, folder: Path) -> None:
    at = typed(open_page, folder / "towns.md")
    assert not any("path" in field.label.lower() for field in at.text_input)
    assert NO_FOLDERS in shown(at)
    assert "founded" not in shown(at) and not has_import(at)


@pytest.mark.usefixtures("allowed")
def test_a_path_outside_is_neither_previewed_nor_imported(sqlite_store: Store, open_page: Open, folder: Path) -> None:
    (folder / "link.md").symlink_to(folder.parent / "private" / "towns.md")
    for path in (folder.parent / "private" / "towns.md", folder / ".." / "private" / "towns.md", folder / "link.md"):
        at = typed(open_page, path)
        assert "is not below the folders that pages may read" in shown(at)
        assert "founded" not in shown(at) and not has_import(at)


@pytest.mark.usefixtures("allowed")
def test_of_a_folder_with_links_outside_the_first_is_told(sqlite_store: Store, open_page: Open, folder: Path) -> None:
    for name in ("first.md", "second.md"):
        (folder / name).symlink_to(folder.parent / "private" / "towns.md")
    at = typed(open_page, folder)
    assert len(at.error) == 1 and "is not below the folders that pages may read" in shown(at)
    assert "founded" not in shown(at) and not has_import(at)


@pytest.mark.usefixtures("filled_store")
@pytest.mark.parametrize(
    ("page", "query", "label"), [("import", {}, "Source"), ("train", {}, "Model folder on the server")]
)
def test_every_form_offers_paths_only_with_folders(
    page: str, query: dict[str, str], label: str, open_page: Open, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def labels(at: AppTest) -> list[str]:
        assert not at.exception
        return [element.label for element in (*at.text_input, *at.get("button_group"))]

    at = open_page(page, **query)
    assert NO_FOLDERS in shown(at) and label not in labels(at)
    monkeypatch.setenv("THEMESCOPE_IMPORT_FOLDERS", str(folder))
    at = open_page(page, **query)
    assert NO_FOLDERS not in shown(at) and label in labels(at)
