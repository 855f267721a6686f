"""Where the results of a search lead to, and results among the pages and the documentation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from themescope.jobs.services.everything import HitGroup, Result, group_of, holds_all
from themescope.webapp.shared.navigation import offered_cards
from themescope.webapp.shared.pages import CORPUS, DOCUMENTATION, SITE
from themescope.webapp.shared.results import partition_queries

_INDEX = "searchindex.js"
_ICONS = {
    "Projects": "folder",
    "Articles": "article",
    "Sentences": "format_quote",
    "Themes": "category",
    "Models": "model_training",
    "Pages": "web_asset",
    "Documentation": "menu_book",
}


@dataclass(frozen=True, slots=True)
class Link:
    """Target of a result: a view of a page, or an address of the documentation."""

    page: str = ""
    view: Mapping[str, str] = field(default_factory=dict)
    address: str = ""


def icon_of(kind: str) -> str:
    """Return the name of the Material icon of a kind of results."""
    return _ICONS[kind]


def link_of(kind: str, result: Result) -> Link:
    """Return where a result of the store leads to."""
    here = {CORPUS: result.project}
    if kind == "Models":
        return Link("train", {"view": "Models", "model": result.title})
    if kind == "Themes":
        return Link("themes", {**here, "view": "Results", **_theme_view(result)})
    if kind == "Projects":
        return Link("home", here)
    view = {**here, "view": "Read", "article": result.article}
    return Link("corpora", view | ({"sentence": str(result.sentence)} if result.sentence else {}))


def _theme_view(result: Result) -> dict[str, str]:
    """Return the view of the newest list of themes of a project with this theme."""
    for analysis in partition_queries.analyses():
        names = [theme["name"] for theme in analysis.themes]
        if analysis.corpus.name == result.project and result.title in names:
            return {"result": analysis.name, "theme": f"{names.index(result.title) + 1}. {result.title}"}
    return {}


def pages(words: Sequence[str]) -> tuple[HitGroup, list[Link]]:
    """Return the pages whose title or summary contains the words."""
    cards = offered_cards()
    found = [card for card in cards if holds_all(f"{card.title} {card.summary}", words)]
    found.sort(key=lambda card: not holds_all(card.title, words))
    group = group_of("Pages", [Result(card.title, card.summary) for card in found])
    return group, [Link(card.id) for card in found[: len(group.results)]]


def documentation(words: Sequence[str]) -> tuple[HitGroup, list[Link]]:
    """Return the sections of the documentation whose heading contains the words."""
    found = [(title, page, address) for title, page, address in _headings() if holds_all(title, words)]
    found.sort(key=lambda heading: len(heading[0]))
    group = group_of("Documentation", [Result(title, page) for title, page, _ in found])
    return group, [Link(address=DOCUMENTATION + address) for _, _, address in found[: len(group.results)]]


def _headings() -> list[tuple[str, str, str]]:
    """Return heading, title of its page and address of each section; none if the site has not been built."""
    path = SITE / _INDEX
    return _read(path, path.stat().st_mtime_ns) if path.is_file() else []


@lru_cache(maxsize=1)
def _read(path: Path, changed: int) -> list[tuple[str, str, str]]:
    text = path.read_text(encoding="utf-8")
    index = json.loads(text[text.index("{") : text.rindex("}") + 1])
    names, titles = index["docnames"], index["titles"]
    return [
        (heading, titles[page], f"{names[page]}.html" + (f"#{anchor}" if anchor else ""))
        for heading, places in index["alltitles"].items()
        for page, anchor in places
    ]
