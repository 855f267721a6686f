"""Removal of unfinished imports in short transactions, so that others can write in between."""

from __future__ import annotations

import math
import time

from db.store import Store


def remove_unfinished(store: Store, corpus_id: int, seconds: float = math.inf) -> bool:
    """Remove an abandoned corpus within ``seconds``, if given; return True when nothing is left."""
    end = time.monotonic() + seconds
    while True:
        with store.writing() as w:
            left = w.corpora.shrink(corpus_id)
        if not left:
            return True
        if time.monotonic() >= end:
            return False
