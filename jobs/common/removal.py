"""Takes back what an unfinished import has stored, in steps that let others write in between."""

from __future__ import annotations

import math
import time

from db.store import Store


def remove_unfinished(store: Store, corpus_id: int, seconds: float = math.inf) -> bool:
    """Remove an abandoned corpus; with ``seconds``, as much of it as that allows. True when nothing is left."""
    end = time.monotonic() + seconds
    while True:
        with store.writing() as w:
            left = w.corpora.shrink(corpus_id)
        if not left:
            return True
        if time.monotonic() >= end:
            return False
