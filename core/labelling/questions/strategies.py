"""Strategies that choose the next question, by their ids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from themescope.core.errors import UnknownNameError
from themescope.core.labelling.answers import Question
from themescope.core.labelling.questions import aggregation, cobra, pairs, placement
from themescope.core.labelling.questions.state import QuestionState

Ask = Callable[[QuestionState], Question | None]


@dataclass(frozen=True, slots=True)
class Strategy:
    """A way to choose the next question."""

    id: str
    title: str
    summary: str
    ask: Ask
    """Returns the next question; None if there is nothing left to ask."""
    small_clusters: bool = False
    """Whether it is meant to begin with many small clusters."""


STRATEGIES = {
    strategy.id: strategy
    for strategy in (
        Strategy(
            "placement",
            "Place sentences",
            "Asks to which cluster the least certain sentence belongs. The most gain for each question.",
            placement.which_cluster,
        ),
        Strategy(
            "closer",
            "Nearest of two",
            "Asks which of two clusters is closer to the least certain sentence. Quick to answer.",
            placement.which_closer,
        ),
        Strategy(
            "cobra",
            "Merge small clusters (COBRA)",
            "Asks whether the two most similar clusters belong together. Finds the number of clusters.",
            cobra.ask,
            small_clusters=True,
        ),
        Strategy(
            "a3s",
            "Merge and split (A3S)",
            "Asks for the merge or split of which most is expected for the clusters as a whole.",
            aggregation.ask,
            small_clusters=True,
        ),
        Strategy(
            "least-certain",
            "Least certain pairs",
            "Asks about the two sentences of which it is least clear whether they belong together.",
            pairs.least_certain,
        ),
        Strategy("random", "Random pairs", "Asks about two random sentences, for comparison.", pairs.random),
    )
}
"""The recommended one first."""


def strategy(id: str) -> Strategy:
    """Return a strategy by its id; raise :class:`UnknownNameError` if there is none."""
    if id not in STRATEGIES:
        raise UnknownNameError("question strategy", id, list(STRATEGIES))
    return STRATEGIES[id]
