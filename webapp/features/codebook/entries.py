"""Codes tab of the Codebook page, one code of which can be edited in place, and the state of an editing session."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from uuid import uuid4

import streamlit as st

from themescope.core.errors import ThemescopeError
from themescope.core.labelling.changes import StaleChangeError, Step
from themescope.core.labelling.codebook import operations as book
from themescope.core.labelling.codebook.entries import TEXTS, Code, CodebookEntry, codes, entry_of
from themescope.core.labelling.operations import Operation
from themescope.core.labelling.partition import Partition
from themescope.core.labelling.task_items import EXPLANATION_LIMIT, training_items
from themescope.core.records.stored import LabellingRecord
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.webapp.features.codebook import EDIT, SEARCH
from themescope.webapp.shared import queries
from themescope.webapp.shared.choose import nothing
from themescope.webapp.shared.figures import tones
from themescope.webapp.shared.labelling.codebook_view import close_editor, editor, entry_html, title_html
from themescope.webapp.shared.navigation import page_link
from themescope.webapp.shared.people import current_person
from themescope.webapp.shared.results import compare_queries
from themescope.webapp.shared.results.compare_queries import edit_view
from themescope.webapp.shared.text import count, plain

READ_ONLY = "This labelling is read-only for you. Make your own copy on the Relabel page to change it."


@dataclass
class CodebookState:
    """The codebook of one labelling as one browser session sees it."""

    session: LabellingSession
    notice: str = ""
    """Why the last action was refused."""
    saved: str = ""
    """Summary of the last change of this session."""

    @property
    def record(self) -> LabellingRecord:
        """The labelling."""
        return self.session.record

    @property
    def partition(self) -> Partition:
        """The labelling as the page shows it."""
        return self.session.partition

    @property
    def read_only(self) -> bool:
        """Whether this person may only read the labelling; reads the role from the store."""
        role = queries.read(lambda r: r.people.role(self.session.person))
        return not self.record.editable_by(self.session.person, role)

    def texts(self, ids: Iterable[int]) -> dict[int, str]:
        """Return sentences by id."""
        return compare_queries.sentence_texts(list(ids))

    def apply(self, make: Callable[[Partition], Operation]) -> Step | None:
        """Make a change and save it; for callbacks, nothing is raised.

        After a conflict the page shows the other person's version, and saving again replaces it.
        """
        if self.read_only:
            self.notice = READ_ONLY
            return None
        return self._move(lambda: self.session.do(make(self.partition)), "Nothing has changed.")

    def undo(self) -> None:
        """Undo this person's last change of the labelling; for callbacks."""
        self._move(self.session.undo, "You have nothing to undo.")

    def redo(self) -> None:
        """Redo the change that was undone last; for callbacks."""
        self._move(self.session.redo, "You have nothing to redo.")

    def _move(self, move: Callable[[], Step | None], if_none: str) -> Step | None:
        self.notice = self.saved = ""
        try:
            step = move()
        except StaleChangeError as error:
            self.session.sync()
            self.notice = f"{error} The page now shows that version. Save again to replace it."
            return None
        except ThemescopeError as error:
            self.notice = str(error)
            return None
        if step is None:
            self.notice = if_none
        else:
            self.saved = step.summary if step.target is None else f"{step.kind.value}: {step.summary}"
        return step


def codebook_state(record: LabellingRecord) -> CodebookState:
    """Return the state of this browser session for a labelling and the person who is present now, up to date."""
    key, person = f"codebook_state_{record.id}", current_person()
    held = st.session_state.get(key)
    if not isinstance(held, CodebookState) or held.session.person != person:
        held = CodebookState(LabellingSession(queries.store(), record.id, person))
        st.session_state[key] = held
    held.session.sync()
    return held


# --- entries ----------------------------------------------------------------------------------------------------------


_AT_ONCE = 30
_INDENT = 36
"""Indent of sub-themes in pixels."""


def show(state: CodebookState) -> None:
    """Draw the tab."""
    listed = codes(state.partition)
    if not listed:
        nothing(
            "This labelling has no clusters yet.",
            "Create clusters on the Relabel page, or import codes in the tab Files.",
            "relabel",
            "Open Relabel",
            edit_view(state.record.name),
        )
        return
    may_edit = not state.read_only
    search = _head(state, listed, may_edit)
    texts = state.texts({id for code in listed for id in _sentences(code)})
    found = [code for code in listed if _matches(code, search, texts)]
    if not found:
        nothing("No matching codes.", "Clear the search to see all of them.")
    limit = int(st.session_state.get("codebook_shown", _AT_ONCE))
    for code in found[:limit]:
        _code(state, code, texts, may_edit)
    if len(found) > limit:
        st.button(
            f"Show {count(min(_AT_ONCE, len(found) - limit), 'more code')}",
            icon=":material/expand_more:",
            on_click=lambda: st.session_state.update({"codebook_shown": limit + _AT_ONCE}),
        )
    if may_edit:
        _gold_items(state)


