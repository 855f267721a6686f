"""Tables of a paper: published and reproduced scores, data, deviations and tests; the form that reproduces them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from themescope.core.papers import PAPERS, paper
from themescope.core.papers.spec import Paper
from themescope.db.access import Right
from themescope.db.records import PaperTableRecord
from themescope.jobs.papers.document import has_published, number, run_facts, value
from themescope.jobs.services.pipeline import reproduce_again
from themescope.jobs.services.table_files import csv_text
from themescope.webapp.features.paper_tables import state
from themescope.webapp.shared import input_files, queries
from themescope.webapp.shared.choose import by_name, closed, project
from themescope.webapp.shared.components import download, draw_table
from themescope.webapp.shared.job_status import queue_job, submit
from themescope.webapp.shared.people import may
from themescope.webapp.shared.text import ago, plain


def papers() -> list[Paper]:
    """Return the papers, those with reproduced tables first."""
    have = queries.read(lambda r: {record.paper for record in r.papers.list()})
    return [paper(id) for id in sorted(PAPERS, key=lambda id: id not in have)]


def tables(paper_id: str) -> dict[str, dict[str, PaperTableRecord]]:
    """Return profile → table id → latest reproduction, in the order of the experiment specs."""
    records = queries.read(lambda r: r.papers.list(paper_id))
    found = {(record.profile, record.name): record for record in records}
    declared = paper(paper_id)
    by_profile = {
        profile.id: {
            table.id: found[profile.id, table.id] for table in declared.tables if (profile.id, table.id) in found
        }
        for profile in declared.profiles
    }
    return {profile: made for profile, made in by_profile.items() if made}


Json = Mapping[str, Any]
_VERDICTS = {"holds": "✓ reproduced", "reversed": "✗ reversed", "not shown": "– inconclusive"}
_AGAIN = "Results already in the store are reused."
_DATA = {
    "data": ("Data folder", "Folder with the paper's data sets on the worker's machine."),
    "words": ("Word vectors", "Word-vector table for running text: an id or a file."),
}
_ENCODER = {"encoder": ("Sentence encoder", "Folder of a sentence encoder; empty: the installed one.")}
_OF_ARTICLES = {
    "triplets": ("Published triplets", "Folder with the published triplet files."),
    "scb": ("Published benchmark", "The published clustering benchmark (CSV file)."),
    "sick": ("SICK", "Folder with SICK: sentence pairs with human relatedness ratings."),
}
"""Fields shown only for papers whose data are articles with sections."""


def table_name(record: PaperTableRecord) -> str:
    """Return ``4 · Clustering the sentences …``, the label of a table in lists."""
    return f"{record.name} · {record.content['title']}"


def show(record: PaperTableRecord) -> None:
    """Draw a table with its data, its tests and a button that runs it again."""
    content = record.content
    st.caption(f"{plain(content['source'])}. {plain(content['about'])}")
    if not content["complete"]:
        st.info("Some rows are not measured yet. The job adds them one by one.", icon=":material/info:")
    column = _column(content["columns"], record.id)
    frame, common = common_deviation(_frame(content, column))
    draw_table(frame, column_config=_WIDTHS)
    if common:
        st.caption(f"Every row: {plain(common)}")
    st.caption(
        "Ours: means over seeds with 95 % intervals over the n articles, documents or pairs of sentences; ± is the "
        f"standard deviation over seeds. {plain(run_facts(record.profile, content))} Made {ago(record.created)}."
    )
    with st.container(horizontal=True):
        again = may(Right.MANAGE) and st.button("Run again", icon=":material/replay:", help=_AGAIN)
        if again and queue_job(lambda: reproduce_again(queries.store(), record)):
            st.rerun()
        download("CSV", lambda: export(record.content), f"{record.paper}-table-{record.name}-{record.profile}.csv")
    if content["claims"]:
        titles = {column["metric"]: column["title"] for column in content["columns"]}
        st.subheader("Is the order reproduced?", anchor=False)
        lines = [
            {
                "Claim": f"{claim['first']} {'>' if claim['relation'] == 'better' else '≈'} {claim['second']}",
                "Metric": titles[claim["metric"]],
                "Difference": _difference(claim),
                "p (Holm)": "–" if "p_holm" not in claim else number(claim["p_holm"], 3),
                "Verdict": _VERDICTS.get(claim.get("verdict", ""), "not tested"),
            }
            for claim in content["claims"]
        ]
        draw_table(lines)
        st.caption(
            "Paired over the items of both rows: mean difference with 95 % bootstrap interval and p of "
            "Wilcoxon's signed-rank test, corrected by Holm over the table."
        )


def _column(columns: Sequence[Json], key: int) -> Json:
    """Choose the metric to show; without a widget if there is only one."""
    if len(columns) == 1:
        return columns[0]
    titles = {column["metric"]: column["title"] for column in columns}
    chosen = st.segmented_control(
        "Metric",
        list(titles),
        default=columns[0]["metric"],
        required=True,
        format_func=titles.__getitem__,
        key=f"paper_tables_metric_{key}",
    )
    return next(column for column in columns if column["metric"] == chosen)


_WIDTHS = {
    "Row": st.column_config.TextColumn(width=170, pinned=True),
    "Deviation": st.column_config.TextColumn(width=330),
    "Data": st.column_config.TextColumn(width=170),
}


def _frame(content: Json, column: Json) -> pd.DataFrame:
    """Return one row per method: published, ours, difference, data and deviation.

    A table without published numbers has neither of the two columns about them.
    """
    frame = pd.DataFrame([_line(row, column) for row in content["rows"]])
    return frame if has_published(content) else frame.drop(columns=["Published", "Difference"])


def _line(row: Json, column: Json) -> dict[str, str]:
    metric, digits = column["metric"], column["digits"]
    ours, published = row["ours"].get(metric), row["published"].get(metric)
    difference = row["difference"].get(metric)
    return {
        "Row": row["title"],
        "Published": "–" if published is None else number(published, digits),
        "Ours": "not measured" if ours is None else value(ours, digits, spread=False),
        "± seeds": "–" if ours is None or "spread" not in ours else number(ours["spread"], digits),
        "Difference": "–" if difference is None else number(difference, digits, sign=True),
        "Deviation": row["deviation"],
        "Data": row["missing"] or row["data"],
    }


def common_deviation(frame: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return the table and the deviation common to all rows, whose column is then dropped."""
    deviations = set(frame["Deviation"])
    if len(frame) < 2 or len(deviations) > 1:
        return frame, ""
    return frame.drop(columns="Deviation"), deviations.pop()


