import json
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.contracts.fingerprints import families as of
from tests.contracts.fingerprints.families import Fingerprint
from tests.contracts.fingerprints.job_kinds import OF_KIND, of_job_kind
from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.metrics import REGISTRY as METRICS
from themescope.core.models import REGISTRY as MODELS
from themescope.core.readers import REGISTRY as READERS
from themescope.core.registry import Card
from themescope.core.tasks.summaries import REGISTRY as SUMMARIZERS
from themescope.core.text.word_vectors import REGISTRY as WORD_TABLES
from themescope.jobs.kinds import REGISTRY as JOB_KINDS

FILE = Path(__file__).with_name("fingerprints.json")
TOLERANCES = {"models": 1e-4, "job kinds": 1e-4}
"""Relative differences that are taken for rounding; processors differ by 1e-6, other algorithms by 1e-3 and more."""
EXACT = 1e-8
"""Tolerance of the other families, which compute in double precision or count."""

Family = tuple[Iterable[Card], Callable[[Card], Fingerprint]]
Kept = dict[str, dict[str, dict[str, Any]]]

FAMILIES: Mapping[str, Family] = {
    "models": (MODELS, of.of_model),
    "clusterers": (CLUSTERERS, of.of_clusterer),
    "metrics": (METRICS, of.of_metric),
    "readers": (READERS, of.of_reader),
    "summarizers": (SUMMARIZERS, of.of_summarizer),
    "word tables": (WORD_TABLES, of.of_word_table),
    "job kinds": ([card for card in JOB_KINDS if card.id in OF_KIND], of_job_kind),
}


class Change(NamedTuple):
    """Why the fingerprint of an implementation is not the one that was kept, and whether it may be written."""

    reason: str
    allowed: bool


def computable(card: Card) -> bool:
    return "encoder" not in card.tags or find_spec("transformers") is not None


def compare(family: str, card: Card, values: Fingerprint, kept: Mapping[str, Any] | None) -> Change | None:
    name = f"{family} {card.id}"
    if kept is None:
        return Change(f"{name}: there is no fingerprint. Write it.", True)
    if kept["revision"] != card.revision:
        was = f"the fingerprint is of revision {kept['revision']}, the card has {card.revision}. Write it again."
        return Change(f"{name}: {was}", card.revision > kept["revision"])
    if same(kept["values"], values, TOLERANCES.get(family, EXACT)):
        return None
    return Change(f"{name}: the results have changed. Raise the revision of the card, then write it again.", False)


def same(kept: Fingerprint, values: Fingerprint, tolerance: float) -> bool:
    """Return whether texts are equal and numbers close; small numbers are compared by the largest one."""
    if len(kept) != len(values):
        return False
    if any(a != b for a, b in zip(kept, values, strict=True) if isinstance(a, str) or isinstance(b, str)):
        return False
    a, b = (np.array([value for value in part if not isinstance(value, str)], float) for part in (kept, values))
    scale = float(np.abs(a).max(initial=1e-12))
    return bool(np.allclose(b, a, rtol=tolerance, atol=0.1 * tolerance * scale))


def update(kept: Kept) -> tuple[Kept, list[Change]]:
    """Return the fingerprints to keep, and everything that changed; those that may not be written stay as they were."""
    found: Kept = {}
    changes: list[Change] = []
    for family, (cards, compute) in FAMILIES.items():
        before = kept.get(family, {})
        found[family] = {card.id: before[card.id] for card in cards if card.id in before}
        for card in filter(computable, cards):
            values = compute(card)
            if change := compare(family, card, values, before.get(card.id)):
                changes.append(change)
                if change.allowed:
                    rounded = [value if isinstance(value, str) else float(f"{value:.9g}") for value in values]
                    found[family][card.id] = {"revision": card.revision, "values": rounded}
    return found, changes


def read() -> Kept:
    kept: Kept = json.loads(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {}
    return kept


def write(kept: Kept) -> None:
    """Write the fingerprints, one implementation a line."""
    parts = []
    for family, found in kept.items():
        lines = [f"    {json.dumps(id)}: {json.dumps(found[id], ensure_ascii=False)}" for id in sorted(found)]
        parts.append(f"  {json.dumps(family)}: {{\n" + ",\n".join(lines) + "\n  }")
    FILE.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8", newline="\n")
