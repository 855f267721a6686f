"""Tables of everything that is registered, for the site; ``python docs/reference_tables.py`` prints them."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.config import default_of, options
from themescope.core.metrics import REGISTRY as METRICS
from themescope.core.models import REGISTRY as METHODS
from themescope.core.readers import REGISTRY as READERS
from themescope.core.registry import Card, Registry
from themescope.core.tasks.summaries import REGISTRY as SUMMARIZERS
from themescope.jobs.executors import REGISTRY as EXECUTORS
from themescope.jobs.kinds import REGISTRY as JOB_KINDS
from themescope.jobs.kinds import JobCard
from themescope.webapp.features import REGISTRY as PAGES

FAMILIES: tuple[tuple[str, Registry[Any]], ...] = (
    ("Methods", METHODS),
    ("Clusterers", CLUSTERERS),
    ("Readers", READERS),
    ("Metrics", METRICS),
    ("Summarizers", SUMMARIZERS),
    ("Executors", EXECUTORS),
    ("Job kinds", JOB_KINDS),
    ("Pages", PAGES),
)
_HEAD = """# Reference

Everything that is registered, with its settings.
"""


def document() -> str:
    """Return the tables of every family as Markdown."""
    return "\n".join([_HEAD, *(_family(title, registry) for title, registry in FAMILIES)])


def _family(title: str, registry: Iterable[Card]) -> str:
    cards = list(registry)
    rows = [f"| `{card.id}` | {_cell(card.title)} | {_cell(card.summary)} | {_cell(card.source)} |" for card in cards]
    table = ["| id | title | summary | source |", "|---|---|---|---|", *rows]
    configured = (card for card in cards if card.config or isinstance(card, JobCard))
    return "\n".join([f"## {title}", "", *table, "", *map(_settings, configured)])


def _settings(card: Card) -> str:
    known = options(card.config_class())
    if not known:
        return ""
    head = [f"### Settings of `{card.id}`", "", "| setting | default | meaning |", "|---|---|---|"]
    rows = [
        f"| `{name}` | {_default(default_of(field))} | {_cell(info.help)} |" for name, (field, _, info) in known.items()
    ]
    return "\n".join([*head, *rows, ""])


def _default(value: Any) -> str:
    return f"`{value!r}`" if isinstance(value, bool | int | float) else f"`{value}`" if value else ""


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


if __name__ == "__main__":
    sys.stdout.write(document())