def _gold_items(state: CodebookState) -> None:
    """Draw the gold items of tasks: sentences with their right cluster and an explanation, also from the examples."""
    partition, items = state.partition, training_items(state.partition)
    known = {item.sentence for item in items}
    new = [
        id
        for number in sorted(partition.clusters)
        for id in entry_of(partition, number).examples
        if id not in known and int(partition.numbers[partition.rows([id])[0]]) == number
    ]
    texts = state.texts(known)

    def change(make: Callable[[Partition], Operation]) -> None:
        state.apply(make)

    with st.expander(f"Gold items ({len(items)})", icon=":material/school:"):
        st.caption("Sentences with their right code, for tasks. Choose them in Relabel, or use the examples.")
        if new:
            st.button(
                f"Use {count(len(new), 'example')} of the codebook", icon=":material/add:",
                on_click=change, args=(lambda p: book.choose_training(p, [uuid4().hex for _ in new], new),),
            )  # fmt: skip
        for item in items:
            st.markdown(f"**{plain(partition.clusters[item.cluster].name)}**")
            st.text(texts.get(item.sentence, ""))
            key = f"codebook_item_{item.key}"
            text = st.text_area(
                "Explanation", item.explanation, max_chars=EXPLANATION_LIMIT, height=80, key=f"{key}_text"
            )
            with st.container(horizontal=True):
                st.button(
                    "Save explanation", key=f"{key}_save", icon=":material/save:", disabled=text == item.explanation,
                    on_click=change, args=(lambda p, item=item, text=text: book.explain_training(p, item, text),),
                )  # fmt: skip
                st.button(
                    "Remove item", key=f"{key}_remove", icon=":material/delete:", type="tertiary",
                    on_click=change, args=(lambda p, item=item: book.drop_training(p, item),),
                )  # fmt: skip


def _sentences(code: Code) -> tuple[int, ...]:
    return code.entry.examples + code.entry.counter_examples


def _matches(code: Code, search: str, texts: dict[int, str]) -> bool:
    """Return whether every word of the search is in the name, a field or an example of a code."""
    parts = [code.cluster.name, *(getattr(code.entry, name) for name in TEXTS), *(texts[i] for i in _sentences(code))]
    whole = " ".join(parts).casefold()
    return all(word in whole for word in search.casefold().split())


def _head(state: CodebookState, listed: list[Code], may_edit: bool) -> str:
    with st.container(horizontal=True, vertical_alignment="bottom"):
        search = st.text_input("Search", key=SEARCH, bind="query-params", icon=":material/search:", width=260)
        if may_edit:
            found = state.session.undo_state
            for label, move, steps in (("Undo", state.undo, found.undoable), ("Redo", state.redo, found.redoable)):
                st.button(
                    label,
                    icon=f":material/{label.lower()}:",
                    on_click=_travel,
                    args=(state, move),
                    disabled=not steps,
                    help=f"{label} your last change of this labelling",
                )
        st.space("stretch")
        page_link("relabel", "Open in Relabel", view=edit_view(state.record.name))
    written = sum(bool(code.entry) for code in listed)
    about = f"{count(len(listed), 'code')}, {written:,} with a codebook entry"
    st.caption(plain(f"{about} · Saved: {state.saved}" if state.saved else about))
    messages(state)
    return search or ""


def messages(state: CodebookState) -> None:
    """Draw why the last action was refused, once."""
    if state.notice:
        st.warning(plain(state.notice), icon=":material/info:")
        state.notice = ""


def _code(state: CodebookState, code: Code, texts: dict[int, str], may_edit: bool) -> None:
    number = code.cluster.number
    editing = st.session_state.get(EDIT) == (state.record.id, number)
    with st.container(horizontal=True, gap=None):
        if code.cluster.parent is not None:
            st.space(_INDENT)
        # Codes without an entry are lines of a list.
        with st.container(border=editing or bool(code.entry), gap="xsmall"):
            size = state.partition.sizes()[number]
            with st.container(horizontal=True, vertical_alignment="center", wrap=False):
                st.html(title_html(code.cluster, tones(st.context.theme.type), size), width="stretch")
                if may_edit:
                    st.button(
                        "Close" if editing else "Edit",
                        icon=":material/close:" if editing else ":material/edit:",
                        key=f"{EDIT}_{number}",
                        help=f"{'Close' if editing else 'Edit'} the entry of {plain(code.cluster.name)}",
                        on_click=_edit,
                        args=(state, None if editing else number),
                    )
            if editing:
                _form(state, code)
            elif code.entry:
                st.html(entry_html(code, state.partition, texts))


def _form(state: CodebookState, code: Code) -> None:
    number = code.cluster.number

    def save(entry: CodebookEntry) -> bool:
        return state.apply(lambda p: book.write(p, number, entry)) is not None

    if editor(_form_key(state), code, state.partition, state.texts, save):
        st.session_state[EDIT] = None
        st.rerun()


def _form_key(state: CodebookState) -> str:
    return f"codebook_form_{state.record.id}"


def _edit(state: CodebookState, number: int | None) -> None:
    """Open the form of a code, or with None close the open one; for callbacks."""
    opened = st.session_state.get(EDIT)
    if opened is not None:
        close_editor(_form_key(state), opened[1])
    st.session_state[EDIT] = None if number is None else (state.record.id, number)


def _travel(state: CodebookState, move: Callable[[], None]) -> None:
    """Undo or redo; an open form is closed, because its entry may change."""
    _edit(state, None)
    move()
