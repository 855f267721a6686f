"""Estimates page: how much of a project has a code, by group and over time, from people's and the machine's codes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from themescope.core.columns import ColumnType
from themescope.core.errors import DataError
from themescope.core.estimates.report import REFERENCES, count_text, estimates, paragraphs
from themescope.core.estimates.shares import TOO_FEW, Coefficient, ShareEstimate, plan, regression, share
from themescope.core.labelling.markup import cited, latex_text, markdown
from themescope.core.metrics.formulas import FEWEST_DOCUMENTS, FEWEST_LABELS
from themescope.core.metrics.statistics import PERIODS, usual_period
from themescope.core.records.stored import ColumnRecord, CorpusRecord, LabellingRecord
from themescope.core.types import Estimate
from themescope.jobs.services.estimates import (
    Study,
    columns_of,
    groups_of,
    open_study,
    regressors,
    replication_zip,
    usual_labelling,
    values_of,
)
from themescope.jobs.services.table_files import csv_text
from themescope.webapp.features.estimates import (
    ALL,
    BY,
    CODE,
    DIFFERENCE,
    EVERY,
    LABELLINGS,
    MORE,
    PARTS,
    SHARES,
    SHOW,
    chart,
)
from themescope.webapp.shared import compare_queries, queries
from themescope.webapp.shared.choose import bound, nothing, one_of, project, steps, study_steps
from themescope.webapp.shared.components import attempt, download, draw_table
from themescope.webapp.shared.figures import tones
from themescope.webapp.shared.labelling import PLANNED, PlannedSample
from themescope.webapp.shared.navigation import page_link, switch_page
from themescope.webapp.shared.text import SOME, count, file_name, p_text, plain, some_of

_FEW = f"{TOO_FEW}; at least {FEWEST_LABELS} labels in {FEWEST_DOCUMENTS} documents are needed."
_WAYS = {
    "People": "From what people coded of the sample alone.",
    "Machine": "From its codes alone, as if it made no mistakes.",
    "Corrected": "From both: the machine's share, minus what it gets wrong in the units that people coded.",
    "Least – most": "The corrected share if the open units had the codes that make it lowest, or highest.",
}
_MOST_VALUES, _MOST_GROUPS = 20, 6
"""Categories with more values are no columns of a regression; groups that a table of all codes has."""


def show(corpus: CorpusRecord) -> None:
    """Draw the choices, and the estimates."""
    records = compare_queries.labellings(corpus.id)
    people = [record for record in records if not record.by_model]
    if not people:
        steps(study_steps())
        return
    first, second, third, fourth, last = st.columns([2, 2, 1.7, 1.3, 1.1], vertical_alignment="bottom")
    with last.popover("Options", icon=":material/tune:", width="stretch"):
        chosen = _chosen(people, [record for record in records if record.by_model])
    if not chosen[0]:
        nothing("No coding selected.", "Choose at least one under *Options*.")
        return
    try:
        study = _opened(*chosen, _stamp((*chosen[0], chosen[1] or chosen[0][0])))
    except DataError as error:
        st.caption(plain(error))
        steps(study_steps())
        return
    with queries.store().reading() as r:
        columns = columns_of(r, corpus.id)
    with first:
        code = bound("Code", [EVERY, *study.codes], CODE)
    with second:
        column = columns.get(bound("Group by", [ALL, *columns], BY))
    groups = [""] * len(study.ids)
    if column is not None:
        with fourth:
            groups = _groups(study, column)
    timed = column is not None and column.type == ColumnType.DATE
    head = st.container(horizontal=True, vertical_alignment="center")
    title = "Shares of the codes" if code == EVERY else f"Share of “{plain(code)}”"
    head.header(study.counted or f"{title} in {plain(study.frame)}", anchor=False, width="stretch")
    if code != EVERY:
        found = {code: _of_code(study, code, groups, third)}
    elif column is not None:
        found = {one: estimates(study.units(one), groups) for one in study.codes}
    else:
        found = {one: [share(study.units(one))] for one in study.codes}
    if study.counted:
        _draw_counts(study, found)
    else:
        _draw(study, found, timed)
    with head.popover("⋯", help="Files"):
        _files(study, code, groups, found)
    _notes(study, found)
    _draw_outside(study)
    if code != EVERY and not study.counted:
        _folded(study, code, groups, columns, column)


def _chosen(
    people: Sequence[LabellingRecord], machines: Sequence[LabellingRecord]
) -> tuple[tuple[int, ...], int | None]:
    """Draw the choice of codings; return the ids of people's, and that of a machine's in place of the predictions."""
    of = {record.name: record.id for record in (*people, *machines)}
    held = [name for name in st.session_state.get(LABELLINGS, []) if name in of]
    if not held:
        usual = queries.read(lambda r: usual_labelling(r, people))
        held = [] if usual is None else [usual.name]
    st.session_state[LABELLINGS] = held
    chosen = st.multiselect(
        "Codings of people",
        [record.name for record in people],
        key=LABELLINGS,
        bind="query-params",
        help="Several codings count as several people: a unit that half of them gave a code counts half.",
    )
    machine = st.selectbox(
        "Codes of the machine",
        ["Predictions", *(record.name for record in machines)],
        key="estimates_machine",
        help="The predictions of “Label the rest”, or a coding by a model.",
    )
    return tuple(of[name] for name in chosen), of.get(machine)


def _stamp(ids: tuple[int, ...]) -> tuple[Any, ...]:
    """Return what changes with the labels, the predictions and the samples."""
    with queries.store().reading() as r:
        steps = [r.labellings.snapshot(id).step for id in ids]
        predicted = [found.id if (found := r.predictions.newest(id)) else 0 for id in ids]
        corpus = r.corpora.get(r.labellings.get(ids[0]).corpus_id)
        tasks = [
            (task.id, sum(item.done is not None for item in r.tasks.items(task.id))) for task in r.tasks.list(corpus.id)
        ]
        edits = r.corpus_edits.stamp()
    return tuple(steps), tuple(predicted), tuple(tasks), corpus.sentences, edits


@st.cache_resource(show_spinner="Reading codes and predictions …", max_entries=8)
def _opened(ids: tuple[int, ...], machine: int | None, stamp: tuple[Any, ...]) -> Study:
    with queries.store().reading() as r:
        return open_study(
            r, [r.labellings.get(id) for id in ids], None if machine is None else r.labellings.get(machine)
        )


def _groups(study: Study, column: ColumnRecord) -> list[str]:
    period = ""
    if column.type == ColumnType.DATE:
        usual = PERIODS.index(queries.read(lambda r: usual_period(values_of(r, study, column))))
        period = st.selectbox("Period", PERIODS, usual, str.capitalize, key="estimates_period")
    return queries.read(lambda r: groups_of(r, study, column, period))


def _of_code(study: Study, code: str, groups: Sequence[str], bar: DeltaGenerator) -> list[ShareEstimate]:
    """Draw in ``bar`` what is estimated of a code, if there are groups, and return the estimates."""
    units, names = study.units(code), sorted({*groups} - {""})
    if not names:
        return [share(units)]
    pair = None
    with bar:
        shown = one_of("Show", [SHARES, PARTS, *([] if study.counted else [DIFFERENCE])], SHOW)
    if shown == DIFFERENCE and len(names) > 1:
        left, right, _ = st.columns([2, 2, 2])
        one = left.selectbox("Share in", names, key="estimates_first")
        pair = (one, right.selectbox("minus the share in", [n for n in names if n != one], key="estimates_second"))
    return estimates(units, groups, pair, shown == PARTS)


def _draw(study: Study, found: Mapping[str, Sequence[ShareEstimate]], timed: bool) -> None:
    """Draw chart and table: the estimates of a code or of several, or the best ones of several codes by group."""
    groups = list(dict.fromkeys(one.name for rows in found.values() for one in rows))
    few = any(chart.best(one) is None for rows in found.values() for one in rows)
    if len(found) > 1 and len(groups) > 1:
        _draw_by_group(found, groups)
        told = "Share with its 95 % interval" + (", corrected by the machine's codes." if study.coder else ".")
    else:
        listed = [(code if len(found) > 1 else one.name or ALL, one) for code, rows in found.items() for one in rows]
        ways = chart.WAYS if study.machine is not None else chart.ALONE
        timed = timed and len(groups) > 1
        shown = [row for row in listed if row[1].name] if timed else listed
        series = [
            (title, colour, symbol, [getattr(one, way) for _, one in shown]) for way, title, colour, symbol in ways
        ]
        _plot([name for name, _ in shown], series, timed)
        table: dict[str, Any] = {"Code" if len(found) > 1 else "Group": [name for name, _ in listed]}
        table |= {title: [chart.percent(getattr(one, way)) for _, one in listed] for way, title, _, _ in ways}
        table |= {"Units": [one.units for _, one in listed], "Coded": [one.labels for _, one in listed]}
        if any(one.open for _, one in listed):
            table |= {"Open": [one.open for _, one in listed], "Least – most": [chart.bounds(one) for _, one in listed]}
        draw_table(table, column_config={way: st.column_config.TextColumn(help=help) for way, help in _WAYS.items()})
        told = "Share with its 95 % interval." + (" **Corrected** is the one to report." if study.coder else "")
    missing = f" –: fewer than {FEWEST_LABELS} sampled units with codes in {FEWEST_DOCUMENTS} documents."
    st.caption(told + (missing if few else ""))


def _draw_counts(study: Study, found: Mapping[str, Sequence[ShareEstimate]]) -> None:
    """Draw the numbers of units with the codes, of which no share is estimated."""
    listed = [(code, one) for code, rows in found.items() for one in rows]
    first, whole = listed[0]
    what = f"Units with {plain(first)}" if len(found) == 1 else "Units with the code"
    if len(found) == 1 and not whole.name:
        st.markdown(f"**{plain(first)}: {count_text(whole)}**")
    table: dict[str, Any] = {"Code": [code for code, _ in listed]} if len(found) > 1 else {}
    if len(listed) > len(found) or whole.name:
        table["Group"] = [one.name or ALL for _, one in listed]
    table |= {
        what: [one.coded for _, one in listed],
        "Units checked by a person": [one.checked for _, one in listed],
        f"All u{what[1:]}" if whole.name else ALL: [one.units for _, one in listed],
    }
    if study.coder:
        table["Machine"] = [chart.percent(one.machine) for _, one in listed]
    draw_table(table)
    if st.button("Draw a random sample", icon=":material/casino:"):
        st.session_state[PLANNED] = PlannedSample(study.corpus.id, "", {"": min(len(study.ids), 100)})
        switch_page("tasks", {"view": "New task"})


def _draw_by_group(found: Mapping[str, Sequence[ShareEstimate]], groups: Sequence[str]) -> None:
    by_name = {code: {one.name: one for one in rows} for code, rows in found.items()}
    sizes = {one.name: one.units for rows in found.values() for one in rows}
    kept = {*sorted(filter(None, groups), key=lambda name: -sizes[name])[:_MOST_GROUPS]}
    shown = [name for name in groups if name in kept]
    symbols = ("circle", "square", "diamond", "triangle-up", "x", "cross")
    _plot(
        list(found),
        [
            (name, place, symbols[place], [chart.best(by_name[code][name]) for code in found])
            for place, name in enumerate(shown)
        ],
        False,
    )
    columns = {
        f"{name or ALL} ({sizes[name]:,})": [chart.percent(chart.best(by_name[code][name])) for code in found]
        for name in ("", *shown)
    }
    draw_table({"Code": list(found), **columns})
    if left := len(groups) - 1 - len(shown):
        st.caption(f"{count(left, 'smaller group')} not shown; the CSV file has all.")


def _plot(names: Sequence[str], series: Sequence[tuple[str, int, str, Sequence[Estimate | None]]], timed: bool) -> None:
    if all(value is None for *_, values in series for value in values):  # the table says why
        return
    figure = chart.estimates_figure(names, series, tones(st.context.theme.type), timed)
    alt = "Shares with 95 % intervals; see the table."
    st.plotly_chart(figure, key="estimates_chart", config=chart.EXPORT, alt=alt)


def _files(study: Study, code: str, groups: Sequence[str], found: Mapping[str, Sequence[ShareEstimate]]) -> None:
    """Draw the downloads of what is shown; the methods section is that of one code."""
    name, holds = f"{study.corpus.name} {code}", " ".join(study.holds)
    rows = [*chain.from_iterable(chart.rows(one, listed, holds) for one, listed in found.items())]
    download("CSV", lambda: csv_text(chart.HEADER, rows), file_name(name, "csv"))
    codes = () if code == EVERY else (code,)
    if not study.counted:
        download("Replication (ZIP)", lambda: replication_zip(study, codes, groups), file_name(name, "zip"))
    if code == EVERY:
        st.caption("The methods section is that of a code: choose one.")
        return
    told = paragraphs(code, study.units(code), found[code], study.coder, study.holds)
    download("Methods (Markdown)", lambda: markdown(told, REFERENCES), file_name(name, "md"))
    download("Methods (LaTeX)", lambda: latex_text(told), file_name(name, "tex"))
    bibliography = "\n\n".join(REFERENCES[key].bibtex() for key in cited(told))
    download("References (BibTeX)", lambda: bibliography, file_name(name, "bib"))


def _notes(study: Study, found: Mapping[str, Sequence[ShareEstimate]]) -> None:
    """Draw what a reader must know, each note once with the codes or groups that it is about."""
    listed = [(code if len(found) > 1 else one.name or ALL, one) for code, rows in found.items() for one in rows]
    known = {f"The estimates hold for {study.frame}.", f"{study.counted}."}
    holds = [note for note in study.holds if note not in known]
    told: dict[str, list[str]] = {note: [] for note in (*holds, *study.notes)}
    for name, one in listed:
        for note in one.warnings:
            several = note.startswith(TOO_FEW) and len(listed) > SOME
            told.setdefault(_FEW if several else note, []).append(name)
    for note, names in told.items():
        about = list(dict.fromkeys(names))
        of = f"{plain(some_of(about))}: " if 0 < len(names) < len(listed) else ""
        st.caption(f":material/info: {of}{plain(note)}")


def _draw_outside(study: Study) -> None:
    """Offer a sample of the units that the samples could not have drawn."""
    label = f"Draw from the {count(study.outside, 'unit')} outside of the sample"
    help = "A task with a random sample of those. Together, both samples are one of all."
    if study.outside and st.button(label, icon=":material/casino:", help=help):
        st.session_state[PLANNED] = PlannedSample(study.corpus.id, "", {"": min(study.outside, 100)}, outside=True)
        switch_page("tasks", {"view": "New task"})


def _folded(
    study: Study, code: str, groups: Sequence[str], columns: Mapping[str, ColumnRecord], by: ColumnRecord | None
) -> None:
    """Draw the planner and the regression, computed when they are open; ``by`` is the column of the groups."""
    part = st.expander("More: sample size, regression", icon=":material/functions:", key=MORE, on_change="rerun")
    if part.open:
        with part:
            st.subheader("How many more units?", anchor=False)
            _planner(study, code, groups, by)
            st.subheader("Regression on columns", anchor=False)
            _regression(study, code, columns)


def _planner(study: Study, code: str, groups: Sequence[str], by: ColumnRecord | None) -> None:
    help = "Half of the width of the interval of each group."
    margin = st.number_input("Wanted precision (± points)", 1.0, 20.0, 3.0, 0.5, key="estimates_margin", help=help)
    made = plan(study.units(code), [group or ALL for group in groups], margin / 100)
    draw_table(
        {
            "Group": [one.group for one in made.strata],
            "Machine says": ["the code" if one.coded else "another code" for one in made.strata],
            "Units": [one.units for one in made.strata],
            "Coded": [one.labels for one in made.strata],
            "Code more": [one.more for one in made.strata],
        }
    )
    reached = some_of([f"{plain(name)} ± {100 * half:.1f}" for name, half in made.expected.items()])
    short = some_of([plain(name) for name, half in made.expected.items() if half > made.margin + 0.0005])
    told = f"**{count(made.more, 'more unit')}**, chosen at random in each row. Expected after that: {reached}."
    st.caption(told + (f" All units of {short} are too few for ± {margin:g} points." if short else ""))
    if by is not None and by.type != ColumnType.CATEGORY:
        page_link("tasks", "Make a task with a random sample", view={"view": "New task"})
        return
    numbers: Counter[str] = Counter()
    for one in made.strata:
        numbers[one.group if by else ""] += one.more
    help = "Within a group, units are drawn together, whatever the machine says, which widens the intervals a little."
    if st.button("Draw this sample", icon=":material/casino:", help=help if by else None, disabled=not made.more):
        st.session_state[PLANNED] = PlannedSample(study.corpus.id, by.label if by else "", dict(+numbers))
        switch_page("tasks", {"view": "New task"})


def _regression(study: Study, code: str, columns: Mapping[str, ColumnRecord]) -> None:
    every = [c for c in queries.columns(study.corpus) if c.type == ColumnType.NUMBER] + [
        c for c in columns.values() if c.type == ColumnType.DATE or len(c.categories) <= _MOST_VALUES
    ]
    known = {column.label: column for column in every}
    chosen = st.multiselect("Columns", [*known], key="estimates_regression_columns")
    if not chosen:
        st.caption("Logistic regression: log odds ratios with 95 % intervals, corrected for the machine's mistakes.")
        return
    with queries.store().reading() as r:
        values = regressors(r, study, [known[name] for name in chosen])
    result = attempt(lambda: regression(study.units(code), values))
    if result is None:
        return
    names = [one.name for one in result.corrected or result.machine or result.people or ()]
    draw_table(
        {"Coefficient": names}
        | {
            title: [_coefficient(ways, row) for row in range(len(names))]
            for title, ways in (("People", result.people), ("Machine", result.machine), ("Corrected", result.corrected))
        }
    )
    for warning in result.warnings:
        st.caption(f":material/info: {plain(warning)}")


def _coefficient(found: Sequence[Coefficient] | None, row: int) -> str:
    if found is None:
        return "–"
    one = found[row]
    return f"{one.value:+.2f} [{one.low:+.2f}, {one.high:+.2f}], {p_text(one.p)}"


current = project()
if current is not None:
    show(current)
