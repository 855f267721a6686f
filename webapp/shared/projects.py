"""The current project: a corpus with everything that was made of it, the context of every page.

The address of a page names the project under the key that all pages share
(:data:`themescope.webapp.shared.pages.CORPUS`), and so does every link. A page that is opened without it shows the last
project of this session, else the one that this browser remembers, else the one used most recently.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import streamlit as st

from themescope.core.errors import ThemescopeError
from themescope.core.paths import pretrained_folders
from themescope.core.records.stored import CorpusRecord
from themescope.webapp.shared import compare_queries, queries
from themescope.webapp.shared.compare_queries import TASK
from themescope.webapp.shared.components import draw_component
from themescope.webapp.shared.pages import CORPUS, PageKeys
from themescope.webapp.shared.people import project_cookie

_CURRENT, _UNKNOWN, _KNOWN = "project_current", "project_unknown", "project_known"


def current() -> CorpusRecord | None:
    """Return the current project; None if there is none at all. Pages use it in place of a choice of their own."""
    return st.session_state.get(_CURRENT)


def current_id() -> int:
    """Return the id of the current project, for queries of what belongs to it; 0, which no project has, for none."""
    found = current()
    return found.id if found is not None else 0


def open_named(name: str, asked: bool) -> None:
    """Set the current project of a run; "" for the one to show where none is named.

    Where somebody ``asked`` for a project that does not exist, there is none, and :func:`unknown` has its name until
    another one is named. A project that was deleted while it was open gives way to another one.
    """
    known = queries.corpora()
    found = next((corpus for corpus in known if corpus.name == name), None)
    st.session_state[_KNOWN] = known
    missing = st.session_state.get(_UNKNOWN, "") if not asked else name if found is None else ""
    if found is None and not missing:
        # The last one of this session, of this browser, or of all.
        by_id, by_name = {corpus.id: corpus for corpus in known}, {corpus.name: corpus for corpus in known}
        last = by_name.get(str(st.session_state.get(CORPUS, ""))) or by_id.get(_remembered())
        texts = [corpus for corpus in known if not corpus.failures_of]
        found = last or next(iter(by_activity(texts or known)), None)
    st.session_state[_UNKNOWN] = missing
    st.session_state[CORPUS], st.session_state[_CURRENT] = found.name if found is not None else "", found
    if found is not None and st.query_params.get(CORPUS) != found.name:
        st.query_params[CORPUS] = found.name


def known() -> list[CorpusRecord]:
    """Return the projects at the beginning of this run."""
    return st.session_state.get(_KNOWN, [])


def unknown() -> str:
    """Return the name of the project that a link named if there is no such project; "" if it is fine."""
    return str(st.session_state.get(_UNKNOWN, ""))


def name_of(project_id: int) -> str:
    """Return the name of a project; "" if there is none with that id."""
    return next((corpus.name for corpus in queries.corpora() if corpus.id == project_id), "") if project_id else ""


def owner(keys: PageKeys | None, query: Mapping[str, str | Sequence[str]]) -> int:
    """Return the id of the project of the first record that the parameters of a page name; 0 for none."""
    return next((owner for _, _, owner in _named(keys, query) if owner), 0)


def missing(keys: PageKeys, query: Mapping[str, str | Sequence[str]]) -> tuple[str, str] | None:
    """Return kind and name of the first record that the parameters of a page name and this project lacks, or None."""
    named = _named(keys, query)
    return next(((kind, name) for kind, name, owner in named if owner not in (_ANY, current_id())), None)


def _named(keys: PageKeys | None, query: Mapping[str, str | Sequence[str]]) -> Iterator[tuple[str, str, int | None]]:
    """Yield kind, name and project of the records that the parameters of a page name; None for no such record."""
    for url in keys.urls.values() if keys is not None else ():
        value = query.get(url.key, "") if url.record else ""
        names = [value] if isinstance(value, str) else value if url.kind is list else value[-1:]
        for name in filter(None, names):
            found = _OWNERS[url.record](name)
            yield url.record, name, _OWNERS[url.record](_NUMBER.sub("", name)) if found is None else found


_ANY = 0
"""In place of the project of a record that belongs to none."""
_NUMBER = re.compile(r" \(\d+\)$")
"""What a list appends to the second of equal names."""


def _by_name(records: Callable[[], list[tuple[str, int]]]) -> Callable[[str], int | None]:
    """Return a look-up of the project of a record by its name; of equal names that in the current project counts."""

    def look_up(name: str) -> int | None:
        owners = [owner for known, owner in records() if known == name]
        return current_id() if current_id() in owners else next(iter(owners), None)

    return look_up


def _labelled_texts(name: str) -> list[tuple[str, int]]:
    """Return name and project of every text that may be called ``name`` on the page Agreement."""
    found = [(c.name, c.id) for c in queries.corpora()]
    found += [(name, id) for corpus, id in found if name.endswith(f" ({corpus})")]  # an article
    return found + [(f"{TASK}{task.name}", task.corpus_id) for task in queries.read(lambda r: r.tasks.list())]


def _document(title: str) -> int | None:
    by_nearness = sorted(queries.corpora(), key=lambda corpus: corpus.id != current_id())
    return next((corpus.id for corpus in by_nearness if queries.article_titled(corpus.id, title) is not None), None)


def _selection(id: str) -> int | None:
    try:
        return queries.read(lambda r: r.selections.get(int(id))).corpus_id
    except (ValueError, OverflowError, ThemescopeError):
        return None


_OWNERS: Mapping[str, Callable[[str], int | None]] = {
    "map": _by_name(lambda: [(found.name, found.corpus_id) for found in queries.maps()]),
    "benchmark": _by_name(lambda: [(found.name, found.corpus_id) for found in queries.benchmarks()]),
    "triplet set": _by_name(lambda: [(found.name, found.corpus_id) for found in queries.triplet_sets()]),
    "labelling": _by_name(lambda: [(found.name, found.corpus_id) for found in compare_queries.labellings()]),
    "themes": _by_name(lambda: [(found.name, found.corpus.id) for found in compare_queries.analyses()]),
    "task": _by_name(lambda: [(task.name, task.corpus_id) for task in queries.read(lambda r: r.tasks.list())]),
    "document": _document,
    "selection": _selection,
    "person": lambda name: (
        _ANY if any(name == person.name for person in queries.read(lambda r: r.people.list())) else None
    ),
    "labelled text": lambda name: _by_name(lambda: _labelled_texts(name))(name),
    "model": lambda name: (
        _ANY if name in pretrained_folders() or any(name == model.name for model in queries.models()) else None
    ),
    "project": lambda name: _ANY if any(name == corpus.name for corpus in queries.corpora()) else None,
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
    made: list[Any] = [*queries.maps(), *queries.benchmarks(), *queries.triplet_sets(), *compare_queries.labellings()]
    times = [(record.corpus_id, record.created) for record in made]
    times += [(ids.get(str(job.args.get("corpus"))), job.ended or job.created) for job in queries.jobs(limit=500)]
    for owner, time in times:
        if owner in found:
            found[owner] = max(found[owner], time)
    return found


def _remembered() -> int:
    """Return the id of the project that this browser had open last; 0 for none."""
    given = st.context.cookies.get(project_cookie(), "")
    return int(given) if given.isascii() and given.isdigit() else 0


def remember() -> None:
    """Let the browser remember the current project; called by the app once per run."""
    found = current()
    if found is not None:
        draw_component(
            "kept_cookie", data={"name": project_cookie(), "value": str(found.id)}, key="project-cookie", height=0
        )
