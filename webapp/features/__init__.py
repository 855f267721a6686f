"""The pages, one package or script each, and their cards.

Adding a page takes a script, ``page.py`` of a package if it has more modules, and a card here. Other packages add pages
through the entry points of the group ``themescope.pages``. Features do not import each other.
"""

from __future__ import annotations

from typing import Any

from themescope.core.registry import Registry
from themescope.db.access import Right
from themescope.webapp.shared.pages import CODE, LAB, MENU, PROJECT, RESULTS, THEMES, PageCard, Place


def _page(
    id: str,
    icon: str,
    place: Place | None,
    summary: str,
    title: str = "",
    package: str = "",
    keys: bool = True,
    **more: Any,
) -> PageCard:
    """Return the card of a page; without a place, the header links it.

    The page is the module ``page`` of the ``package``, another one of it as "package.module", or a script ".module".
    ``keys`` is whether it has view state.
    """
    title, module = title or id.capitalize(), package or id
    if "." not in module:
        module += ".page"
    package = f"themescope.webapp.features.{module.partition('.')[0]}"
    return PageCard(
        id=id,
        title=title,
        summary=summary,
        factory=f"themescope.webapp.features.{module.lstrip('.')}",
        keys=f"{package}:KEYS" if keys else "",
        icon=f":material/{icon}:",
        group=place.title if place else MENU,
        documentation=f"pages.html#{title.lower().replace(' ', '-')}",
        **more,
    )


_PAGES = [
    _page("home", "home", None, "A box for your texts, and the projects.", package=".home", keys=False),
    _page("texts", "library_books", PROJECT, "Read the texts, edit them, and take out what a project has."),
    _page("import", "upload_file", PROJECT, "Add texts as a project or a wave.", package="texts.importing", keys=False),
    _page("themes", "category", THEMES, "Find the themes of units."),
    _page("map", "scatter_plot", THEMES, "See units as points and select them."),
    _page("code", "edit_note", CODE, "Code units and correct themes.", package="coding"),
    _page("codebook", "menu_book", CODE, "Define the codes, with rules and examples."),
    _page("tasks", "assignment", CODE, "Give units to people and follow their work."),
    _page("counts", "table_chart", RESULTS, "Count the units of a theme or code by a column.", "", ".counts", False),
    _page("agreement", "handshake", RESULTS, "Measure how far people agree."),
    _page("estimates", "percent", RESULTS, "Estimate how much of a project has a code."),
    _page("report", "description", RESULTS, "Take out the report and every file of a project.", "Report and files"),
    _page("compare", "leaderboard", LAB, "Score methods on a benchmark and test their differences."),
    _page("triplets", "change_history", LAB, "Sample triplets, inspect them and review them."),
    _page("errors", "bug_report", LAB, "Collect what models get wrong and code its causes.", "", ".errors", False),
    _page("train", "model_training", LAB, "Train models and look them up."),
    _page("jobs", "work_history", None, "Follow, cancel and retry background jobs."),
    _page("people", "group", None, "Add people and set their roles.", right=Right.MANAGE),
]
REGISTRY = Registry("page", _PAGES, plugin_group="themescope.pages")
