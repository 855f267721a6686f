"""When further answers change little."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from themescope.core.labelling.history import Kind, Step
from themescope.core.labelling.operations import OperationKind

WINDOW = 15
"""Number of last answers that are considered."""
_FEW = 0.1
"""Number of sentences moved by an answer, on average over the window, up to which it is suggested to stop. Chosen on
validation articles (experiment log): going on to the end gains little after it, with wrong answers nothing."""


def standing_answers(steps: Iterable[Step]) -> list[Step]:
    """Return the steps of answers that were not undone, in order."""
    found: dict[int, Step] = {}
    for step in steps:
        if step.operation != OperationKind.ANSWER:
            continue
        if step.kind is Kind.UNDO and step.target is not None:
            found.pop(step.target, None)
        else:
            found[step.target or step.id] = step
    return list(found.values())


def stop_reason(moved: Sequence[int]) -> str:
    """Return why it is suggested to stop, given how many sentences each answer moved; "" if it is not."""
    last = moved[-WINDOW:]
    if len(last) < WINDOW or sum(last) > _FEW * WINDOW:
        return ""
    some = {0: "no sentence", 1: "1 sentence"}.get(sum(last), f"{sum(last)} sentences")
    return f"The last {WINDOW} answers moved {some}, so the next ones will probably change little."
