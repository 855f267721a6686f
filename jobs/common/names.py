"""Messages about model names that are already taken."""

from __future__ import annotations

from db.store import Store


def announcement(store: Store, wanted: str) -> str:
    """Return a warning if the name of a new model is taken, else ""."""
    with store.reading() as r:
        name = r.models.usable_name(wanted)
    if not _numbered(wanted, name):
        return ""
    return f"There is a model called {wanted!r} already. If this makes another one, it will be called {name!r}."


def renamed(wanted: str, name: str) -> dict[str, str]:
    """Return result entries that report that a number was appended to the requested model name."""
    if not _numbered(wanted, name):
        return {}
    return {"renamed": f"There was a model called {wanted!r} already, so the new one is called {name!r}."}


def _numbered(wanted: str, name: str) -> bool:
    """Return whether a number was appended; surrounding blanks are ignored."""
    return name.startswith(f"{wanted.strip()} ")
