"""Cases tab: the list of cases, and one of them with its categories and notes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlencode

import streamlit as st

from themescope.core.records.stored import CorpusRecord, ErrorCase, RunRecord
from themescope.db.access import Right
from themescope.db.label_records import ErrorCategory, Notebook
from themescope.db.repositories.base import NAME_LIMIT
from themescope.db.store import Unit
from themescope.jobs.services.notebook import cases
from themescope.webapp.features.notebook import filters, one_case, state
from themescope.webapp.shared import components, queries
from themescope.webapp.shared.choose import nothing
from themescope.webapp.shared.components import attempt, clickable_table
from themescope.webapp.shared.labelling import error_notebook
from themescope.webapp.shared.people import current_person, may, shown
from themescope.webapp.shared.results import triplet_queries
from themescope.webapp.shared.results.partition_queries import partition_name
from themescope.webapp.shared.text import count, plain, shorten

# --- samples ----------------------------------------------------------------------------------------------------------


_USUAL = 50
TRIPLETS, SENTENCES = "Wrong triplets", "Sentences in the wrong cluster"


@dataclass(frozen=True, slots=True)
class SampleSource:
    """A run with failures, and links to them."""

    run: RunRecord
    name: str
    permalink: Callable[[str], str]


def popover(corpus: CorpusRecord) -> None:
    """Draw the button with the form."""
    shut = st.popover("Sample failures", icon=":material/casino:", key="notebook_draw_popover", on_change="rerun")
    if shut.open:
        with shut:
            _form(corpus)


def _form(corpus: CorpusRecord) -> None:
    st.caption("Shares of categories in a random sample estimate those of all failures; hand-picked cases do not.")
    kind = st.segmented_control(
        "Failures", [TRIPLETS, SENTENCES], default=TRIPLETS, required=True, key="notebook_draw_kind"
    )
    sources = {s.name: s for s in (evaluations(corpus) if kind == TRIPLETS else clusterings(corpus))}
    if not sources:
        where = (
            "Evaluate a model in Compare, tab “Triplet accuracy”."
            if kind == TRIPLETS
            else "Cluster a benchmark in Compare."
        )
        st.info(f"No results of this project yet. {where}", icon=":material/info:")
        return
    source = sources[st.selectbox("Model and data", list(sources), key=f"notebook_draw_source_{kind}")]
    found = attempt(lambda: cases.failures(queries.store(), source.run, source.name, source.permalink))
    if found is None:
        return
    most = min(len(found.ids), cases.MOST_DRAWN)
    if not most:
        st.info("This model has no failures there.", icon=":material/info:")
        return
    size = int(
        st.number_input("Number of failures", 1, most, min(_USUAL, most), key=f"notebook_draw_size_{source.run.id}")
    )
    seed = int(st.number_input("Seed", 0, 2**31 - 1, 0, key="notebook_draw_seed", help="The same seed draws the same."))
    st.caption(f"{count(len(found.ids), 'failure')} of {plain(found.name)}.")
    if st.button(f"Draw {size}", type="primary", icon=":material/casino:", key="notebook_draw_draw"):
        with st.spinner("Drawing …"):
            made = attempt(lambda: cases.draw(queries.store(), corpus.id, found, size, seed, current_person()))
        if made is not None:
            st.toast(plain(f"Added {made.name}."), icon=":material/casino:")
            st.session_state[state.SAMPLE] = made.name
            st.rerun()


def evaluations(corpus: CorpusRecord) -> list[SampleSource]:
    """Return the evaluations of models on the triplet sets of a project."""
    return [
        SampleSource(e.run, f"{e.model_name} on {chosen.name} ({e.split.value})", _to_triplet(chosen.name))
        for chosen in queries.triplet_sets_to_read(corpus.id)
        for e in triplet_queries.evaluations(chosen)
    ]


def _to_triplet(name: str) -> Callable[[str], str]:
    return lambda id: f"triplets?{urlencode({'triplets_set': name, 'triplets_triplet': id})}"


def clusterings(corpus: CorpusRecord) -> list[SampleSource]:
    """Return the clusterings by models of the benchmarks of a project, newest first."""
    models = {model.id: model for model in queries.models()}
    return [
        SampleSource(run, name, _to_article(name))
        for benchmark in queries.clustered_benchmarks(corpus.id)
        for run in queries.clusterings(benchmark.id)
        if run.model_id in models
        for name in [partition_name(run, models[run.model_id], benchmark)]
    ]


def _to_article(name: str) -> Callable[[str], str]:
    view = {"compare_tab": "Pair", "compare_left": "Sections", "compare_right": name}
    return lambda title: f"compare?{urlencode({**view, 'compare_article': title})}"


# --- cases ------------------------------------------------------------------------------------------------------------


DIGITS = 9
NO_CATEGORY = "None applies"
_TEXT, _HEIGHT = 90, 300
_COLUMNS = {
    "Case": st.column_config.NumberColumn(width=55),
    "Kind": st.column_config.TextColumn(width=95),
    "Sentence": st.column_config.TextColumn(width="large"),
    "Section": st.column_config.TextColumn(width=130),
    "Models": st.column_config.TextColumn(width=150),
    "Categories": st.column_config.TextColumn(width=170),
    "Note": st.column_config.TextColumn(width=200),
}


@dataclass(frozen=True, slots=True)
class CaseList:
    """The cases that pass the filters, in order, and who looks at them."""

    corpus: CorpusRecord
    notebook: Notebook
    cases: Sequence[ErrorCase]
    person: str

    def position(self) -> int:
        """Return the position of the case in the address; 0 if it is not in view."""
        wanted = st.query_params.get(state.CASE, "")
        return next((at for at, case in enumerate(self.cases) if str(case.id) == wanted), 0)

    def go(self, to: int) -> None:
        """Show the case at a position; for callbacks."""
        st.query_params[state.CASE] = str(self.cases[min(max(to, 0), len(self.cases) - 1)].id)

    def step(self, at: int, to: int) -> None:
        """Move from position ``at``, unless the person has left it; for callbacks."""
        if self.position() == at:
            self.go(to)


def show(corpus: CorpusRecord, notebook: Notebook) -> None:
    """Draw the filters, one case and the list."""
    case_id = st.session_state.pop(state.JUST_DELETED, None)
    if case_id is not None:
        st.toast(f"Case {case_id} deleted. “Deleted cases” above restores it.", icon=":material/delete:")
    if may(Right.LABEL):
        with st.container(horizontal=True):
            popover(corpus)
            _deleted(corpus)
    if not notebook.cases:
        pages = ["Triplets", "Relabel"] if corpus.has_sections else ["Relabel"]
        nothing(
            "No cases yet.",
            f"Add what a model gets wrong: press O in {' or '.join(pages)}, or use “Add to error notebook” in Compare "
            "and “Error notebook” for a selection on the map. Or draw a random sample of failures above.",
            pages[0].lower(),
            f"Open {pages[0]}",
        )
        return
    found = filters.choose(notebook, current_person())
    if not found:
        nothing("No matching cases.", "Change or clear the filters above.")
        return
    ids = {case.id for case in found}
    st.fragment(_fragment)(corpus, ids)


def _fragment(corpus: CorpusRecord, ids: set[int]) -> None:
    """Draw one case and the list; keys and buttons rerun only this, except for a deletion, which the page announces."""
    if state.JUST_DELETED in st.session_state:
        st.rerun()
    notebook = error_notebook.read(corpus.id, corpus.created)
    # A case that was coded stays in view, also where it no longer passes the filters.
    view = CaseList(corpus, notebook, [case for case in reversed(notebook.cases) if case.id in ids], current_person())
    if not view.cases:
        st.rerun()
    at = view.position()
    case = view.cases[at]
    _navigation(view, at)
    _categories(view, case)
    left, right = st.columns([3, 2], gap="medium")
    with left:
        one_case.show(case)
    with right:
        one_case.show_notes(view.notebook.notes_of().get(case.id, ()), case, view.person)
    mine, written = view.notebook.coded().get(view.person, {}), view.notebook.notes_of()
    names = {category.id: category.name for category in view.notebook.current_categories()}
    st.caption("Click a row to show the case. Categories are your own.")
    key = f"{state.TABLE}_{hash(tuple(case.id for case in view.cases))}"
    clickable_table(
        {
            "Case": [case.id for case in view.cases],
            "Kind": [filters.KINDS[case.kind] for case in view.cases],
            "Sentence": [shorten(_first(case), _TEXT) for case in view.cases],
            "Section": [case.facts.section for case in view.cases],
            "Models": [", ".join(case.facts.models) for case in view.cases],
            "Categories": [_own(mine.get(case.id), names) for case in view.cases],
            "Note": [" / ".join(note.text for note in written.get(case.id, ()))[:_TEXT] for case in view.cases],
        },
        key,
        view.go,
        height=_HEIGHT,
        placeholder="–",
        column_config=_COLUMNS,
    )


def _navigation(view: CaseList, at: int) -> None:
    case = view.cases[at]
    with st.container(horizontal=True, vertical_alignment="center"):
        # Keys of this position alone: a press that the browser sends again leads to the same case.
        back, forward = f"notebook_step_back_{at}", f"notebook_step_forward_{at}"
        st.button("Previous", back, on_click=view.step, args=(at, at - 1), disabled=at == 0)
        st.button("Next", forward, on_click=view.step, args=(at, at + 1), disabled=at + 1 >= len(view.cases))
        st.caption(f"{at + 1:,} of {count(len(view.cases), 'case')}", width="content")
        if may(Right.LABEL):
            st.caption("Keys: 1 … 9 category, 0 none applies, U undo, J next, K previous, T write a note.")
        st.space("stretch")
        st.button(
            "Delete case", key=f"notebook_step_delete_{case.id}", icon=":material/delete:", type="tertiary",
            on_click=_delete, args=(case, view), disabled=not may(Right.LABEL),
        )  # fmt: skip


# ---------------------------------------------------------------- categories of a case


def _categories(view: CaseList, case: ErrorCase) -> None:
    current, mine = view.notebook.current_categories(), view.notebook.coded().get(view.person, {}).get(case.id)
    allowed = may(Right.LABEL)
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall"):
        for place, category in enumerate(current):
            given = mine is not None and category.id in mine
            digit = f"{place + 1} · " if place < DIGITS else ""
            st.button(
                plain(f"{digit}{shorten(category.name, 40)}"),
                key=f"notebook_step_give_{case.id}_{category.id}_{given}",
                type="primary" if given else "secondary",
                on_click=toggle, args=(view, case.id, category.id, given), disabled=not allowed,
                help=plain(category.description) or None,
            )  # fmt: skip
        none = mine is not None and not mine
        st.button(
            f"0 · {NO_CATEGORY}", key=f"notebook_step_none_{case.id}_{none}", type="primary" if none else "secondary",
            on_click=toggle, args=(view, case.id, None, none), disabled=not allowed or bool(mine),
        )  # fmt: skip
        if allowed:
            _new_category(view, case)
        st.button("Undo", key=f"notebook_step_undo_{view.notebook.codings[-1].id if view.notebook.codings else 0}",
                  icon=":material/undo:", type="tertiary", on_click=undo, args=(view,), disabled=not allowed,
                  help="Takes back your last change of a category.")  # fmt: skip
    names = {category.id: category.name for category in view.notebook.current_categories()}
    others = {p: c[case.id] for p, c in view.notebook.coded().items() if p != view.person and case.id in c}
    if others:
        # What others gave is hidden until this person has judged the case, so that both code independently.
        if mine is None and may(Right.LABEL):
            coded = f"Coded by {count(len(others), 'other analyst')}"
            st.caption(f":material/visibility_off: {coded}. Shown once you have coded it.")
        else:
            said = (
                f"{shown(p)}: {plain(', '.join(names[i] for i in sorted(c)) or NO_CATEGORY)}" for p, c in others.items()
            )
            st.caption(f":material/group: {' · '.join(said)}")
    digits = {str(place + 1): f"category {place}" for place in range(min(len(current), DIGITS))}
    keys = (
        digits | {"0": "none", "J": "next", "K": "previous", "U": "undo"} if allowed else {"J": "next", "K": "previous"}
    )
    components.action_keys(
        "notebook_coding_keys", state.CASE, keys, handlers(view, current), {"T": one_case.LABEL} if allowed else {}
    )


def _new_category(view: CaseList, case: ErrorCase) -> None:
    key = f"{state.CATEGORY_FORM}_in_case_{case.id}_{len(view.notebook.categories)}"

    def add() -> None:
        name = str(st.session_state.get(key) or "")

        def change(w: Unit) -> None:
            made = w.error_categories.add(view.corpus.id, name, "", view.person)
            w.error_categories.code(case.id, made.id, view.person, True)

        if name.strip():
            queries.write(change)

    with (
        st.popover("New category", icon=":material/add:", type="tertiary", key=f"{key}_popover"),
        st.form(f"{key}_form", border=False),
    ):
        st.text_input("Name", key=key, max_chars=NAME_LIMIT)
        st.form_submit_button("Add and give to this case", on_click=add)


def handlers(view: CaseList, current: Sequence[ErrorCategory]) -> dict[str, Callable[[], object]]:
    """Return what the keys do with the case that is shown when they are handled."""

    def by_digit(category: int | None) -> None:
        case = view.cases[view.position()].id
        fresh = error_notebook.read(view.corpus.id, view.corpus.created).coded().get(view.person, {}).get(case)
        given = fresh is not None and (category in fresh if category is not None else not fresh)
        if category is not None or not fresh:
            toggle(view, case, category, given)

    found: dict[str, Callable[[], object]] = {
        f"category {place}": partial(by_digit, category.id) for place, category in enumerate(current[:DIGITS])
    }
    return found | {
        "none": partial(by_digit, None),
        "next": lambda: view.go(view.position() + 1),
        "previous": lambda: view.go(view.position() - 1),
        "undo": partial(undo, view),
    }


def toggle(view: CaseList, case: int, category: int | None, given: bool) -> None:
    """Give a category to a case, or take it back; for callbacks."""
    queries.write(lambda w: w.error_categories.code(case, category, view.person, not given))


def undo(view: CaseList) -> None:
    """Undo the person's last coding, and show its case; for callbacks."""
    undone: list[int | None] = []
    queries.write(lambda w: undone.append(w.error_categories.undo(view.corpus.id, view.person)))
    if undone and undone[0] in {case.id for case in view.cases}:
        st.query_params[state.CASE] = str(undone[0])


def _delete(case: ErrorCase, view: CaseList) -> None:
    if queries.write(lambda w: w.error_notebook.delete([case.id], view.person)):
        st.session_state[state.JUST_DELETED] = case.id


def _deleted(corpus: CorpusRecord) -> None:
    found = queries.read(lambda r: r.error_notebook.list(corpus.id, deleted=True))
    if not found:
        return

    def restore(case: ErrorCase) -> None:
        queries.write(lambda w: w.error_notebook.restore([case.id], current_person()))

    with st.popover(f"Deleted cases ({len(found)})", icon=":material/delete:"):
        for case in found[::-1]:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(plain(f"{case.id}. {shorten(_first(case), 60)}"), width="stretch")
                st.button("Restore", key=f"notebook_deleted_{case.id}", on_click=restore, args=(case,))


def _own(mine: frozenset[int] | None, names: dict[int, str]) -> str | None:
    return None if mine is None else ", ".join(sorted(names[i] for i in mine)) or NO_CATEGORY.lower()


def _first(case: ErrorCase) -> str:
    return case.facts.passages[0].text if case.facts.passages else ""