def _difference(claim: Json) -> str:
    if "difference" not in claim:
        return "–"
    ends = ", ".join(number(claim[end], 3, sign=True) for end in ("low", "high"))
    return f"{number(claim['difference'], 3, sign=True)} [{ends}]"


def export(content: Json) -> str:
    """Return all scores of a table as CSV, one line per row and metric."""
    header = ["row", "metric", "published", "ours", "low", "high", "spread", "difference", "data", "deviation"]
    return csv_text(
        header,
        (
            [
                row["title"],
                column["metric"],
                row["published"].get(column["metric"]),
                *(row["ours"].get(column["metric"], {}).get(part) for part in ("value", "low", "high", "spread")),
                row["difference"].get(column["metric"]),
                row["missing"] or row["data"],
                row["deviation"],
            ]
            for row in content["rows"]
            for column in content["columns"]
        ),
    )


def form(declared: Paper) -> None:
    """Draw the form that reproduces some or all tables."""
    if closed("Reproduction of tables"):
        return
    source = None
    if declared.needs_articles:
        source = project()
        if source is None:
            return
        st.caption(f"Triplets and benchmark come from the project “{plain(source.name)}”, split by article titles.")
    profile = by_name("Profile", declared.profiles, state.NEW_PROFILE, lambda p: p.title)
    st.caption(plain(profile.about))
    titles = {table.id: f"{table.id} · {table.title}" for table in declared.tables}
    with st.form("reproduce"):
        tables = st.multiselect("Tables", list(titles), format_func=titles.__getitem__, placeholder="all")
        with st.expander("Data files", icon=":material/folder_open:"):
            if not input_files.server_paths_offered():
                input_files.explain_server_paths()
                given = {}
            else:
                encoder = _ENCODER if any(model.encoder for model in declared.models) else {}
                fields = _DATA | (_OF_ARTICLES if declared.needs_articles else {}) | encoder
                given = {name: st.text_input(label, help=help) for name, (label, help) in fields.items()}
        if st.form_submit_button("Reproduce", type="primary", icon=":material/science:"):
            corpus = source.name if source is not None else ""
            args = {"paper": declared.id, "profile": profile.id, "tables": list(tables), "corpus": corpus}
            files = {name: input_files.expanded_path(value) for name, value in given.items()}
            if submit("reproduce", {**args, **files}):
                st.rerun()
