"""Messages about names of models that are taken already."""

from __future__ import annotations

from db.store import Store


def announcement(store: Store, wanted: str) -> str:
    """What to tell, before any work, whoever asks for a model under a name that is taken; empty where it is free."""
    with store.reading() as r:
        name = r.models.usable_name(wanted)
    if not _numbered(wanted, name):
        return ""
    return f"There is a model called {wanted!r} already. If this makes another one, it will be called {name!r}."


def renamed(wanted: str, name: str) -> dict[str, str]:
    """Return the part of a job's result that tells that its model got a number behind the requested name."""
    if not _numbered(wanted, name):
        return {}
    return {"renamed": f"There was a model called {wanted!r} already, so the new one is called {name!r}."}


def _numbered(wanted: str, name: str) -> bool:
    """Whether a number was put behind; blanks around a name are no part of it."""
    return name.startswith(f"{wanted.strip()} ")
