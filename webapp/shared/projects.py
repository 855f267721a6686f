"""The current project: a corpus with everything that was made of it, the context of every page.

The address of a page names the project under the key that all pages share
(:data:`themescope.webapp.shared.pages.CORPUS`), and so does every link. A page that is opened without it shows the last
project of this session, else the one that this browser remembers, else the one used most recently.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import streamlit as st

from themescope.db.records import CorpusRecord
from themescope.webapp.shared import partition_queries, queries
from themescope.webapp.shared.components import draw_component
from themescope.webapp.shared.cookies import project_cookie
from themescope.webapp.shared.pages import CORPUS, PageKeys
from themescope.webapp.shared.text import shorten

_ASSETS = Path(__file__).parent / "assets"
_LONGEST = 120
_CURRENT, _UNKNOWN = "project_current", "project_unknown"


def current() -> CorpusRecord | None:
    """Return the current project; None if there is none at all. Pages use it in place of a choice of their own."""
    found: CorpusRecord | None = st.session_state.get(_CURRENT)
    return found


def current_id() -> int:
    """Return the id of the current project, for queries of what belongs to it; 0, which no project has, for none."""
    found = current()
    return found.id if found is not None else 0


def open_named(keys: PageKeys | None) -> None:
    """Set the current project of a run: that of the address, if it names one; called by the app before the page."""
    known = queries.corpora()
    asked = str(st.query_params.get(CORPUS, ""))
    found = next((corpus for corpus in known if corpus.name == asked), None) or _fallback(known, keys)
    st.session_state[_UNKNOWN] = asked if asked and (found is None or found.name != asked) else ""
    st.session_state[CORPUS], st.session_state[_CURRENT] = found.name if found is not None else "", found
    if found is not None and found.name != asked:
        st.query_params[CORPUS] = found.name


def ask_for(name: str) -> None:
    """Name another project in the address of the open page; for callbacks, before the run that opens it."""
    st.query_params[CORPUS] = name


def unknown() -> str:
    """Return the name of the project in the address if there is no such project; "" if it is fine."""
    return shorten(str(st.session_state.get(_UNKNOWN, "")), _LONGEST)


def _fallback(known: list[CorpusRecord], keys: PageKeys | None) -> CorpusRecord | None:
    """Return the project to show where the address names none."""
    by_id, by_name = {corpus.id: corpus for corpus in known}, {corpus.name: corpus for corpus in known}
    return (
        by_id.get(_owner(keys))
        or by_name.get(str(st.session_state.get(CORPUS, "")))
        or by_id.get(_remembered())
        or next(iter(by_activity(known)), None)
    )


def _owner(keys: PageKeys | None) -> int:
    """Return the id of the project of the first record that the address names; 0 for none."""
    for url in keys.urls.values() if keys is not None else ():
        name = st.query_params.get(url.key, "") if url.record else ""
        owner = _OWNERS[url.record](name) if name else None
        if owner is not None:
            return owner
    return 0


def _by_name(records: Callable[[], list[tuple[str, int]]]) -> Callable[[str], int | None]:
    """Return a look-up of the project of a record by its name; of equal names the first counts."""
    return lambda name: next((owner for known, owner in records() if known == name), None)


_OWNERS: Mapping[str, Callable[[str], int | None]] = {
    "map": _by_name(lambda: [(found.name, found.corpus_id) for found in queries.maps()]),
    "benchmark": _by_name(lambda: [(found.name, found.corpus_id) for found in queries.benchmarks()]),
    "triplet set": _by_name(lambda: [(found.name, found.corpus_id) for found in queries.triplet_sets()]),
    "labelling": _by_name(lambda: [(found.name, found.corpus_id) for found in partition_queries.labellings()]),
    "themes": _by_name(lambda: [(found.name, found.corpus.id) for found in partition_queries.analyses()]),
    "labelled text": lambda name: next(
        (corpus.id for corpus in queries.corpora() if name == corpus.name or name.endswith(f" ({corpus.name})")), None
    ),
}
"""Looks up projects by the kinds of records that a URL key may name (``UrlKey.record``)."""


def by_activity(known: Sequence[CorpusRecord]) -> list[CorpusRecord]:
    """Return the projects, the one used most recently first."""
    times = last_activity(known)
    return sorted(known, key=lambda corpus: (times[corpus.id], corpus.id), reverse=True)


def last_activity(known: Sequence[CorpusRecord]) -> dict[int, datetime]:
    """Return project id → time at which something was last made in it, or a job on it ended."""
    ids = {corpus.name: corpus.id for corpus in known}
    found = {corpus.id: corpus.created for corpus in known}
    made: list[Any] = [*queries.maps(), *queries.benchmarks(), *queries.triplet_sets(), *partition_queries.labellings()]
    times = [(record.corpus_id, record.created) for record in made]
    times += [(ids.get(str(job.args.get("corpus"))), job.ended or job.created) for job in queries.jobs(limit=500)]
    for owner, time in times:
        if owner in found:
            found[owner] = max(found[owner], time)
    return found


# ---------------------------------------------------------------- what a browser remembers


def _remembered() -> int:
    """Return the id of the project that this browser had open last; 0 for none."""
    given = st.context.cookies.get(project_cookie(), "")
    return int(given) if given.isascii() and given.isdigit() else 0


def remember() -> None:
    """Let the browser remember the current project; called by the app once per run."""
    found = current()
    if found is not None:
        draw_component(
            "kept_cookie",
            _ASSETS,
            data={"name": project_cookie(), "value": str(found.id)},
            key="project-cookie",
            height=0,
        )
