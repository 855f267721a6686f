"""The pages, one package each, and their cards.

Adding a page takes a package with a ``page.py`` and a card here. Other packages add pages through the entry points of
the group ``themescope.pages``. Features do not import each other.
"""

from __future__ import annotations

from typing import Any

from themescope.core.registry import Registry
from themescope.db.access import Right
from themescope.webapp.shared.pages import DATA, EVALUATE, EXPLORE, LABEL, MENU, MODELS, PageCard, Place


def _page(id: str, icon: str, place: Place | None, summary: str, keys: bool = True, **more: Any) -> PageCard:
    """Return the card of a page; without a place, the header links it. ``keys`` is whether it has view state."""
    title, package = "Data" if id == "corpora" else id.capitalize(), f"themescope.webapp.features.{id}"
    return PageCard(
        id=id, title=title, summary=summary, factory=f"{package}.page", keys=f"{package}:KEYS" if keys else "",
        icon=f":material/{icon}:", group=place.title if place else MENU, documentation=f"pages.html#{title.lower()}",
        **more,
    )  # fmt: skip


_PAGES = [
    _page("home", "home", None, "A box for your texts, and the projects.", keys=False),
    _page("corpora", "library_books", DATA, "Import texts and read them."),
    _page("map", "scatter_plot", EXPLORE, "See sentences as points and select them."),
    _page("themes", "category", EXPLORE, "Find the themes of sentences."),
    _page("selections", "select_all", EXPLORE, "Read, label, compare, export and share selected sentences."),
    _page("search", "search", EXPLORE, "Find projects, articles, sentences, themes, models, pages and documentation."),
    _page("relabel", "edit_note", LABEL, "Correct the clusters of sentences."),
    _page("codebook", "menu_book", LABEL, "Define what belongs into each cluster, with rules and examples."),
    _page("tasks", "assignment", LABEL, "Give articles to people and follow their work."),
    _page("agreement", "handshake", LABEL, "Measure how far labellings agree."),
    _page("estimates", "percent", LABEL, "Estimate how much of a project has a code."),
    _page(
        "compare", "leaderboard", EVALUATE, "Score methods on a benchmark and test their differences.", sections=True
    ),
    _page("triplets", "change_history", EVALUATE, "Sample triplets, inspect them and review them.", sections=True),
    _page(
        "errors",
        "bug_report",
        EVALUATE,
        "Collect what models get wrong, and code it by its causes.",
        False,
        sections=True,
    ),
    _page("train", "model_training", MODELS, "Train models and look them up.", sections=True),
    _page("jobs", "work_history", None, "Follow, cancel and retry background jobs."),
    _page("people", "group", None, "Add people and set their roles.", right=Right.MANAGE),
]
REGISTRY = Registry("page", _PAGES, plugin_group="themescope.pages")
