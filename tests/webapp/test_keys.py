"""What a widget keeps under its key is kept for the whole session: where two pages share a key, they mean one kind.

A person who turns to another page while the first is still being drawn carries what it kept along.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import webapp

KINDS = {
    **dict.fromkeys(("text_input", "text_area", "selectbox", "segmented_control", "radio", "tabs", "by_name"), "text"),
    **dict.fromkeys(("number_input", "slider"), "number"),
    **dict.fromkeys(("toggle", "checkbox"), "switch"),
    **dict.fromkeys(("multiselect", "pills"), "several"),
    **dict.fromkeys(("button", "form_submit_button", "download_button"), "click"),
    "file_uploader": "file",
    "dataframe": "table",
}
BY_NAME_KEY = 2
"""Where :func:`webapp.shared.choose.by_name` takes its key."""


def keys_of(path: Path) -> Iterator[tuple[str, str]]:
    """The fixed keys of the widgets in a file, with the kind of what stands under them."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        given = [k.value for k in node.keywords if k.arg == "key"]
        given += node.args[BY_NAME_KEY : BY_NAME_KEY + 1] if name == "by_name" else []
        for value in given:
            if name in KINDS and isinstance(value, ast.Constant):
                yield str(value.value), KINDS[name]


def test_a_key_means_one_kind_of_value_on_all_pages() -> None:
    found: dict[str, set[str]] = {}
    for path in sorted(Path(webapp.__file__).parent.rglob("*.py")):
        for key, kind in keys_of(path):
            found.setdefault(key, set()).add(kind)
    assert len(found) > 50
    assert {key: kinds for key, kinds in found.items() if len(kinds) > 1} == {}
