"""The pages, one package each, and their cards.

Adding a page takes a package with a ``page.py`` and a card here. Other packages add pages through the entry points of
the group ``themescope.pages``. Features do not import each other.
"""

from __future__ import annotations

from themescope.core.registry import Registry
from themescope.db.access import Right
from themescope.webapp.shared.pages import DATA, EVALUATE, EXPLORE, LABEL, MENU, MODELS, PageCard


def _page(
    id: str, title: str, summary: str, icon: str, group: str, right: Right = Right.LOOK, sections: bool = False
) -> PageCard:
    """Return the card of a page with view state; ``group`` is its place."""
    package = f"themescope.webapp.features.{id}"
    script, keys = f"{package}.page", f"{package}:KEYS"
    return PageCard(
        id=id, title=title, summary=summary, factory=script, keys=keys, icon=icon, group=group, right=right,
        sections=sections,
        documentation=f"pages.html#{title.lower().replace(' ', '-')}",
    )  # fmt: skip


REGISTRY = Registry(
    "page",
    [
        PageCard(
            id="home",
            title="Home",
            summary="A box for your texts, and the projects.",
            factory="themescope.webapp.features.home.page",
            icon=":material/home:",
            group=MENU,
            documentation="pages.html#home",
        ),
        _page("corpora", "Data", "Import texts and read them.", ":material/library_books:", DATA.title),
        _page("map", "Map", "See sentences as points and select them.", ":material/scatter_plot:", EXPLORE.title),
        _page("themes", "Themes", "Find the themes of sentences.", ":material/category:", EXPLORE.title),
        _page(
            "selections",
            "Selections",
            "Read, label, compare, export and share selected sentences.",
            ":material/select_all:",
            EXPLORE.title,
        ),
        _page(
            "search",
            "Search",
            "Find projects, articles, sentences, themes, models, pages and documentation.",
            ":material/search:",
            EXPLORE.title,
        ),
        _page("relabel", "Relabel", "Correct the clusters of sentences.", ":material/edit_note:", LABEL.title),
        _page(
            "codebook",
            "Codebook",
            "Define what belongs into each cluster, with rules and examples.",
            ":material/menu_book:",
            LABEL.title,
        ),
        _page("tasks", "Tasks", "Give articles to people and follow their work.", ":material/assignment:", LABEL.title),
        _page("agreement", "Agreement", "Measure how far labellings agree.", ":material/handshake:", LABEL.title),
        _page(
            "estimates", "Estimates", "Estimate how much of a project has a code.", ":material/percent:", LABEL.title
        ),
        _page(
            "compare",
            "Compare",
            "Score methods on a benchmark and test their differences.",
            ":material/leaderboard:",
            EVALUATE.title,
            sections=True,
        ),
        _page(
            "triplets",
            "Triplets",
            "Sample triplets, inspect them and review them.",
            ":material/change_history:",
            EVALUATE.title,
            sections=True,
        ),
        PageCard(
            id="errors",
            title="Errors",
            summary="Collect what models get wrong, and code it by its causes.",
            factory="themescope.webapp.features.errors.page",
            icon=":material/bug_report:",
            group=EVALUATE.title,
            sections=True,
            documentation="pages.html#errors",
        ),
        _page(
            "train", "Train", "Train models and look them up.", ":material/model_training:", MODELS.title, sections=True
        ),
        _page("jobs", "Jobs", "Follow, cancel and retry background jobs.", ":material/work_history:", MENU),
        _page("people", "People", "Add people and set their roles.", ":material/group:", MENU, right=Right.MANAGE),
    ],
    plugin_group="themescope.pages",
)
