"""The pages, one package each, and their cards.

Adding a page takes a package with a ``page.py`` and a card here. Other packages add pages through the entry points of
the group ``themescope.pages``. Features do not import each other.
"""

from __future__ import annotations

from core.registry import Registry
from db.access import Right
from webapp.shared.pages import PageCard

_DATA, _METHODS, _EXPLORE, _PEOPLE, _SYSTEM = "Text", "Methods", "Explore", "People", "System"

REGISTRY = Registry(
    "page",
    [
        PageCard(
            id="home",
            title="Home",
            summary="Corpora, models, results and running jobs at a glance.",
            factory="webapp.features.home.page",
            icon=":material/home:",
        ),
        PageCard(
            id="corpora",
            title="Corpora",
            summary="Import texts and read them.",
            factory="webapp.features.corpora.page",
            keys="webapp.features.corpora.state:KEYS",
            icon=":material/library_books:",
            group=_DATA,
        ),
        PageCard(
            id="triplets",
            title="Triplets",
            summary="Sample triplets, inspect them and review them.",
            factory="webapp.features.triplets.page",
            keys="webapp.features.triplets.state:KEYS",
            icon=":material/change_history:",
            group=_DATA,
        ),
        PageCard(
            id="train",
            title="Train",
            summary="Train models and look them up.",
            factory="webapp.features.train.page",
            keys="webapp.features.train.state:KEYS",
            icon=":material/model_training:",
            group=_METHODS,
        ),
        PageCard(
            id="compare",
            title="Compare",
            summary="Score methods on a benchmark and test their differences.",
            factory="webapp.features.compare.page",
            keys="webapp.features.compare.state:KEYS",
            icon=":material/leaderboard:",
            group=_METHODS,
        ),
        PageCard(
            id="paper_tables",
            title="Paper tables",
            summary="Published numbers beside our own.",
            factory="webapp.features.paper_tables.page",
            keys="webapp.features.paper_tables.state:KEYS",
            icon=":material/science:",
            group=_METHODS,
        ),
        PageCard(
            id="map",
            title="Map",
            summary="See the sentences of a corpus as points and select them.",
            factory="webapp.features.map.page",
            keys="webapp.features.map.state:KEYS",
            icon=":material/scatter_plot:",
            group=_EXPLORE,
        ),
        PageCard(
            id="themes",
            title="Themes",
            summary="Find the themes of any list of sentences.",
            factory="webapp.features.themes.page",
            keys="webapp.features.themes.state:KEYS",
            icon=":material/category:",
            group=_EXPLORE,
        ),
        PageCard(
            id="summaries",
            title="Summaries",
            summary="Summarize documents with any model and score the summaries.",
            factory="webapp.features.summaries.page",
            keys="webapp.features.summaries.state:KEYS",
            icon=":material/short_text:",
            group=_EXPLORE,
        ),
        PageCard(
            id="relabel",
            title="Relabel",
            summary="Correct the clusters of sentences.",
            factory="webapp.features.relabel.page",
            keys="webapp.features.relabel.state:KEYS",
            icon=":material/edit_note:",
            group=_PEOPLE,
        ),
        PageCard(
            id="agreement",
            title="Agreement",
            summary="Measure how far labellings agree.",
            factory="webapp.features.agreement.page",
            keys="webapp.features.agreement.state:KEYS",
            icon=":material/handshake:",
            group=_PEOPLE,
        ),
        PageCard(
            id="people",
            title="People",
            summary="Add people and set their roles.",
            factory="webapp.features.people.page",
            keys="webapp.features.people.state:KEYS",
            icon=":material/group:",
            group=_PEOPLE,
            right=Right.MANAGE,
        ),
        PageCard(
            id="jobs",
            title="Jobs",
            summary="Follow, cancel and retry background jobs.",
            factory="webapp.features.jobs.page",
            keys="webapp.features.jobs.state:KEYS",
            icon=":material/work_history:",
            group=_SYSTEM,
        ),
    ],
    plugin_group="themescope.pages",
)
