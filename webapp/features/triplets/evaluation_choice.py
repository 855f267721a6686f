"""Widgets that choose an evaluation of a triplet set, shared by the margin, section-pair and slice views."""

from __future__ import annotations

from collections.abc import Sequence

from webapp.shared.choose import by_name, nothing
from webapp.shared.model_choice import together
from webapp.shared.triplet_queries import Evaluation

_NO_MODEL = "nobody"


def no_evaluations() -> None:
    """Show the empty state of a set that no model has been evaluated on."""
    nothing(
        "No model has been evaluated on this set yet.",
        "Open the page Compare, tab “Triplet accuracy”, choose the set and press “Evaluate”; this page then shows "
        "where each model is right and by how much.",
        "compare",
        "Compare",
    )


def choose(evaluations: Sequence[Evaluation]) -> Evaluation:
    """Return the chosen one of at least one evaluation, grouped by method."""
    return by_name("Model", together(evaluations, lambda e: e.model.method), "model", lambda e: e.name)


def choose_second(first: Evaluation, evaluations: Sequence[Evaluation]) -> Evaluation | None:
    """Return another evaluation on the same split to compare with, if one is chosen."""
    others = [e for e in evaluations if e.split is first.split and e.run.id != first.run.id]
    options: list[Evaluation | None] = [None, *others]
    return by_name("Compare with", options, "against", lambda e: _NO_MODEL if e is None else e.name)
