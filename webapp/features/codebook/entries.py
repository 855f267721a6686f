"""Codebook page: the codes, one of which can be edited in place, gold units, versions and files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

import pandas as pd
import streamlit as st

from themescope.core.errors import ThemescopeError
from themescope.core.labelling import operations as op
from themescope.core.labelling.changes import ChangeSet, EntryChange, StaleChangeError, Step
from themescope.core.labelling.codebook import entries as book_entries
from themescope.core.labelling.codebook import operations as book
from themescope.core.labelling.codebook.entries import (
    NAME_LIMIT,
    TEXTS,
    Code,
    CodebookEntry,
    Version,
    codes,
    differences,
    entry_of,
    versions,
)
from themescope.core.labelling.operations import Operation, OperationKind
from themescope.core.labelling.partition import Cluster, EntryKind, Partition, code_sizes, start
from themescope.core.labelling.task_items import EXPLANATION_LIMIT, training_items
from themescope.core.records.stored import LabellingRecord
from themescope.core.types import ReadAccount
from themescope.db.access import Right
from themescope.db.records import NewLabelling
from themescope.jobs.services.labelling import codebook, starts
from themescope.jobs.services.labelling.session import LabellingSession
from themescope.webapp.features.codebook import EDIT, SEARCH
from themescope.webapp.shared import compare_queries, forms, people, projects, queries
from themescope.webapp.shared.choose import closed, nothing
from themescope.webapp.shared.components import attempt, draw_table
from themescope.webapp.shared.figures import tones
from themescope.webapp.shared.labelling import close_editor, difference_html, editor, entry_html, title_html
from themescope.webapp.shared.navigation import page_link
from themescope.webapp.shared.people import current_person
from themescope.webapp.shared.text import ago, count, plain

READ_ONLY = "This labelling is read-only for you. Make your own copy on the page Code to change it."


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

    def apply(self, make: Callable[[Partition], Operation]) -> Step | None:
        """Make a change and save it; for callbacks, nothing is raised.

        After a conflict the page shows the other person's version, and saving again replaces it.
        """
        if self.read_only:
            self.notice = READ_ONLY
            return None
        return self.move(lambda: self.session.do(make(self.partition)), "Nothing has changed.")

    def move(self, move: Callable[[], Step | None], if_none: str) -> Step | None:
        """Change, undo or redo; an error, or that there was nothing to do, becomes the notice."""
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


_AT_ONCE, NEW_CODE = 30, 0


def show(state: CodebookState) -> None:
    """Draw the codes with what belongs to each; one of them, or a new one, is edited in place."""
    listed, may_edit = codes(state.partition), not state.read_only
    messages(state)
    if st.session_state.get(EDIT) == (state.record.id, NEW_CODE) and may_edit:
        with st.container(border=True, key=f"item-code-{NEW_CODE}"):
            _form(state, Code(Cluster(NEW_CODE, "", 0), CodebookEntry()))
    if not listed:
        nothing("No codes yet.", "A code has a name, a definition, and rules for what belongs to it and what does not.")
    search = str(st.session_state.get(SEARCH, ""))
    texts = compare_queries.sentence_texts([id for code in listed for id in _sentences(code)])
    found = [code for code in listed if _matches(code, search, texts)]
    if listed and not found:
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


def show_gold(state: CodebookState) -> None:
    """Draw the gold units of tasks: units with their right code and an explanation, also from the examples."""
    messages(state)
    partition, items = state.partition, training_items(state.partition)
    known = {item.sentence for item in items}
    new = [
        id
        for number in sorted(partition.clusters)
        for id in entry_of(partition, number).examples
        if id not in known and int(partition.numbers[partition.rows([id])[0]]) == number
    ]
    texts, may_edit = compare_queries.sentence_texts([*known]), not state.read_only

    def change(make: Callable[[Partition], Operation]) -> None:
        state.apply(make)

    st.caption("Units with their right code, for tasks. Choose them on the surface Table, or use the examples.")
    if new and may_edit:
        st.button(
            f"Use {count(len(new), 'example')} of the codebook",
            icon=":material/add:",
            on_click=change,
            args=(lambda p: book.choose_training(p, [uuid4().hex for _ in new], new),),
        )
    for item in items:
        key = f"codebook_item_{item.key}"
        with st.container(border=True, key=f"item-gold-{item.key}"):
            st.markdown(f"**{plain(partition.clusters[item.cluster].name)}**")
            st.text(texts.get(item.sentence, ""))
            text = st.text_area(
                "Explanation",
                item.explanation,
                max_chars=EXPLANATION_LIMIT,
                height=80,
                key=f"{key}_text",
                disabled=not may_edit,
            )
            if not may_edit:
                continue
            with st.container(horizontal=True):
                st.button(
                    "Save explanation",
                    key=f"{key}_save",
                    icon=":material/save:",
                    disabled=text == item.explanation,
                    on_click=change,
                    args=(lambda p, item=item, text=text: book.explain_training(p, item, text),),
                )
                st.button(
                    "Remove unit",
                    key=f"{key}_remove",
                    icon=":material/delete:",
                    type="tertiary",
                    on_click=change,
                    args=(lambda p, item=item: book.drop_training(p, item),),
                )


def _sentences(code: Code) -> tuple[int, ...]:
    return code.entry.examples + code.entry.counter_examples


def _matches(code: Code, search: str, texts: dict[int, str]) -> bool:
    """Return whether every word of the search is in the name, a field or an example of a code."""
    parts = [code.cluster.name, *(getattr(code.entry, name) for name in TEXTS), *(texts[i] for i in _sentences(code))]
    whole = " ".join(parts).casefold()
    return all(word in whole for word in search.casefold().split())


def head(state: CodebookState) -> None:
    """Draw search, the new code, undo and redo; they stand in the row of the page."""
    st.text_input(
        "Search",
        key=SEARCH,
        bind="query-params",
        icon=":material/search:",
        placeholder="Search",
        width=220,
        label_visibility="collapsed",
    )
    if state.read_only:
        return
    st.button(
        "New code",
        type="secondary" if st.session_state.get(EDIT) else "primary",
        icon=":material/add:",
        on_click=_edit,
        args=(state, NEW_CODE),
    )
    session, found = state.session, state.session.undo_state
    for label, move, steps in (("Undo", session.undo, found.undoable), ("Redo", session.redo, found.redoable)):
        if steps:
            st.button(
                label,
                icon=f":material/{label.lower()}:",
                on_click=_travel,
                args=(state, move, label.lower()),
                help=f"{label} your last change of this coding",
            )
    if state.saved:
        st.caption(plain(f"Saved: {state.saved}"))


def first_code() -> None:
    """Draw the form of the first code of a project, whose codebook it begins; nothing is coded with it yet."""
    corpus, person = projects.current(), current_person()
    if corpus is None or closed("Codes", Right.LABEL):
        return

    def save(name: str, entry: CodebookEntry) -> bool:
        new = NewLabelling(corpus.id, f"{corpus.name} · codebook"[:180], person)
        record = attempt(lambda: starts.begin(queries.store(), new, starts.from_nothing))
        if record is None or codebook_state(record).apply(lambda p: _created(p, 1, name, entry)) is None:
            return False
        _edit(codebook_state(record), NEW_CODE)
        return True

    with st.container(border=True, key=f"item-code-{NEW_CODE}"):
        st.markdown("**The first code**")
        code = Code(Cluster(NEW_CODE, "", 0), CodebookEntry())
        if editor("codebook_first", code, start([]), lambda ids: {}, save):
            st.rerun()


def _created(partition: Partition, number: int, name: str, entry: CodebookEntry) -> Operation:
    """Create a code with its entry, in one step."""
    made = op.create(partition, number, name, partition.ids[:0])
    written = [book_entries.change(partition, number, entry)] if entry else []
    return replace(made, change_set=ChangeSet((*made.change_set, *written)))


def messages(state: CodebookState) -> None:
    """Draw why the last action was refused, once."""
    if state.notice:
        st.warning(plain(state.notice), icon=":material/info:")
        state.notice = ""


def _code(state: CodebookState, code: Code, texts: dict[int, str], may_edit: bool) -> None:
    number = code.cluster.number
    editing = st.session_state.get(EDIT) == (state.record.id, number)
    with st.container(horizontal=True, gap=None, key=f"item-code-{number}"):
        if code.cluster.parent is not None:
            st.space(36)  # pixels
        # Codes without an entry are lines of a list.
        with st.container(border=editing or bool(code.entry), gap="xsmall"):
            size = code_sizes(state.partition)[number]
            with st.container(horizontal=True, vertical_alignment="center", wrap=False):
                st.html(title_html(code.cluster, tones(st.context.theme.type), size), width="stretch")
                if may_edit:
                    label, opened = ("Close", None) if editing else ("Edit", number)
                    icon, help = f":material/{label.lower()}:", f"{label} {plain(code.cluster.name)}"
                    key, args = f"{EDIT}_{number}", (state, opened)
                    st.button(label, key=key, icon=icon, type="tertiary", help=help, on_click=_edit, args=args)
            if editing:
                _form(state, code)
            elif code.entry:
                st.html(entry_html(code, state.partition, texts))


def _form(state: CodebookState, code: Code) -> None:
    number = code.cluster.number

    def save(name: str, entry: CodebookEntry) -> bool:
        if number == NEW_CODE:
            return state.apply(lambda p: _created(p, state.session.next_number, name, entry)) is not None
        renamed = name == code.cluster.name or state.apply(lambda p: op.rename(p, number, name)) is not None
        return renamed and (entry == code.entry or state.apply(lambda p: book.write(p, number, entry)) is not None)

    if editor(_form_key(state), code, state.partition, lambda ids: compare_queries.sentence_texts([*ids]), save):
        if number != NEW_CODE:  # after a new code, the next one can be typed
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


def _travel(state: CodebookState, move: Callable[[], Step | None], what: str) -> None:
    """Undo or redo; an open form is closed, because its entry may change."""
    _edit(state, None)
    state.move(move, f"You have nothing to {what}.")


# Files and Versions tabs of the Codebook page: exports, imports, named states and what differs between them


def show_files(state: CodebookState) -> None:
    """Draw the tab."""
    messages(state)
    page_link("report", "Report and files", view={"coding": state.record.name})
    st.subheader("Import", anchor=False)
    if not state.read_only:
        _code_import(state)
    page_link("import", "Import a project of another program")


def _code_import(state: CodebookState) -> None:
    with st.expander("Import codes", icon=":material/upload:"):
        st.caption(
            "Codes with the name of a cluster replace its codebook entry, others become new clusters. It is one step, "
            "which can be undone."
        )
        file = st.file_uploader(
            "REFI-QDA codebook, JSON file, or table of codes",
            type=list(codebook.READ_FILES),
            max_upload_size=codebook.MOST_MB,
            key=f"codebook_code_file_{state.record.id}",
        )
        if file is None:
            return
        path = forms.keep_one("codebook_kept_codebook_code_file", file)
        account = ReadAccount()

        def read() -> book.Adoption:
            listed = codebook.read_codes(path, account)
            find = codebook.finder(queries.store(), state.partition.ids, listed)
            return book.adopt(state.partition, listed, find, state.session.next_number)

        found = attempt(read)
        if found is None:
            return
        lost = f" · {count(found.missing, 'example')} not found in this labelling" if found.missing else ""
        st.markdown(f"{count(found.created, 'new cluster')} · {count(found.changed, 'entry', 'entries')} changed{lost}")
        if account.skipped:
            listed = (f"{one.reason} {one.text or one.place}" for one in account.entries)
            st.caption(plain("Left out: " + " · ".join(listed)))
        if st.button("Import codes", type="primary", icon=":material/upload:", disabled=not found.operation.change_set):
            operation: Operation = found.operation
            state.apply(lambda p: operation)
            st.rerun()


def show_versions(state: CodebookState) -> None:
    """Draw the tab."""
    messages(state)
    if not state.read_only:
        with st.form("codebook_version_form", border=False), st.container(horizontal=True, vertical_alignment="bottom"):
            name = st.text_input("Name of the version", key="codebook_version_name", max_chars=NAME_LIMIT, width=320)
            pressed = st.form_submit_button("Record version", icon=":material/bookmark_add:")
        if pressed:
            state.apply(lambda p: book.record_version(p, uuid4().hex, name or ""))
            st.rerun()
    known = versions(state.partition)
    if not known:
        nothing("No versions yet.", "Record one when the codebook is ready for coders; later ones show what changed.")
        return
    steps = _steps(state.record.id)
    shown = [steps.get(version.key) for version in known]
    frame = pd.DataFrame(
        {
            "Version": [version.name for version in known],
            "Codes": [len(version.codes) for version in known],
            "Recorded": [ago(step.when) if step else "" for step in shown],
            "Who": [(step.person or people.UNNAMED) if step else "" for step in shown],
        }
    )
    draw_table(frame[::-1])
    _compare(state, known)


def _steps(labelling_id: int) -> dict[str, Step]:
    with queries.store().reading() as r:
        return {
            change.key: step
            for step in r.label_steps.list(labelling_id, operation=OperationKind.VERSION.value)
            for change in r.label_steps.change_set(step.id)
            if isinstance(change, EntryChange) and change.kind is EntryKind.VERSION and change.new is not None
        }


def _compare(state: CodebookState, known: Sequence[Version]) -> None:
    by_name = {version.name: version for version in known}
    listed = list(by_name)[::-1]
    with st.container(horizontal=True, vertical_alignment="bottom"):
        old = st.selectbox("From", listed, key=f"codebook_old_{state.record.id}", width=260)
        key = f"codebook_new_{state.record.id}"
        new = st.selectbox("To", ["", *listed], format_func=lambda name: name or "Now", key=key, width=260)
    before = by_name[old if old in by_name else listed[0]]
    after = codes(state.partition) if new not in by_name else by_name[new].codes
    found = differences(before.codes, after)
    texts = compare_queries.sentence_texts([id for code in (*before.codes, *after) for id in _sentences(code)])
    kinds = Counter(one.kind for one in found)
    said = [
        f"{count(kinds[kind], 'code')} {kind}" for kind in ("added", "removed", "renamed", "changed") if kinds[kind]
    ]
    st.markdown(" · ".join(said) or "No differences.")
    for difference in found:
        with st.container(border=True):
            st.html(difference_html(difference, texts))
    if not state.read_only and st.button(
        f"Restore texts of {plain(before.name)}",
        icon=":material/settings_backup_restore:",
        help="Gives the clusters their texts and examples of this version, in one step that can be undone. Names and "
        "sentences stay as they are, and clusters that the version does not have keep their texts.",
    ):
        state.apply(lambda p: book.restore_version(p, before))
        st.rerun()
