"""Below the estimates of a code: regression, the labels that are still needed, methods and replication."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from zipfile import ZIP_DEFLATED, ZipFile

import streamlit as st

from themescope.core.columns import ColumnType
from themescope.core.estimates.planner import plan
from themescope.core.estimates.regression import Coefficient, regression
from themescope.core.estimates.report import REFERENCES, paragraphs, replication_files
from themescope.core.estimates.shares import ShareEstimate
from themescope.core.labelling.markup import cited, latex_text, markdown
from themescope.core.records.stored import ColumnRecord
from themescope.jobs.services.estimates.study import Study, regressors
from themescope.webapp.shared import queries
from themescope.webapp.shared.components import attempt, download, draw_table
from themescope.webapp.shared.labelling.task_queries import PLANNED, PlannedSample
from themescope.webapp.shared.navigation import page_link, switch_page
from themescope.webapp.shared.text import count, file_stem, p_text, plain, some_of

_MOST_VALUES = 20
"""Categories with more values are no columns of a regression."""


def show(
    study: Study,
    code: str,
    groups: Sequence[str],
    found: Sequence[ShareEstimate],
    columns: Mapping[str, ColumnRecord],
    by: ColumnRecord | None,
) -> None:
    """Draw the three parts, each closed at first; ``by`` is the column of the groups."""
    with st.expander("How many more labels?", icon=":material/add_task:"):
        _planner(study, code, groups, by)
    with st.expander("Regression of the code on columns", icon=":material/functions:"):
        _regression(study, code, columns)
    with st.expander("Methods section and replication", icon=":material/description:"):
        _report(study, code, groups, found)


def _planner(study: Study, code: str, groups: Sequence[str], by: ColumnRecord | None) -> None:
    margin = st.number_input(
        "Wanted precision (± points)", 1.0, 20.0, 3.0, 0.5, key="estimates_margin",
        help="Half of the width of the interval of each group.",
    )  # fmt: skip
    names = [group or "All sentences" for group in groups]
    made = plan(study.units(code), names, margin / 100)
    draw_table(
        {
            "Group": [one.group for one in made.strata],
            "Machine says": ["the code" if one.coded else "another code" for one in made.strata],
            "Sentences": [one.units for one in made.strata],
            "Labels": [one.labels for one in made.strata],
            "Label more": [one.more for one in made.strata],
        }
    )
    reached = some_of([f"{plain(name)} ± {100 * half:.1f}" for name, half in made.expected.items()])
    short = some_of([plain(name) for name, half in made.expected.items() if half > made.margin + 0.0005])
    st.caption(
        f"**{count(made.more, 'more label')}**, chosen at random in each row. Expected after that: {reached}."
        + (f" All sentences of {short} are too few for ± {margin:g} points." if short else "")
    )
    if by is not None and by.type != ColumnType.CATEGORY:
        page_link("tasks", "Make a task with a random sample", view={"view": "New task"})
        return
    numbers: Counter[str] = Counter()
    for one in made.strata:
        numbers[one.group if by else ""] += one.more
    help = (
        "Within a group, sentences are drawn together, whatever the machine says, which widens the intervals a little."
    )
    if st.button("Draw this sample", icon=":material/casino:", help=help if by else None, disabled=not made.more):
        st.session_state[PLANNED] = PlannedSample(study.corpus.id, by.label if by else "", dict(+numbers))
        switch_page("tasks", {"view": "New task"})


def draw_outside(study: Study) -> None:
    """Offer a sample of the sentences that the samples could not have drawn."""
    label = f"Draw from the {count(study.outside, study.corpus.unit.value)} outside of the sample"
    help = "A task with a random sample of those. Together, both samples are one of all."
    if study.outside and st.button(label, icon=":material/casino:", help=help):
        st.session_state[PLANNED] = PlannedSample(study.corpus.id, "", {"": min(study.outside, 100)}, outside=True)
        switch_page("tasks", {"view": "New task"})


def _regression(study: Study, code: str, columns: Mapping[str, ColumnRecord]) -> None:
    every = [c for c in queries.columns(study.corpus) if c.type == ColumnType.NUMBER] + [
        c for c in columns.values() if c.type == ColumnType.DATE or len(c.categories) <= _MOST_VALUES
    ]
    known = {column.label: column for column in every}
    chosen = st.multiselect("Columns", [*known], key="estimates_regression")
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


def _report(study: Study, code: str, groups: Sequence[str], found: Sequence[ShareEstimate]) -> None:
    told = paragraphs(code, study.units(code), found, study.coder, study.holds)
    st.code(markdown(told, REFERENCES), language=None, wrap_lines=True)
    st.caption("The replication files give shares, the parts of groups in the code, and the differences of groups.")
    stem = file_stem(f"{study.corpus.name} {code}")
    with st.container(horizontal=True):
        download("Markdown", lambda: markdown(told, REFERENCES), f"{stem}.md")
        download("LaTeX", lambda: latex_text(told), f"{stem}.tex")
        download("BibTeX", lambda: "\n\n".join(REFERENCES[key].bibtex() for key in cited(told)), f"{stem}.bib")
        if st.button("Replication files", icon=":material/folder_zip:", help="A table, and a script that needs NumPy."):
            ids = [str(id) for id in study.ids.tolist()]
            files = attempt(lambda: replication_files(study.units(code), groups, ids, study.holds))
            if files is not None:
                download("ZIP", lambda: _zipped(files), f"{stem}.zip")


def _zipped(files: Mapping[str, str]) -> bytes:
    packed = io.BytesIO()
    with ZipFile(packed, "w", ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return packed.getvalue()
