"""Agreement page: reliability of each labeller, disputed sentences with probabilities, and the gold labelling."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd
import streamlit as st

from themescope.core.labelling.agreement import replacement_test
from themescope.core.labelling.code_sets import CodeSet
from themescope.core.labelling.consensus import FEW_OF_PERSON, CodeModel, RaterModel
from themescope.core.metrics.coding_agreement import EPSILONS, AlternativeAnnotatorTest, Decision
from themescope.core.records.stored import LabellingRecord, Sharing
from themescope.core.types import Ids, Labels, Sentence
from themescope.db.label_records import NewLabelling
from themescope.jobs.services.labelling import adjudication, methods, starts
from themescope.jobs.services.labelling.adjudication import Adjudication
from themescope.jobs.services.labelling.agreement import Coder
from themescope.jobs.services.table_files import csv_text
from themescope.webapp.shared import queries
from themescope.webapp.shared.components import attempt, download, draw_table
from themescope.webapp.shared.navigation import page_link, switch_page
from themescope.webapp.shared.people import current_person
from themescope.webapp.shared.results import compare_queries
from themescope.webapp.shared.text import count, distinct, p_text, plain, score, shorten, with_interval

_DISPUTED = 500
_NAME = 40
_OF_PAIRS = ("Labelling", "Sensitivity", "Specificity", "Pairs", "Remark")
_OF_CODES = ("Labelling", "Accuracy", "Sentences", "Remark")


@dataclass(frozen=True, slots=True)
class Rater:
    """A labelling, the sections or a clustering, as labels of the sentences of a group."""

    name: str
    labels: Labels
    """(n,) -1 is unassigned."""
    names: dict[int, str]
    """Label → cluster name."""
    labelling: LabellingRecord | None = None
    placed: npt.NDArray[np.bool_] | None = None
    """(n,) mask of the sentences that people placed, or a model coded; None for sections and clusterings."""
    sets: Mapping[int, CodeSet] = field(default_factory=dict)
    """Codes of the clusters that are combinations of codes."""

    def called(self, label: int) -> str:
        """Return the name of a cluster."""
        return "–" if label < 0 else self.names.get(label, f"cluster {label + 1}")


@dataclass(frozen=True, slots=True)
class LabellingGroup:
    """Labellings and clusterings of the same sentences; row i of every array is sentence ``ids[i]``."""

    version: tuple[object, ...]
    """Key of everything but ``others`` and ``gold``."""
    ids: Ids
    articles: Ids
    sentences: Sequence[Sentence]
    people: list[Rater]
    others: list[Rater]
    """Sections and clusterings."""
    gold: Rater | None = None
    """Labels that are known to be right."""
    coders: Sequence[Coder] = ()
    """All labellings of the scope, chosen or not."""


BOTH, ONE, ALL = "Placed by both", "Placed by one", "All sentences"
COUNTS = {
    BOTH: "sentences whose cluster both people set themselves",
    ONE: "sentences whose cluster at least one of the two people set",
    ALL: "also sentences that are where the labelling began, which nobody may have looked at",
}
"""Which sentences count for the agreement of two people; that of a person and sections or models counts by the person
alone."""


def judged(people: Sequence[Rater], which: str) -> list[Labels]:
    """Return the (n,) labels of all people, -1 for sentences that they have not judged."""
    masks = [rater.placed for rater in people if rater.placed is not None]
    if which == ALL or not masks:
        return [rater.labels for rater in people]
    anyone = np.logical_or.reduce(masks)
    keep = [anyone if which == ONE or rater.placed is None else rater.placed for rater in people]
    return [np.where(mask, rater.labels, -1) for mask, rater in zip(keep, people, strict=True)]


@dataclass(frozen=True, slots=True)
class TextScope:
    """A corpus or an article that has labellings."""

    corpus_id: int
    article_id: int | None
    name: str
    labellings: tuple[LabellingRecord, ...]
    gold_id: int | None = None
    """Labelling of which the labels are known to be right."""
    hidden: bool = False
    """Whether the person may not see all of its labellings yet, because of a blind task."""


def show(scope: TextScope, found: LabellingGroup, which: str) -> None:
    """Draw what the labels of all people say about the people and about the sentences."""
    raters = [*judged(found.people, which), *([found.gold.labels] if found.gold else [])]
    result = _adjudicated(_digest(raters, found), raters, found)
    _reliabilities(found, result)
    _disputed(found, result, which)
    placed = [np.ones(len(p.labels), dtype=np.bool_) if p.placed is None else p.placed for p in found.people]
    votes = adjudication.gold_votes([person.labels for person in found.people], placed, which == BOTH)
    raters = [*votes, *([found.gold.labels] if found.gold else [])]
    result = _adjudicated(_digest(raters, found), raters, found)
    st.subheader("Create gold labelling", anchor=False)
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    name = left.text_input(
        "Name",
        value=f"{scope.name.removeprefix(compare_queries.TASK)} gold"[:180],
        key=f"agreement_gold_name_{scope.name}",
    )
    if right.button(
        "Create gold labelling", type="primary", icon=":material/gavel:", disabled=not (name or "").strip()
    ):
        ids = [rater.labelling.id for rater in found.people if rater.labelling is not None]
        new = NewLabelling(scope.corpus_id, name or "", current_person(), Sharing.GOLD, False, scope.article_id)
        begin = adjudication.from_adjudication(ids, which == BOTH, scope.gold_id)
        made = attempt(lambda: starts.begin(queries.store(), new, begin))
        if made is not None:
            switch_page("code", compare_queries.unit_view(made.name))
    st.caption(_start(result, which))
    _methods(found)


def _digest(raters: Sequence[Labels], found: LabellingGroup) -> str:
    """Return the key under which a result is cached: of all labels, names and articles."""
    digest = hashlib.blake2b(found.articles.tobytes(), digest_size=16)
    for labels, rater in zip(raters, [*found.people, found.gold], strict=False):
        digest.update(labels.tobytes() + repr(sorted(rater.names.items()) if rater else ()).encode())
    return digest.hexdigest()


@st.cache_resource(show_spinner="Computing reliabilities …", max_entries=16)
def _adjudicated(digest: str, _raters: Sequence[Labels], _found: LabellingGroup) -> Adjudication:
    raters = [*_found.people, *([_found.gold] if _found.gold else [])]
    gold = [len(_found.people)] if _found.gold else []
    names, sets = [rater.names for rater in raters], [rater.sets for rater in raters]
    return adjudication.adjudicated(_raters, _found.articles, names, gold, sets)


# --- reliability ------------------------------------------------------------------------------------------------------


def _reliabilities(found: LabellingGroup, result: Adjudication) -> None:
    st.subheader("Reliability", anchor=False)
    model = result.model
    if model.undefined:
        st.caption(f"Undefined because {model.undefined}.")
        return
    header = _OF_CODES if isinstance(model, CodeModel) else _OF_PAIRS
    rows = [_row(rater, place, model) for place, rater in enumerate(found.people)]
    remarks = {row[-1] for row in rows}
    shown = header if remarks != {""} and len(remarks) > 1 else header[:-1]
    draw_table(
        pd.DataFrame(rows, columns=list(header))[list(shown)],
        column_config={
            "Accuracy": st.column_config.Column(help="Probability of giving the right code."),
            "Sentences": st.column_config.NumberColumn(
                help="Sentences that another person has coded, too.", format="localized"
            ),
            "Sensitivity": st.column_config.Column(help="Probability of putting together what belongs together."),
            "Specificity": st.column_config.Column(help="Probability of putting apart what does not belong together."),
            "Pairs": st.column_config.NumberColumn(
                help="Pairs of sentences that another person has judged, too.", format="localized"
            ),
        },
    )
    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(_about(found, model))
        st.space("stretch")
        download("CSV", lambda: csv_text(header, rows), "reliability.csv", key="agreement_reliability_file")


def _row(rater: Rater, place: int, model: RaterModel | CodeModel) -> tuple[str | int, ...]:
    if isinstance(model, CodeModel):
        accuracy = model.accuracy[place]
        remark = "" if accuracy else f"undefined because {FEW_OF_PERSON}"
        return rater.name, with_interval(accuracy), model.shared[place], remark
    found = model.reliabilities[place]
    remark = f"undefined because {found.undefined}" if found.undefined else ""
    return rater.name, with_interval(found.sensitivity), with_interval(found.specificity), found.shared, remark


def _about(found: LabellingGroup, model: RaterModel | CodeModel) -> str:
    gold = " Gold labels show who is right." if found.gold and not model.equal else ""
    if isinstance(model, CodeModel):
        equal = f" All are taken to be equally reliable, because {model.equal_because}." if model.equal else ""
        return (
            "By a model of codes with one probability of being right for each person (Dawid and Skene 1979), with 95 % "
            f"intervals over {model.intervals_over}.{equal}{gold}"
        )
    if model.equal:
        reason = model.reliabilities[0].undefined
        rates = (score(float(values[0])) for values in (model.rates.sensitivity, model.rates.specificity))
        return (
            f"Undefined because {reason}. Until then all people are taken to be equally reliable, with sensitivity "
            "{} and specificity {}.".format(*rates)
        )
    return (
        "By a model of judgements on pairs of sentences of the same article (Dawid and Skene 1979), with 95 % "
        f"intervals over {model.intervals_over}.{gold}"
    )


# --- disputed sentences -----------------------------------------------------------------------------------------------


def _disputed(found: LabellingGroup, result: Adjudication, which: str) -> None:
    st.subheader("Disagreements", anchor=False)
    order = np.lexsort((np.arange(len(result.differ)), -result.dispute))
    order = order[result.differ[order]]
    if not len(order):
        more = "" if which == ALL else f" Choose “{ALL}” above to count what nobody has changed, too."
        st.caption(f"None: every sentence that several people coded has the same code.{more}")
        return
    listed = order[:_DISPUTED]
    columns: dict[str, list[object]] = {"Sentence": [found.sentences[i].text for i in listed]}
    if not result.model.undefined:
        columns |= _probable(result, listed)
    names = distinct([*columns, *(shorten(r.name, _NAME) for r in found.people)])[len(columns) :]
    for name, rater in zip(names, found.people, strict=True):
        columns[name] = [rater.called(int(rater.labels[i])) for i in listed]
    draw_table(
        columns,
        height=360,
        column_config={
            "Sentence": st.column_config.TextColumn(width=430),
            "Probability": st.column_config.NumberColumn(
                format="%.2f",
                help="Probability that the code is right, by the reliability of the people who gave it and by how "
                "frequent it is."
                if isinstance(result.model, CodeModel)
                else "Mean probability of belonging together with the other sentences of that cluster in the article; "
                "for a sentence alone, of not belonging to the next cluster.",
            ),
        },
    )
    st.caption(
        f"{count(len(order), 'sentence')} with different codes; the most uncertain come first."
        if isinstance(result.model, CodeModel)
        else f"{count(len(order), 'sentence')} in different clusters after those of the article were matched; those "
        "with the most uncertain pairs come first."
    )
    own = next((rater for rater in found.people if rater.labelling and rater.labelling.owner == current_person()), None)
    page_link(
        "code",
        "Review disagreements",
        icon=":material/edit_note:",
        view=compare_queries.disagreement_view((own or found.people[0]).name),
    )


def _probable(result: Adjudication, rows: np.ndarray) -> dict[str, list[object]]:
    best, second = result.labels[rows], result.runner_up[rows]
    return {
        "Most probable": [_called(result, int(label)) for label in best],
        "Probability": [round(float(p), 2) for p in result.certainty[rows]],
        "Next": [
            f"{_called(result, int(label))} ({score(float(p))})" if label >= 0 else "–"
            for label, p in zip(second, result.runner_up_probability[rows], strict=True)
        ],
    }


def _called(result: Adjudication, label: int) -> str:
    return "–" if label < 0 else result.names.get(label, f"cluster {label + 1}")


def _start(result: Adjudication, which: str) -> str:
    own = (
        ", where only those who placed a sentence have a say in it; sentences that nobody placed are where the "
        "labellings began"
        if which == BOTH
        else ""
    )
    end = " Everyone can resolve them on the page Code. The labellings above do not change."
    unclear = int(result.unclear.sum())
    if isinstance(result.model, CodeModel):
        return (
            f"Starts from the codebook of the labellings. A sentence gets each code that more than half of its people "
            f"gave it{own}. {count(unclear, 'sentence')} without one will be open and marked as uncertain, with a note "
            f"of all codes; a key settles each.{end}"
        )
    ari = result.expected_ari
    expected = (
        "" if ari is None else f"; their expected ARI with the true clusters is {score(ari)}, the mean of articles"
    )
    return (
        f"Starts from the most probable clusters given everybody's labels{own}{expected}. "
        f"{count(unclear, 'sentence')} without a clearly most probable place will be marked as uncertain.{end}"
    )


def _methods(found: LabellingGroup) -> None:
    ids = [rater.labelling.id for rater in found.people if rater.labelling is not None]
    part = st.expander("Methods section", icon=":material/description:", key="agreement_methods", on_change="rerun")
    if not part.open:
        return
    with part:
        with st.spinner("Writing …"):
            section = attempt(lambda: methods.methods_section(queries.store(), ids, epsilon()))
        if section is None:
            return
        st.code(section.markdown, language=None, wrap_lines=True)
        with st.container(horizontal=True):
            download("Markdown", lambda: section.markdown, "methods.md", key="agreement_methods_file_markdown")
            download("LaTeX", lambda: section.latex, "methods.tex", key="agreement_methods_file_latex")
            download("BibTeX", lambda: section.bibtex, "methods.bib", key="agreement_methods_file_bibtex")
        st.caption("Only what the store knows about the labellings chosen above. Check it before you publish it.")


# Agreement page: the alternative annotator test, whether a model may replace a person as a coder

TITLE = "May the machine replace a person?"
_WHO = "agreement_epsilon"
_REPLACEMENT_NAME = 40
_HEADER = ("Person", "Sentences", "Machine as close", "Person as close", "p", "Corrected p", "Machine wins")
_VERDICTS = {
    Decision.PASSED: (":material/check:", "Passed: it wins against at least half of the people."),
    Decision.FAILED: (":material/close:", "Failed: it wins against fewer than half of the people."),
    Decision.TOO_FEW: (":material/hourglass_empty:", "Too few labels to tell."),
}


def epsilon() -> float:
    """Return the chosen ε."""
    return EPSILONS[st.session_state.get(_WHO, "skilled people")]


def show_replacement(found: LabellingGroup) -> None:
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
            shorten(people[one.person].record.name, _REPLACEMENT_NAME), one.units, score(one.machine), score(one.human),
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
