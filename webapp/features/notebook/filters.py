"""Filters over the cases of an error notebook.

What others gave to cases is hidden from a person who still has to code them, so that analysts code independently.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

from themescope.core.records.stored import ErrorCase
from themescope.db.access import Right
from themescope.db.label_records import Notebook
from themescope.jobs.services.notebook.counts import NO_MODEL, analysts, section_types
from themescope.webapp.features.notebook import state
from themescope.webapp.features.notebook.state import ANY
from themescope.webapp.shared.choose import bound
from themescope.webapp.shared.navigation import write_parameter
from themescope.webapp.shared.people import UNNAMED, current_person, may
from themescope.webapp.shared.text import count

UNCODED, UNCODED_BY_ME, WITHOUT, BY_HAND = "no category yet", "not coded by me", "none applies", "picked by hand"
KINDS = {"triplet": "Triplet", "sentence": "Sentence", "group": "Group", "disagreement": "Disagreement"}
Condition = Callable[[ErrorCase], bool]


def seen(notebook: Notebook) -> Notebook:
    """Return the notebook without what others gave to cases that this person has not coded; all of it for viewers."""
    return notebook.as_seen_by(current_person()) if may(Right.LABEL) else notebook


def chosen(notebook: Notebook) -> Notebook:
    """Draw the choice to include cases that others alone have coded, if there are any; return the chosen notebook."""
    own = seen(notebook)
    hidden = {one.case_id for one in notebook.codings} - {one.case_id for one in own.codings}
    if not hidden:
        return own
    shown = st.toggle(
        "Include cases that I have not coded", key="notebook_include",
        help=f"{count(len(hidden), 'case')} coded by others only. Turn this on when you have finished, or if you do "
        "not code.",
    )  # fmt: skip
    return notebook if shown else own


def reset() -> None:
    """Let all cases pass; for callbacks."""
    st.session_state[state.SEARCH] = ""
    for key in (state.KIND, state.MODEL, state.SECTION, state.CATEGORY, state.ANALYST, state.SAMPLE):
        st.session_state[key] = ANY
        write_parameter(key, ())  # a box without a choice is drawn where the address names its value


def choose(notebook: Notebook, person: str) -> list[ErrorCase]:
    """Draw the filters; return the cases that pass them, newest first.

    What others gave to cases that the person has not coded makes no difference.
    """
    notebook = seen(notebook)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        words = st.text_input("Search", key=state.SEARCH, bind="query-params", icon=":material/search:", width=150)
        kinds = {name: kind for kind, name in KINDS.items() if any(case.kind == kind for case in notebook.cases)}
        kind = _select("Kind", kinds, state.KIND, 120)
        models = sorted({name for case in notebook.cases for name in case.facts.models or (NO_MODEL,)})
        model = _select("Model", models, state.MODEL, 160)
        types = section_types(notebook.cases)
        section = _select("Section type", list(dict.fromkeys(types.values())), state.SECTION, 140)
        category = _select("Category", _categories(notebook), state.CATEGORY, 150)
        names = [name or UNNAMED for name in analysts(notebook)]
        analyst = _select("Coded by", names, state.ANALYST, 100)
        sample = _select(
            "Sample", [*(s.name for s in notebook.samples), BY_HAND] if notebook.samples else [], state.SAMPLE, 140
        )
    conditions: list[Condition] = [
        _containing(notebook, words or ""),
        lambda case: kind == ANY or KINDS[case.kind] == kind,
        lambda case: model == ANY or model in (case.facts.models or (NO_MODEL,)),
        lambda case: section == ANY or types[case.id] == section,
        _in_category(notebook, category, analyst, person),
        _in_sample(notebook, sample),
    ]
    return [case for case in reversed(notebook.cases) if all(holds(case) for holds in conditions)]


def _select(label: str, options: Sequence[str] | Mapping[str, str], key: str, width: int) -> str:
    """Draw a select box with the URL key ``key``; nothing where all cases are alike."""
    listed = [ANY, *options]
    if len(listed) < 3 and key not in st.query_params:
        return ANY
    return bound(label, listed, key, width=width)


def _categories(notebook: Notebook) -> list[str]:
    return [UNCODED, UNCODED_BY_ME, *(c.name for c in notebook.current_categories()), WITHOUT] if notebook.cases else []


def _containing(notebook: Notebook, words: str) -> Condition:
    """Return the condition that sentences, titles, notes and sources contain all words."""
    wanted, notes = words.casefold().split(), notebook.notes_of()

    def holds(case: ErrorCase) -> bool:
        facts = case.facts
        parts = [f"{p.text} {p.article} {p.section} {p.placed}" for p in facts.passages]
        parts += [note.text for note in notes.get(case.id, ())]
        text = " ".join([*parts, facts.source, *facts.models, str(case.id)]).casefold()
        return all(word in text for word in wanted)

    return holds if wanted else lambda case: True


def _in_category(notebook: Notebook, category: str, analyst: str, person: str) -> Condition:
    """Return the condition on the categories that an analyst, or any of them, gave."""
    coded = notebook.coded()
    chosen = [codes for name, codes in coded.items() if analyst in (ANY, name or UNNAMED)]
    mine = coded.get(person, {})
    ids = {one.name: one.id for one in notebook.current_categories()}

    def holds(case: ErrorCase) -> bool:
        codes = [of[case.id] for of in chosen if case.id in of]
        if category == ANY:
            return analyst == ANY or bool(codes)
        if category == UNCODED:
            return not any(codes)
        if category == UNCODED_BY_ME:
            return case.id not in mine
        if category == WITHOUT:
            return any(not found for found in codes)
        return any(ids.get(category) in found for found in codes)

    return holds


def _in_sample(notebook: Notebook, name: str) -> Condition:
    ids = {sample.id for sample in notebook.samples if sample.name == name}
    return lambda case: name == ANY or (case.sample_id is None if name == BY_HAND else case.sample_id in ids)
