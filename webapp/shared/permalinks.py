"""Translation of links of version 0.1, whose query parameters had no prefix."""

from __future__ import annotations

from collections.abc import Iterable

from webapp.shared.state import PageKeys

Query = list[tuple[str, str]]


def translated(keys: PageKeys | None, query: Iterable[tuple[str, str]]) -> Query:
    """Return query parameters with the names and values of version 0.1 replaced by those of today.

    A parameter that is given under its new name too keeps the new one. Unknown parameters stay.
    """
    given = list(query)
    if keys is None:
        return given
    by_old = {url.old: url for url in keys.urls.values()}
    named = {name for name, _ in given}
    found: Query = []
    for name, value in given:
        url = by_old.get(name) if name not in keys.urls else None
        if url is None:
            found.append((name, value))
        elif url.key not in named:
            found.append((url.key, url.values.get(value, value)))
    return found
