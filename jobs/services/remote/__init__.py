"""What the HTTP API and the MCP server offer, as functions of a store that return the records of ``core.client``.

Reading needs a store. Writing needs the :class:`~themescope.db.access.Actor` as well, whose role is looked up again in
the transaction. Errors are those of :mod:`themescope.core.errors`; an unknown id is an ``UnknownNameError``.
"""

from __future__ import annotations

from themescope.db.access import Actor
from themescope.db.store import Store

MOST_ITEMS = 1_000
"""Maximum number of items of a page."""


def acting(store: Store, actor: Actor) -> Store:
    """Return the store for a person, whose role limits what they write."""
    return store.by(lambda: actor.name)
