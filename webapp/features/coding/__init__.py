"""URL keys of the page Code, and the records that its session state holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import Kind, Step
from themescope.core.labelling.partition import Partition
from themescope.core.types import Ids
from themescope.webapp.shared.pages import PageKeys

HISTORY, REST, FILES, SETTINGS = "History", "Label the rest", "Files", "Settings"
LEARN, NEW = "Learn from it", "New coding"
"""What the menu of a coding opens in place of a surface."""

KEYS = PageKeys("code")
SURFACE = KEYS.url("surface")
"""The open surface: Code, Sort or Table."""
VIEW = KEYS.url("view")
"""What the menu has opened; "" for a surface."""
LABELLING = KEYS.url("labelling", record="labelling")
FILTER = KEYS.url("filter")
QUEUE = KEYS.url("queue")
"""Name of the queue of the surface Code."""
UNSURE_QUEUE = "Unsure predictions"
"""The queue of the predictions to check next."""
WAVE_QUEUE = "New in "
"""Beginning of the name of the queue of a wave's units without a code."""
SELECTION = KEYS.url("selection")
"""Id of the stored selection that is the working set of the filter “Selection”."""
SEARCH = KEYS.url("search")
ORDER = KEYS.url("order")
CLUSTER = KEYS.url("cluster")
"""Number of the cluster that is open in Sort."""
DIALOG_CLUSTER = "code_dialog_cluster"
CODEBOOK = "code_codebook"
NO_CODE = "No code"
"""What stands in place of the code of a unit without one, and the filter for such units."""
UNCERTAIN = "Uncertain"
"""The filter for sentences that are marked as uncertain."""

CODE_KEYS = "123456789abcdeghiklmopqrsvw"
"""Keys of the codes by their place in the codebook, on every surface; the other letters are those of actions."""
NONE_SELECTED: Ids = np.empty(0, dtype=np.int64)
NEEDS_MODEL = "This needs vectors. Choose a model under Settings."
READ_ONLY = "This coding is read-only for you. Make your own copy to change it."
Make = Callable[[Partition], op.Operation]


@dataclass(frozen=True, slots=True)
class ShownChange:
    """A change of the labelling that does not depend on the selection at the time it is saved."""

    make: Make
    reason: str = ""
    selection_method: str = ""
    keep_selection: bool = False


@dataclass(frozen=True, slots=True)
class Unsaved:
    """A change that the store refused, and the error message."""

    change: ShownChange
    error: str


def step_summary(step: Step) -> str:
    """Return what a step did, in one line."""
    return step.summary if step.kind is Kind.DO else f"{step.kind.value}: {step.summary}"
