"""Widgets that choose an evaluation of a triplet set, shared by the margin, section-pair and slice views."""

from __future__ import annotations

from collections.abc import Sequence

from webapp.features.triplets.state import MODEL, NO_MODEL, SECOND_MODEL
from webapp.shared.choose import by_name, nothing
from webapp.shared.model_choice import together
from webapp.shared.triplet_queries import Evaluation


def no_evaluations() -> None:
    """Show the empty state of a set that no model has been evaluated on."""
    nothing(
        "No evaluated model yet.",
        "Evaluate a model on this set on the Compare page, tab “Triplet accuracy”.",
        "compare",
        "Open Compare",
    )


def choose(evaluations: Sequence[Evaluation]) -> Evaluation:
    """Return the chosen one of at least one evaluation, grouped by method."""
    return by_name("Model", together(evaluations, lambda e: e.model.method), MODEL, lambda e: e.name)


def choose_second(first: Evaluation, evaluations: Sequence[Evaluation]) -> Evaluation | None:
    """Return another evaluation on the same split to compare with, if one is chosen."""
    others = [e for e in evaluations if e.split is first.split and e.run.id != first.run.id]
    options: list[Evaluation | None] = [None, *others]
    return by_name("Compare with", options, SECOND_MODEL, lambda e: NO_MODEL if e is None else e.name)
