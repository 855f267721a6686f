"""Agreement tab: how far analysts agree on categories, and the cases to discuss."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from themescope.core.records.stored import CorpusRecord, ErrorCase
from themescope.db.records import Notebook
from themescope.jobs.services.notebook import counts as service
from themescope.webapp.features.notebook import filters, state
from themescope.webapp.shared.choose import nothing
from themescope.webapp.shared.components import clickable_table
from themescope.webapp.shared.people import UNNAMED
from themescope.webapp.shared.text import count, distinct, plain, shorten

_TEXT = 90


def show(corpus: CorpusRecord, notebook: Notebook) -> None:
    """Draw the coefficients of all analysts and of two of them, and the cases on which the two disagree."""
    notebook = filters.chosen(notebook)
    people = service.analysts(notebook)
    pair = service.most_common_pair(notebook)
    if pair is None:
        nothing(
            "Agreement needs two analysts.",
            "Let a second person give categories to the same cases. What others gave is hidden until a case is coded.",
        )
        return
    if len(people) > 2:
        everybody = service.in_words(service.agreement_of_all(notebook))
        st.markdown(f"All {len(people)} analysts: Krippendorff's alpha **{plain(everybody)}**")
    names = {name or UNNAMED: name for name in people}
    left, right = st.columns(2)
    with left:
        first = _person("First analyst", [*names], state.FIRST, pair[0] or UNNAMED)
    with right:
        second = _person("Second analyst", [*names], state.SECOND, pair[1] or UNNAMED)
    if first == second:
        st.info("Choose two different analysts.", icon=":material/info:")
        return
    _pair(notebook, (names[first], names[second]))


def _person(label: str, names: list[str], key: str, default: str) -> str:
    if st.session_state.get(key, default) not in names:
        st.session_state.pop(key, None)
    return st.selectbox(label, names, index=names.index(default), key=key, bind="query-params") or default


def _pair(notebook: Notebook, people: tuple[str, str]) -> None:
    found = service.agreement(notebook, people)
    first, second = (name or UNNAMED for name in people)
    st.markdown(
        f"Krippendorff's alpha of the sets of categories (MASI distance): **{plain(service.in_words(found.alpha))}** "
        f"over {count(found.alpha.cases, 'common case')}."
    )
    frame = pd.DataFrame(
        {
            "Category": [row.category.name for row in found.categories],
            f"Cases of {first}": [row.first for row in found.categories],
            f"Cases of {second}": [row.second for row in found.categories],
            "Both": [row.both for row in found.categories],
            "Cohen's kappa": [service.in_words(row.kappa) for row in found.categories],
        }
    )
    st.dataframe(frame, hide_index=True, column_config={"Cohen's kappa": st.column_config.TextColumn(width="large")})
    st.caption("With 95 % bootstrap intervals over cases. 1 is full agreement, 0 agreement by chance.")
    _disagreements(notebook, found, (first, second))


def _disagreements(notebook: Notebook, found: service.PairAgreement, names: tuple[str, str]) -> None:
    st.subheader("Cases to discuss", anchor=False)
    if not found.disagreements:
        st.success("Both gave the same categories to all common cases.", icon=":material/check:")
        return
    categories = {category.id: category.name for category in notebook.current_categories()}

    def listed(codes: frozenset[int]) -> str:
        return ", ".join(sorted(categories[id] for id in codes)) or "none applies"

    rows = [(case.id, _first(case), listed(one), listed(other)) for case, one, other in found.disagreements]
    frame = pd.DataFrame(rows, columns=distinct(["Case", "Sentence", *names]))

    def open_case(row: int) -> None:
        filters.reset()
        st.query_params[state.CASE] = str(found.disagreements[row][0].id)
        st.session_state[state.VIEW] = state.CASES

    st.caption("Click a case to open it; each analyst can change their own categories there.")
    config = {"Sentence": st.column_config.TextColumn(width="large")}
    clickable_table(frame, f"{state.TABLE}_disagreements_{hash(names)}", open_case, column_config=config)


def _first(case: ErrorCase) -> str:
    return shorten(case.facts.passages[0].text, _TEXT) if case.facts.passages else ""
