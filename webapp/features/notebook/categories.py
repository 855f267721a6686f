"""Categories tab: create, rename, describe, merge, delete and restore categories; accept suggested ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from themescope.core.errors import ThemescopeError
from themescope.core.labelling.partition import COLOURS
from themescope.core.records.stored import CorpusRecord
from themescope.db.access import Right
from themescope.db.label_records import ErrorCategory, Notebook
from themescope.db.repositories.base import NAME_LIMIT
from themescope.db.repositories.error_notebook import DESCRIPTION_LIMIT
from themescope.db.store import Unit
from themescope.jobs.services.notebook import suggestions as service
from themescope.jobs.services.notebook.counts import codes_of
from themescope.jobs.services.notebook.suggestions import Suggestion
from themescope.webapp.features.notebook import state
from themescope.webapp.shared import queries
from themescope.webapp.shared.choose import nothing
from themescope.webapp.shared.components import attempt
from themescope.webapp.shared.figures import tones
from themescope.webapp.shared.people import current_person, may
from themescope.webapp.shared.text import count, plain, shorten

_WAYS = {"Meaning (default model)": service.BY_MEANING, "Words (tf-idf)": service.BY_WORDS}
_EXAMPLE = 200


def show(corpus: CorpusRecord, notebook: Notebook) -> None:
    """Draw the categories and the suggestions."""
    current = notebook.current_categories()
    left, right = st.columns([3, 2], gap="large")
    with left:
        st.subheader("Categories", anchor=False)
        if not current:
            nothing("No categories yet.", "Add one below, or let the notes suggest some.")
        sizes = Counter(id for given in codes_of(notebook, None).values() for id in given)
        for category in current:
            _category(category, current, sizes[category.id])
        names = {one.id: one.name for one in notebook.categories}
        gone = [one for one in notebook.categories if one.deleted is not None or one.merged_into is not None]
        if gone and may(Right.LABEL):
            with st.expander(f"Deleted and merged categories ({len(gone)})", icon=":material/history:"):
                for one in gone:
                    what = "deleted" if one.merged_into is None else f"merged into “{names.get(one.merged_into, '')}”"
                    with st.container(horizontal=True, vertical_alignment="center"):
                        st.markdown(f"{plain(one.name)}, {plain(what)}", width="stretch")
                        st.button(
                            "Restore", key=f"{state.CATEGORY_FORM}_{one.id}_{one.version}_restore",
                            on_click=_restore, args=(one,),
                        )  # fmt: skip
        if may(Right.LABEL):
            _new(corpus)
    with right:
        st.subheader("Suggestions from notes", anchor=False)
        _suggestions(corpus, notebook)


def _delete(category: ErrorCategory) -> None:
    queries.write(lambda w: w.error_categories.delete(category, current_person()))


def _restore(category: ErrorCategory) -> None:
    queries.write(lambda w: w.error_categories.restore(category, current_person()))


# ---------------------------------------------------------------- one category


def _category(category: ErrorCategory, current: Sequence[ErrorCategory], cases: int) -> None:
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        with st.container(gap="xxsmall", width="stretch"):
            colour = tones(st.context.theme.type).colour(category.colour)
            st.html(f'<span style="display:inline-block;width:2.5rem;height:.35rem;background:{colour}"></span>')
            st.markdown(f"**{plain(category.name)}** · {count(cases, 'case')}")
            if category.description:
                st.caption(plain(category.description))
        if may(Right.LABEL):
            with st.popover("Edit", icon=":material/edit:", key=f"{state.CATEGORY_FORM}_{category.id}_edit"):
                _edit(category)
            others = [one for one in current if one.id != category.id]
            with st.popover(
                "Merge", icon=":material/merge:", disabled=not others, key=f"{state.CATEGORY_FORM}_{category.id}_merge"
            ):
                _merge(category, others)
            st.button(
                "Delete", icon=":material/delete:", type="tertiary", key=f"{state.CATEGORY_FORM}_{category.id}_delete",
                on_click=_delete, args=(category,),
                help="Its cases are kept, and it can be restored.",
            )  # fmt: skip


def _edit(category: ErrorCategory) -> None:
    key = f"{state.CATEGORY_FORM}_{category.id}_{category.version}"
    with st.form(key, border=False):
        name = st.text_input("Name", value=category.name, max_chars=NAME_LIMIT)
        about = st.text_area("Description", value=category.description, max_chars=DESCRIPTION_LIMIT, height=96)
        colour = st.number_input("Colour", 1, COLOURS, category.colour % COLOURS + 1, help="Place in the palette.")
        pressed = st.form_submit_button("Save category", icon=":material/save:")
    new = name or "", about or "", int(colour) - 1
    if pressed and queries.write(lambda w: w.error_categories.change(category, *new, current_person())):
        st.rerun()


def _merge(category: ErrorCategory, others: Sequence[ErrorCategory]) -> None:
    names = {one.name: one.id for one in others}
    into = st.selectbox("Merge into", list(names), key=f"{state.CATEGORY_FORM}_{category.id}_into")
    st.caption("Its cases then count there. The merge can be undone below the list.")
    key = f"{state.CATEGORY_FORM}_{category.id}_merged"
    pressed = into in names and st.button("Merge categories", type="primary", icon=":material/merge:", key=key)
    if pressed and queries.write(lambda w: w.error_categories.merge(category, names[into], current_person())):
        st.rerun()


def _new(corpus: CorpusRecord) -> None:
    with st.form(f"{state.CATEGORY_FORM}_new", clear_on_submit=True):
        name = st.text_input("Name of the new category", max_chars=NAME_LIMIT)
        about = st.text_input("Description (optional)", max_chars=DESCRIPTION_LIMIT)
        pressed = st.form_submit_button("Add category", icon=":material/add:")
    new = name or "", about or ""
    if pressed and queries.write(lambda w: w.error_categories.add(corpus.id, *new, current_person())):
        st.rerun()


# ---------------------------------------------------------------- suggestions


def _suggestions(corpus: CorpusRecord, notebook: Notebook) -> None:
    written = service.texts_to_cluster(notebook)
    st.caption(
        f"Notes are clustered, and each cluster can become a category. {count(len(written), 'case')} "
        f"{'has' if len(written) == 1 else 'have'} notes."
    )
    try:
        service.check_number(len(written))
    except ThemescopeError as error:
        st.info(plain(error), icon=":material/info:")
        return
    if not may(Right.LABEL):
        return
    way = st.selectbox("Similarity of notes by", list(_WAYS), key="notebook_suggestions_by")
    key = f"notebook_suggestions_{corpus.id}"
    if st.button("Suggest categories", icon=":material/auto_awesome:", key=f"{key}_ask"):
        with st.spinner("Clustering the notes …"):
            st.session_state[key] = attempt(lambda: service.suggest_categories(notebook, _WAYS[way]))
    kept: Sequence[Suggestion] = st.session_state.get(key) or ()
    for place, one in enumerate(kept):
        _suggestion(corpus, notebook, one, f"{key}_{place}_{hash(one.case_ids)}")


def _suggestion(corpus: CorpusRecord, notebook: Notebook, one: Suggestion, key: str) -> None:
    new, existing = "New category", {c.name: c for c in notebook.current_categories()}
    with st.container(border=True):
        st.text_input(f"Name · {count(len(one.case_ids), 'case')}", value=one.name, key=f"{key}_name")
        for example in one.examples:
            st.caption(f"“{plain(shorten(example, _EXAMPLE))}”")
        if existing:
            st.selectbox("Accept as", [new, *existing], key=f"{key}_target")

        def accept() -> None:
            # Of the session: a name that was typed right before the click has not been drawn yet.
            name, target = st.session_state[f"{key}_name"], st.session_state.get(f"{key}_target", new)
            if _accept(corpus, one, str(name or one.name), existing.get(target)):
                _dismiss(corpus, one)

        with st.container(horizontal=True):
            st.button("Accept", type="primary", icon=":material/check:", key=f"{key}_accept", on_click=accept)
            st.button("Dismiss", icon=":material/close:", key=f"{key}_dismiss", on_click=_dismiss, args=(corpus, one))


def _accept(corpus: CorpusRecord, one: Suggestion, name: str, existing: ErrorCategory | None) -> bool:
    """Make a suggestion a category, or part of an existing one, and give it to its cases for this person."""
    person = current_person()

    def change(w: Unit) -> None:
        of = existing or w.error_categories.add(corpus.id, name, "", person)
        for case in one.case_ids:
            w.error_categories.code(case, of.id, person, True)

    return queries.write(change)


def _dismiss(corpus: CorpusRecord, one: Suggestion) -> None:
    key = f"notebook_suggestions_{corpus.id}"
    st.session_state[key] = [other for other in st.session_state[key] if other != one]
