"""Adding cases to the error notebook from any page, and reading the notebook."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from urllib.parse import urlencode

import streamlit as st

from themescope.core.records.stored import ErrorCase
from themescope.db.access import Right
from themescope.db.label_records import NewCase, Notebook
from themescope.db.repositories.error_notebook import NOTE_LIMIT
from themescope.webapp.shared import queries
from themescope.webapp.shared.components import attempt
from themescope.webapp.shared.navigation import current_page, shown_view
from themescope.webapp.shared.pages import CORPUS
from themescope.webapp.shared.people import current_person, may
from themescope.webapp.shared.text import count, plain, shorten

PAGE = "notebook"
LABEL, ICON = "Add to error notebook", ":material/bug_report:"
_OPEN, _ADDED = "error_notebook_open", "error_notebook_added"
_TEXT = 240


@st.cache_resource(show_spinner=False, max_entries=4)
def _read(corpus_id: int, created: datetime, version: tuple[int, ...]) -> Notebook:
    return queries.read(lambda r: r.error_notebook.read(corpus_id))


def read(corpus_id: int, created: datetime) -> Notebook:
    """Return the notebook of a project, cached until it changes; ``created`` makes the cache key unique."""
    return _read(corpus_id, created, queries.read(lambda r: r.error_notebook.version(corpus_id)))


def permalink(view: Mapping[str, str] | None = None) -> str:
    """Return page and query of the view that is open, without the project; ``view`` replaces values of URL keys."""
    query = {name: values for name, values in shown_view().items() if name != CORPUS}
    query |= {name: [value] for name, value in (view or {}).items()}
    return f"{current_page()}?{urlencode(query, doseq=True)}"


def open_dialog(key: str) -> None:
    """Open the dialog of :func:`add_button` with that key; for callbacks."""
    st.session_state[_OPEN] = key


def add_button(key: str, case: Callable[[], NewCase]) -> None:
    """Draw a button with a dialog that adds a case; ``case`` is called in the dialog, where it may draw a choice."""
    st.button(LABEL, icon=ICON, key=f"error-notebook-{key}", on_click=open_dialog, args=(key,))
    if st.session_state.get(_OPEN) == key:
        st.dialog(LABEL, on_dismiss=_close)(form)(key, case)
    announce()


def _close() -> None:
    st.session_state.pop(_OPEN, None)


def form(key: str, case: Callable[[], NewCase], after: Callable[[], object] = _close) -> None:
    """Draw the form that adds a case; ``after`` is called once it is stored, before the page is drawn again."""
    if not may(Right.LABEL):
        st.info("You may view, but not change anything. Ask an admin.", icon=":material/lock:")
        return
    new = attempt(case)
    if new is None:
        return
    # What the case is about: its sentences with their places, and what models said.
    facts = new.facts
    first = next(iter(facts.passages))
    st.markdown(f"**{plain(shorten(first.text, _TEXT))}**")
    more = f" · {count(facts.sentences, 'sentence')}" if facts.sentences > 1 and not first.role else ""
    place = " › ".join(part for part in (first.article, first.section) if part)
    st.caption(f"{plain(place)}{more} · {plain(facts.source)}")
    for statement in facts.statements()[:3]:
        st.caption(plain(statement))
    corpus = queries.read(lambda r: r.corpora.get(new.corpus_id))
    categories = read(corpus.id, corpus.created).current_categories()
    with st.form(f"error-notebook-form-{key}", border=False):
        note = st.text_area(
            "Note", key=f"error-notebook-note-{key}-{new.digest[:8]}", max_chars=NOTE_LIMIT,
            placeholder="What went wrong, and why? Notes can be grouped into categories later.",
        )  # fmt: skip
        chosen = st.multiselect(
            "Categories", [one.name for one in categories], accept_new_options=True,
            key=f"error-notebook-categories-{key}-{new.digest[:8]}",
            placeholder="Choose, or type a new one",
        )  # fmt: skip
        st.caption("Ctrl+Enter in the note saves.")
        pressed = st.form_submit_button("Save case", type="primary", icon=":material/save:")
    if pressed and (added := attempt(lambda: _store(new, note or "", chosen))) is not None:
        st.session_state[_ADDED] = (added.id, corpus.name)
        after()
        st.rerun()


def _store(new: NewCase, note: str, names: list[str]) -> ErrorCase:
    person = current_person()
    with queries.store().writing() as w:
        known = {one.name.casefold(): one.id for one in w.error_notebook.read(new.corpus_id).current_categories()}
        added = w.error_notebook.add(new, person, note)
        for name in names:
            id = known.get(name.strip().casefold())
            if id is None:
                id = w.error_categories.add(new.corpus_id, name, "", person).id
            w.error_categories.code(added.id, id, person, True)
    return added


def announce() -> None:
    """Say once that a case was added, with a link to it."""
    added = st.session_state.pop(_ADDED, None)
    if added is not None:
        number, corpus = added
        address = urlencode({CORPUS: corpus, f"{PAGE}_case": number})
        st.toast(f"Saved as case {number}. [Open the error notebook](/{PAGE}?{address})", icon=ICON, duration="long")
