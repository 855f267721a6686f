"""Agreement page: how far people agree on codes, what they disagree on, and how reliable each of them is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
import streamlit as st

from themescope.core.labelling.agreement import CodingAgreement, PairAlpha, replacement_test
from themescope.core.labelling.consensus import FEW_OF_PERSON, CodeModel, RaterModel
from themescope.core.metrics.coding_agreement import EPSILONS, Agreement, AlternativeAnnotatorTest, Decision
from themescope.core.records.stored import Sharing
from themescope.core.text.cleaning import folded_name
from themescope.core.types import Labels
from themescope.db.records import HIDDEN, NewLabelling
from themescope.jobs.services import failures as service
from themescope.jobs.services.labelling import agreement, starts
from themescope.jobs.services.labelling.agreement import Adjudication, Coder
from themescope.webapp.features.agreement import COUNTED, MACHINE, PAIRS, RELIABILITY, SCOPE, results
from themescope.webapp.features.agreement.results import (
    ALL,
    BOTH,
    COUNTS,
    NAME,
    ONE_ARTICLE,
    LabellingGroup,
    Rater,
    TextScope,
    judged,
)
from themescope.webapp.shared import compare_queries, labelling, queries
from themescope.webapp.shared.choose import by_name, nothing, project, steps, study_steps
from themescope.webapp.shared.components import attempt, draw_table
from themescope.webapp.shared.navigation import switch_page
from themescope.webapp.shared.people import current_person
from themescope.webapp.shared.text import count, distinct, p_text, plain, score, shorten, with_interval

_LISTED = 20
_RELIABLE, _TENTATIVE = 0.8, 0.667
"""Values of alpha from which on conclusions, or tentative ones, are usual (Krippendorff 2004)."""
_SCALE = "1 is perfect agreement, 0 is chance. .800 is usually required; .667 allows tentative conclusions."


def show(scopes: Sequence[TextScope]) -> None:
    """Draw the choice of what was coded, and the agreement of those who did."""
    left, right = st.columns([4, 1], vertical_alignment="bottom")
    with left:
        scope = by_name("What was coded", scopes, SCOPE, lambda found: found.name)
    if scope.hidden:
        st.info(HIDDEN)
        return
    found = results.labellings(scope)
    with right.popover("Options", icon=":material/tune:", width="stretch"):
        chosen = _chosen(scope, found.left_out)
        which = (
            st.segmented_control(
                "Units that count",
                list(COUNTS),
                default=BOTH,
                required=True,
                key=COUNTED,
                bind="query-params",
                help="  \n".join(f"**{name}**: {about}." for name, about in COUNTS.items()),
            )
            or BOTH
        )
    own = [r for r in scope.labellings if r.blind and r.owner == current_person() and labelling.is_open(r)]
    if own and not st.toggle("My blind coding is finished; show the others", key=f"agreement_reveal_{scope.name}"):
        st.info("You code this text blind. The other codings are hidden until yours is finished.")
        return
    if left_out := [f"**{plain(name)}** ({plain(why)})" for name, why in found.left_out.items() if name not in chosen]:
        st.caption(f"Left out: {' · '.join(left_out)}. Choose them under *Options* to count them.")
    people = results.group(scope, found, chosen)
    if len(people.people) < 2 and any(one.hidden for one in scopes):
        nothing("Codings of a blind task are hidden until it is closed.", HIDDEN, "tasks", "Tasks")
    elif len(people.people) < 2:
        advice, view = "Give the same sample to two people, who code it blind.", {"view": "New task"}
        nothing("Agreement needs the codings of two people.", advice, "tasks", "New task", view)
    else:
        labels = judged(people.people, which)
        coding, whole = results.agreement_of(people.version, which, labels, people)
        if coding is not None:
            _codes(coding, people.people, which)
        else:
            _groups(labels, whole, which)
        result = results.adjudicated(labels, people)
        _disagreements(scope, people, result, which)
        _folded("Reliability of each person", "person_check", RELIABILITY, lambda: _reliabilities(people, result.model))
        _folded("Pairs of codings", "compare_arrows", PAIRS, lambda: _pairs(scope, people, which))
    if machines := [coder for coder in people.coders if coder.machine]:
        _folded("May the machine replace a person?", "smart_toy", MACHINE, lambda: _replacement(people, machines))


def _folded(title: str, icon: str, key: str, draw: Callable[[], None]) -> None:
    part = st.expander(title, icon=f":material/{icon}:", key=key, on_change="rerun")
    if part.open:
        with part:
            draw()


def _chosen(scope: TextScope, left_out: Mapping[str, str]) -> list[str]:
    """Draw the choice of codings: at first those that count, also later ones, until the person changes it."""
    names = [record.name for record in scope.labellings]
    default, key = [name for name in names if name not in left_out], f"agreement_labellings_{scope.name}"
    held = st.session_state.get(key)
    if held is None or held == st.session_state.get(f"{key}_default"):
        held = default
    st.session_state[key], st.session_state[f"{key}_default"] = [name for name in held if name in names], default
    return st.multiselect("Codings", names, help="The codings to compare.", key=key)


def _codes(found: CodingAgreement, people: Sequence[Rater], which: str) -> None:
    data = "sets of codes, with the MASI distance" if found.several else "nominal data"
    what = "sets of codes" if found.several else "codes"
    units = f"{COUNTS[which]}; in how many of them all have the same {what}, without a correction for chance."
    kappa = "the mean over all pairs of codings" if found.coders > 2 else "corrected for chance by the codes of each"
    with st.container(horizontal=True):
        _coefficient("Krippendorff's alpha", found.alpha, f"For {data}. {_SCALE} Kappa is {kappa}. Counted are {units}")
        _coefficient("Cohen's kappa", found.kappa)
        equal = "–" if np.isnan(found.observed) else f"{found.observed:.0%}"
        st.metric("Equal", equal, border=True, height="stretch")
        st.metric("Units", f"{found.sentences:,}", border=True, height="stretch")
    if undefined := found.alpha.undefined or found.kappa.undefined:
        st.caption(f"Undefined because {undefined}.{_more(which)}")
        return
    st.markdown(_verdict(found))
    names = distinct(["Code", *(shorten(person.name, NAME) for person in people), "All", "Alpha", "Kappa"])
    rows = [(c.name, *c.counts, c.both, _coded(c.alpha), _coded(c.kappa)) for c in found.codes]
    draw_table(pd.DataFrame(rows, columns=names))
    own = f" Not everybody has: {plain(', '.join(found.own))}." if found.own else ""
    sets = " Units may have several codes: alpha is that of sets (MASI)." if found.several else ""
    st.caption(
        "Each code against all others: how often each coding has it, and where all have it. Codes with the same name "
        f"are the same code; in brackets are 95 % bootstrap intervals over {found.over}.{sets}{own}"
    )


def _verdict(found: CodingAgreement) -> str:
    """Return what alpha means, and which code is agreed on least."""
    assert found.alpha.estimate is not None
    value = found.alpha.estimate.value
    means = (
        "People agree well enough for conclusions (.800 or more)."
        if value >= _RELIABLE
        else "People agree well enough for tentative conclusions only (.667 to .800)."
        if value >= _TENTATIVE
        else "People agree too little for conclusions (below .667). Sharpen the codes, and code again."
    )
    known = [(code.alpha.estimate.value, code.name) for code in found.codes if code.alpha.estimate is not None]
    least = f" They agree least on **{plain(min(known)[1])}**." if len(known) > 1 and min(known)[0] < 1 else ""
    return means + least


def _coefficient(label: str, found: Agreement, help: str | None = None) -> None:
    text = "undefined" if found.estimate is None else score(found.estimate.value)
    st.metric(label, text, border=True, help=help, delta=_interval(found), delta_color="off", delta_arrow="off")


def _interval(found: Agreement) -> str | None:
    """Return the interval of a coefficient; there is none if nobody differs."""
    e = found.estimate
    return None if e is None or e.n < 2 or e.low == e.high else f"[{score(e.low)}, {score(e.high)}]"


def _coded(found: Agreement) -> str:
    return "–" if found.estimate is None else " ".join(filter(None, (score(found.estimate.value), _interval(found))))


def _groups(labels: Sequence[Labels], whole: PairAlpha, which: str) -> None:
    """Draw alpha over pairs of units, for codings without common codes."""
    several = int((np.sum([own >= 0 for own in labels], axis=0) >= 2).sum())
    with st.container(horizontal=True):
        value = "undefined" if whole.value is None else score(whole.value)
        st.metric("Alpha over pairs", value, border=True, help=f"{_SCALE} Counted are {COUNTS[which]}.")
        st.metric("Units", f"{several:,}", border=True)
        st.metric("Pairs of units", f"{whole.pairs:,}", border=True)
    why = f" Undefined because {whole.undefined}.{_more(which)}" if whole.undefined else ""
    st.caption(
        "The codings have no codes with common names. Compared are pairs of units of the same text: do they have the "
        f"same code or not? Two people who swap two codes agree fully here.{why}"
    )


def _more(which: str) -> str:
    return "" if which == ALL else f" Choose “{ALL}” under *Options* to count what nobody has changed, too."


def _disagreements(scope: TextScope, found: LabellingGroup, result: Adjudication, which: str) -> None:
    order = np.lexsort((np.arange(len(result.differ)), -result.dispute))
    order = order[result.differ[order]]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.header(f"Disagreements ({len(order):,})", anchor=False, width="stretch")
        _settle(scope, found, which, "Settle them" if len(order) else "Make the gold coding")
    if not len(order):
        st.caption(f"None: every unit that several people coded has the same code.{_more(which)}")
        return
    listed = order[:_LISTED]
    columns: dict[str, list[object]] = {"Unit": [found.sentences[i].text for i in listed]}
    names = distinct(["Unit", "Most probable", *(shorten(r.name, NAME) for r in found.people)])[2:]
    for name, rater in zip(names, found.people, strict=True):
        columns[name] = [rater.called(int(rater.labels[i])) for i in listed]
    of_codes = isinstance(result.model, CodeModel)
    if not result.model.undefined:
        columns["Most probable"] = [
            f"{result.names.get(int(label), f'group {label + 1}')} ({score(float(p))})" if label >= 0 else "–"
            for label, p in zip(result.labels[listed], result.certainty[listed], strict=True)
        ]
    by = "by the reliability of the people who gave it and how frequent it is"
    help = "With the mean probability of belonging together with the other units of that group."
    help = f"With the probability that it is right, {by}." if of_codes else help
    config = {"Unit": st.column_config.TextColumn(width=430), "Most probable": st.column_config.TextColumn(help=help)}
    draw_table(columns, height=min(360, 38 + 35 * len(listed)), column_config=config)
    shown = f"The {_LISTED} most uncertain." if len(order) > _LISTED else "The most uncertain come first."
    st.caption(
        f"{shown} *Settle them* makes the gold coding: a unit has each code that more than half "
        "of its people gave it, and the others are open, one key each. The codings above do not change."
        if of_codes
        else f"Different after the groups of a text were matched. {shown} *Settle them* starts "
        "from the most probable groups and marks the unclear ones. The codings above do not change."
    )


def _settle(scope: TextScope, found: LabellingGroup, which: str, label: str) -> None:
    """Draw the button that opens the gold coding of the people, and makes it where there is none."""
    if not st.button(label, type="primary", icon=":material/gavel:"):
        return
    of = [rater.labelling for rater in found.people if rater.labelling is not None]
    known = {record.name for record in of}
    golds = [one for one in compare_queries.labellings(scope.corpus_id) if one.kind is Sharing.GOLD]
    here = [one for one in golds if one.article_id == scope.article_id]
    made = next((one for one in here if {*one.origin.get("of", ())} == known), None)
    if made is None:
        name = f"{scope.name.removeprefix(compare_queries.TASK)} gold"[:180]
        new = NewLabelling(scope.corpus_id, name, current_person(), Sharing.GOLD, False, scope.article_id)
        begin = agreement.from_adjudication([record.id for record in of], which == BOTH, scope.gold_id)
        made = attempt(lambda: starts.begin(queries.store(), new, begin))
    if made is not None:
        switch_page("code", compare_queries.unit_view(made.name))


def _reliabilities(found: LabellingGroup, model: RaterModel | CodeModel) -> None:
    if model.undefined:
        st.caption(f"Undefined because {model.undefined}.")
        return
    gold = " Gold labels show who is right." if found.gold and not model.equal else ""
    if isinstance(model, CodeModel):
        rows = [
            {"Coding": rater.name, "Accuracy": with_interval(accuracy), "Units": shared}
            | ({} if all(model.accuracy) else {"Remark": "" if accuracy else f"undefined because {FEW_OF_PERSON}"})
            for rater, accuracy, shared in zip(found.people, model.accuracy, model.shared, strict=False)
        ]
        equal = f" All are taken to be equally reliable, because {model.equal_because}." if model.equal else ""
        about = (
            "Accuracy is the probability of giving the right code, by a model of codes (Dawid and Skene 1979), with "
            f"95 % intervals over {model.intervals_over}; units are those that another person has coded, too.{equal}"
        )
    else:
        rows = [
            {
                "Coding": rater.name,
                "Sensitivity": with_interval(one.sensitivity),
                "Specificity": with_interval(one.specificity),
                "Pairs": one.shared,
                "Remark": f"undefined because {one.undefined}" if one.undefined else "",
            }
            for rater, one in zip(found.people, model.reliabilities, strict=False)
        ]
        sensitivity, specificity = score(float(model.rates.sensitivity[0])), score(float(model.rates.specificity[0]))
        about = (
            f"Until then all people are taken to be equally reliable, with sensitivity {sensitivity} and specificity "
            f"{specificity}."
            if model.equal
            else "Sensitivity and specificity are the probabilities of putting together what belongs together, and "
            "apart what does not, by a model of judgements on pairs of units of the same text (Dawid and Skene 1979), "
            f"with 95 % intervals over {model.intervals_over}."
        )
    draw_table(rows)
    st.caption(about + gold)


_HEADER = ("First", "Second", "Units", "ARI", "AMI", "Remark")


def _pairs(scope: TextScope, found: LabellingGroup, which: str) -> None:
    pairs = [*combinations(found.people, 2)]
    rows = [results.pair_row(first, second, found.articles, which) for first, second in pairs]
    remarks = {row[-1] for row in rows}
    shown = _HEADER if len(remarks) > 1 else _HEADER[:-1]  # a remark on all rows is said once, below
    event = st.dataframe(
        pd.DataFrame(rows, columns=list(_HEADER))[list(shown)],
        hide_index=True,
        on_select="rerun",
        selection_mode="single-row",
        key=f"agreement_pairs_{len(rows)}",
    )
    said = "One text, so no intervals." if remarks == {ONE_ARTICLE} else "Means over texts with 95 % intervals."
    same = next(iter(remarks)) if len(remarks) == 1 and remarks != {ONE_ARTICLE} else ""
    st.caption(
        f"The adjusted Rand index (ARI) and mutual information (AMI, max) compare groups and ignore names, so they "
        f"differ from alpha and kappa above. {said}{f' {same.capitalize()}.' if same else ''} Click a row to compare "
        "its codes."
    )
    chosen = event["selection"]["rows"]
    first, second = pairs[chosen[0] if chosen and chosen[0] < len(rows) else 0]
    table, by_name = results.contingency(first, second, which)
    st.markdown(f"**{plain(first.name)}** (rows) and **{plain(second.name)}** (columns)")
    if table.empty:
        st.caption(f"No unit counts in both.{_more(which)}")
        return
    same_units, total = int(np.trace(table.to_numpy())), int(table.to_numpy().sum())
    st.dataframe(
        table.astype("Int64").mask(table == 0),  # empty cells instead of zeros
        height="content" if len(table) < 12 else 420,
        column_config={"_index": st.column_config.Column(width=190)},
        placeholder="",
    )
    how = "Codes of the same name are" if by_name else "Groups are matched one-to-one (Hungarian method) and"
    st.caption(f"{how} on the diagonal: {same_units:,} of {total:,} units ({same_units / total:.0%}).")
    _collect(scope, found, first, second, which)


def _collect(scope: TextScope, found: LabellingGroup, first: Rater, second: Rater, which: str) -> None:
    """Draw the button that collects the units to which two people gave different codes."""

    def codes(rater: Rater, label: int) -> set[str]:
        return {folded_name(rater.called(code)) for code in rater.sets.get(label, {label})}

    placed = {
        sentence.id: f"{first.called(a)} ({first.name}), {second.called(b)} ({second.name})"
        for sentence, a, b in zip(found.sentences, *judged((first, second), which), strict=True)
        if a >= 0 and b >= 0 and codes(first, a) != codes(second, b)
    }
    if placed:
        source = f"{first.name} against {second.name}"
        about = (service.DISAGREEMENT, source, placed, labelling.permalink())
        labelling.button(
            "agreement",
            f"Collect {count(len(placed), 'disagreement')} as errors",
            scope.corpus_id,
            source,
            lambda: service.sentences(queries.store(), list(placed), *about, of_people=True),
        )


_VERDICTS = {
    Decision.PASSED: (":material/check:", "Passed: it wins against at least half of the people."),
    Decision.FAILED: (":material/close:", "Failed: it wins against fewer than half of the people."),
    Decision.TOO_FEW: (":material/hourglass_empty:", "Too few codes to tell."),
}


def _replacement(found: LabellingGroup, machines: Sequence[Coder]) -> None:
    """Draw the alternative annotator test of one model against the chosen people."""
    chosen = {rater.name for rater in found.people}
    people = [coder for coder in found.coders if coder.record.name in chosen and not coder.machine]
    if len(people) < 2:
        st.caption(
            "The alternative annotator test compares with at least two people, better three. Choose them under "
            "*Options*."
        )
        return
    left, right = st.columns(2)
    names = [coder.record.name for coder in machines]
    name = left.selectbox("Machine", names, key="agreement_machine")
    machine = machines[names.index(name)]
    who = right.selectbox(
        "The people are",
        list(EPSILONS),
        index=1,
        key="agreement_epsilon",
        format_func=lambda who: f"{who} (ε = {score(EPSILONS[who])})",
        help="ε is how much less often than a person the machine may be as close to the other people, since the work "
        "of people costs more. These values are recommended by Calderon et al. 2025.",
    )
    result = _tested((*found.version, name, who), people, machine, EPSILONS[who])
    if result is None:
        st.caption("The codings have no codes with common names, so codes cannot be compared.")
        return
    icon, text = _VERDICTS[result.verdict]
    rates = [
        f"{label} {score(value)}"
        for label, value in (("Winning rate ω", result.winning_rate), ("mean advantage ρ", result.advantage))
        if value is not None
    ]
    st.markdown(f"{icon} **{text}** {plain(result.reason)} {plain(', '.join(rates))}")
    rows = [
        (
            shorten(people[one.person].record.name, NAME),
            one.units,
            score(one.machine),
            score(one.human),
            *("–" if p is None else p_text(p) for p in (one.p, one.corrected)),
            "yes" if one.wins else "no",
        )
        for one in result.people
    ]
    titles = ["Person", "Units", "Machine as close", "Person as close", "p", "Corrected p", "Machine wins"]
    draw_table(pd.DataFrame(rows, columns=titles))
    abstained = int(machine.abstained.sum())
    without = f" It agrees with nobody on the {count(abstained, 'unit')} that it gave no code." if abstained else ""
    two = " Of two people, each is compared with one only; the authors ask for three." if len(people) < 3 else ""
    st.caption(
        "Each person is left out in turn: who is at least as close to the codes of the other people on a unit, the "
        "machine or the person? The machine wins if it is so at least as often as the person, less ε = "
        f"{score(result.epsilon)} (one-sided p, corrected by Benjamini and Yekutieli, at most {score(result.q)}); ω of "
        f".500 passes. Counted are units that the person and another one coded.{without}{two}"
    )


@st.cache_resource(show_spinner="Comparing with people …", max_entries=16)
def _tested(
    version: tuple[object, ...], _people: Sequence[Coder], _machine: Coder, _epsilon: float
) -> AlternativeAnnotatorTest | None:
    everybody = (*_people, _machine)
    names, sets = [coder.names for coder in everybody], [coder.sets for coder in everybody]
    return replacement_test([p.judged for p in _people], _machine.judged, names, _machine.abstained, _epsilon, sets)


current = project()
if current is not None:
    known = results.scopes(current.id)
    show(known) if known else steps(study_steps())
