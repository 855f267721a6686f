"""Estimates page: how much of a project has a code, by group and over time, from labels and the machine's codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st

from themescope.core.columns import ColumnType
from themescope.core.errors import DataError
from themescope.core.estimates.formulas import FEWEST_DOCUMENTS, FEWEST_LABELS
from themescope.core.estimates.report import estimates
from themescope.core.estimates.shares import TOO_FEW, ShareEstimate, composition, difference, share
from themescope.core.metrics.crosstabs import PERIODS, usual_period
from themescope.core.records.stored import ColumnRecord, CorpusRecord, LabellingRecord
from themescope.jobs.common.labelled import MODEL
from themescope.jobs.services.estimates.study import Study, columns_of, groups_of, open_study, values_of
from themescope.jobs.services.table_files import csv_text
from themescope.webapp.features.estimates import ALL, BY, CODE, DIFFERENCE, EVERY, LABELLINGS, PARTS, SHARES, SHOW, more
from themescope.webapp.shared import queries
from themescope.webapp.shared.choose import bound, nothing, project, segment, steps, study_steps
from themescope.webapp.shared.components import download, draw_table
from themescope.webapp.shared.figures import tones
from themescope.webapp.shared.results import compare_queries
from themescope.webapp.shared.text import SOME, file_name, plain, some_of

_PREDICTIONS = "Predictions"
_FEW = f"{TOO_FEW}; at least {FEWEST_LABELS} labels in {FEWEST_DOCUMENTS} documents are needed."
_WAYS = {
    "People": "From the labels of the sample alone.",
    "Machine": "From its codes alone, as if it made no mistakes.",
    "Corrected": "From both: the machine's share, minus what it gets wrong in the labelled sentences.",
    "Least – most": "The corrected share if the open sentences had the labels that make it lowest, or highest.",
}


def show(corpus: CorpusRecord) -> None:
    """Draw the choice of labels, and the estimates."""
    records = compare_queries.labellings(corpus.id)
    people = [record for record in records if record.origin.get("from") != MODEL]
    if not people:
        steps(study_steps())
        return
    study = _study_of(people, [record for record in records if record.origin.get("from") == MODEL])
    if study is None:
        return
    with queries.store().reading() as r:
        columns = columns_of(r, corpus.id)
    first, second, third = st.columns([2, 2, 1.4], vertical_alignment="bottom")
    with first:
        code = bound("Code", [EVERY, *study.codes], CODE)
    groups, column = [""] * len(study.ids), None
    if code != EVERY:
        with second:
            by = bound("Group by", [ALL, *columns], BY)
        column = columns.get(by)
        if column is not None:
            with third:
                groups = _groups(study, column)
    if code == EVERY:
        found = [share(study.units(one), name=one) for one in study.codes]
    else:
        found = _of_code(study, code, groups)
    _notes(study, found)
    more.draw_outside(study)
    _draw(study, code, found, {*groups} if column is not None and column.type == ColumnType.DATE else set())
    if code != EVERY:
        more.show(study, code, groups, found, columns, column)


def _notes(study: Study, found: Sequence[ShareEstimate]) -> None:
    """Draw what a reader must know, each note once with the groups that it is about."""
    told: dict[str, list[str]] = {note: [] for note in (*study.holds, *study.notes)}
    for one in found:
        for note in one.warnings:
            several = note.startswith(TOO_FEW) and len(found) > SOME
            told.setdefault(_FEW if several else note, []).append(one.name or ALL)
    for note, names in told.items():
        of = f"{plain(some_of(names))}: " if 0 < len(names) < len(found) else ""
        st.caption(f":material/info: {of}{plain(note)}")


def _study_of(people: Sequence[LabellingRecord], machines: Sequence[LabellingRecord]) -> Study | None:
    """Draw the choice of labellings and of the machine; return the study, None with a message if there is none."""
    left, right = st.columns([3, 2])
    names = [record.name for record in people]
    held = [name for name in st.session_state.get(LABELLINGS, []) if name in names]
    st.session_state[LABELLINGS] = held or _usual(people)
    chosen = left.multiselect(
        "Labels of people", names, key=LABELLINGS, bind="query-params",
        help="Several labellings count as several people: a sentence that half of them gave a code counts half.",
    )  # fmt: skip
    machine = right.selectbox(
        "Codes of the machine", [_PREDICTIONS, *(record.name for record in machines)], key="estimates_machine",
        help="The predictions of “Label the rest”, or a labelling by a model.",
    )  # fmt: skip
    if not chosen:
        nothing("No labelling selected.", "Select at least one above.")
        return None
    of = {record.name: record.id for record in (*people, *machines)}
    ids = tuple(of[name] for name in chosen)
    try:
        return _opened(ids, of.get(machine), _stamp((*ids, of.get(machine, ids[0]))))
    except DataError as error:
        st.caption(plain(error))
        steps(study_steps())
        return None


def _usual(people: Sequence[LabellingRecord]) -> list[str]:
    """Return the labelling whose predictions are the newest, else the one made last."""
    with queries.store().reading() as r:
        predicted = [(r.predictions.newest(record.id), record) for record in people]
    known = [(found.created, record.name) for found, record in predicted if found is not None]
    return [max(known)[1]] if known else [people[0].name]


def _stamp(ids: tuple[int, ...]) -> tuple[Any, ...]:
    """Return what changes with the labels, the predictions and the samples."""
    with queries.store().reading() as r:
        steps = [r.labellings.snapshot(id).step for id in ids]
        predicted = [found.id if (found := r.predictions.newest(id)) else 0 for id in ids]
        corpus = r.corpora.get(r.labellings.get(ids[0]).corpus_id)
        tasks = [(task.id, sum(item.done is not None for item in r.tasks.items(task.id))) for task in
                 r.tasks.list(corpus.id)]  # fmt: skip
        edits = r.corpus_edits.stamp()
    return tuple(steps), tuple(predicted), tuple(tasks), corpus.sentences, edits


@st.cache_resource(show_spinner="Reading labels and predictions …", max_entries=8)
def _opened(ids: tuple[int, ...], machine: int | None, stamp: tuple[Any, ...]) -> Study:
    with queries.store().reading() as r:
        return open_study(
            r, [r.labellings.get(id) for id in ids], None if machine is None else r.labellings.get(machine)
        )


def _groups(study: Study, column: ColumnRecord) -> list[str]:
    period = ""
    if column.type == ColumnType.DATE:
        with queries.store().reading() as r:
            usual = usual_period(values_of(r, study, column))
        period = st.selectbox(
            "Period", PERIODS, index=PERIODS.index(usual), format_func=str.capitalize, key="estimates_period"
        )
    with queries.store().reading() as r:
        return groups_of(r, study, column, period)


def _of_code(study: Study, code: str, groups: Sequence[str]) -> list[ShareEstimate]:
    """Draw what is estimated of a code, if there are groups, and return the estimates."""
    units, names = study.units(code), sorted({*groups} - {""})
    if not names:
        return [share(units, name="All sentences")]
    place = {name: number for number, name in enumerate(names)}
    of = np.array([place.get(group, -1) for group in groups])
    shown = segment("Estimate", {name: name for name in (SHARES, PARTS, DIFFERENCE)}, SHOW, SHARES)
    if shown == PARTS:
        st.caption(f"Of the sentences with the code “{plain(code)}”, the part of each group.")
        return [composition(units, of == number, name) for name, number in place.items()]
    if shown == DIFFERENCE and len(names) > 1:
        left, right, _ = st.columns([2, 2, 2])
        one = left.selectbox("Share in", names, key="estimates_first")
        other = right.selectbox("minus the share in", [n for n in names if n != one], key="estimates_second")
        return [difference(units, of == place[one], of == place[other], f"{one} – {other}")]
    return estimates(units, groups)


def _draw(study: Study, code: str, found: Sequence[ShareEstimate], periods: set[str]) -> None:
    """Draw chart and table; estimates of ``periods`` have a time axis."""
    timed = [one for one in found if one.name and one.name in periods]
    st.plotly_chart(
        more.estimates_figure(timed or found, tones(st.context.theme.type), bool(timed)),
        key="estimates_chart",
        config=more.EXPORT,
        alt="Shares with 95 % intervals; see the table.",
    )
    rows = [(one.name or ALL, one) for one in found]
    table: dict[str, Any] = {"Code" if code == EVERY else "Group": [name for name, _ in rows]}
    for way in ("People", "Machine", "Corrected"):
        table[way] = [more.percent(getattr(one, way.lower())) for _, one in rows]
    table |= {"Sentences": [one.units for _, one in rows], "Labels": [one.labels for _, one in rows]}
    if any(one.open for _, one in rows):
        table |= {"Open": [one.open for _, one in rows], "Least – most": [more.bounds(one) for _, one in rows]}
    draw_table(table, column_config={way: st.column_config.TextColumn(help=help) for way, help in _WAYS.items()})
    few = any(one.people is None for one in found)
    st.caption(
        "Share in percent with its 95 % interval. **Corrected** is the one to report."
        + (f" –: fewer than {FEWEST_LABELS} sampled labels in {FEWEST_DOCUMENTS} documents." if few else "")
    )
    rows_of_csv = more.rows(found, " ".join(study.holds))
    download("CSV", lambda: csv_text(more.HEADER, rows_of_csv), file_name(f"{study.corpus.name} {code}", "csv"))


current = project()
if current is not None:
    show(current)
