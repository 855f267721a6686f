"""Agreement page: the alternative annotator test, whether a model may replace a person as a coder."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from themescope.core.labelling.agreement import replacement_test
from themescope.core.metrics.coding_agreement import EPSILONS, AlternativeAnnotatorTest, Decision
from themescope.jobs.services.labelling.agreement import Coder
from themescope.jobs.services.table_files import csv_text
from themescope.webapp.features.agreement.groups import LabellingGroup
from themescope.webapp.shared.components import download, draw_table
from themescope.webapp.shared.text import count, p_text, plain, score, shorten

TITLE = "May the machine replace a person?"
_WHO = "agreement_epsilon"
_NAME = 40
_HEADER = ("Person", "Sentences", "Machine as close", "Person as close", "p", "Corrected p", "Machine wins")
_VERDICTS = {
    Decision.PASSED: (":material/check:", "Passed: it wins against at least half of the people."),
    Decision.FAILED: (":material/close:", "Failed: it wins against fewer than half of the people."),
    Decision.TOO_FEW: (":material/hourglass_empty:", "Too few labels to tell."),
}


def epsilon() -> float:
    """Return the chosen ε."""
    return EPSILONS[st.session_state.get(_WHO, "skilled people")]


def show(found: LabellingGroup) -> None:
    """Draw the test of one model against the chosen people; nothing without a labelling of a model."""
    machines, chosen = [c for c in found.coders if c.machine], {rater.name for rater in found.people}
    if not machines:
        return
    st.subheader(TITLE, anchor=False)
    people = [coder for coder in found.coders if coder.record.name in chosen and not coder.machine]
    if len(people) < 2:
        st.caption("The alternative annotator test compares with at least two people, better three. Select them above.")
        return
    left, right = st.columns(2)
    names = [coder.record.name for coder in machines]
    name = left.selectbox("Machine", names, key="agreement_machine")
    machine = machines[names.index(name)]
    who = right.selectbox(
        "The people are", list(EPSILONS), index=1, key=_WHO,
        format_func=lambda who: f"{who} (ε = {score(EPSILONS[who])})",
        help="ε is how much less often than a person the machine may be as close to the other people, since labels of "
        "people cost more. These values are recommended by Calderon et al. 2025.",
    )  # fmt: skip
    result = _tested((*found.version, name, who), people, machine, epsilon())
    if result is None:
        st.caption("The labellings have no codes with common names, so codes cannot be compared.")
        return
    _result(result, people, machine)


@st.cache_resource(show_spinner="Comparing with people …", max_entries=16)
def _tested(
    version: tuple[object, ...], _people: Sequence[Coder], _machine: Coder, _epsilon: float
) -> AlternativeAnnotatorTest | None:
    everybody = (*_people, _machine)
    names, sets = [coder.names for coder in everybody], [coder.sets for coder in everybody]
    return replacement_test([p.judged for p in _people], _machine.judged, names, _machine.abstained, _epsilon, sets)


def _result(result: AlternativeAnnotatorTest, people: Sequence[Coder], machine: Coder) -> None:
    icon, text = _VERDICTS[result.verdict]
    st.markdown(f"{icon} **{text}** {plain(result.reason)}")
    with st.container(horizontal=True):
        wins = "–" if result.winning_rate is None else score(result.winning_rate)
        st.metric("Winning rate ω", wins, border=True, help="Share of people it wins against; .500 passes.")
        advantage = "–" if result.advantage is None else score(result.advantage)
        help = "Mean share of sentences on which the machine is at least as close to the other people as the person."
        st.metric("Average advantage probability ρ", advantage, border=True, help=help)
    rows = [
        (
            shorten(people[one.person].record.name, _NAME), one.units, score(one.machine), score(one.human),
            *("–" if p is None else p_text(p) for p in (one.p, one.corrected)), "yes" if one.wins else "no",
        )
        for one in result.people
    ]  # fmt: skip
    draw_table(pd.DataFrame(rows, columns=list(_HEADER)))
    abstained = int(machine.abstained.sum())
    without = f" It agrees with nobody on the {count(abstained, 'sentence')} that it gave no code." if abstained else ""
    two = " Of two people, each is compared with one only; the authors ask for three." if len(people) < 3 else ""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(
            "Each person is left out in turn: who is at least as close to the codes of the other people on a sentence, "
            f"the machine or the person? The machine wins if it is so at least as often as the person, less ε = "
            f"{score(result.epsilon)} (one-sided p, corrected by Benjamini and Yekutieli, at most {score(result.q)}). "
            f"Counted are sentences that the person and another one placed.{without}{two}"
        )
        st.space("stretch")
        download("CSV", lambda: csv_text(_HEADER, rows), "machine_and_people.csv", key="agreement_machine_file")
