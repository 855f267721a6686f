"""Counts, Agreement and Report tabs: categories by model and section, analysts compared, and the whole analysis."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from html import escape
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import pandas as pd
import streamlit as st

from themescope.core.labelling import markup
from themescope.core.labelling.markup import Block
from themescope.core.records.stored import CorpusRecord, ErrorCase
from themescope.db.label_records import Notebook
from themescope.jobs.services.notebook import counts as service
from themescope.jobs.services.notebook import report
from themescope.jobs.services.notebook.counts import Counts, CountScope, CountTable, analysts, count_categories
from themescope.jobs.services.notebook.report import ReportOptions
from themescope.jobs.services.notebook.report import report as write_report
from themescope.jobs.services.table_files import csv_text
from themescope.webapp.features.notebook import filters, state
from themescope.webapp.shared import queries
from themescope.webapp.shared.choose import bound, nothing
from themescope.webapp.shared.components import clickable_table, download, draw_table
from themescope.webapp.shared.figures import tones
from themescope.webapp.shared.labelling import error_notebook
from themescope.webapp.shared.pages import CORPUS
from themescope.webapp.shared.people import UNNAMED
from themescope.webapp.shared.text import count, distinct, file_name, plain, shorten

ALL_CASES, ANYONE = "All cases", "Any analyst"


def show_counts(corpus: CorpusRecord, notebook: Notebook) -> None:
    """Draw the choice of cases and analyst, the counts and both tables."""
    notebook = filters.chosen(notebook)
    if not notebook.current_categories() or not notebook.coded():
        nothing("Nothing to count yet.", "Give categories to cases in the tab “Cases”; the digits are their keys.")
        return
    found = count_categories(notebook, choose_scope(notebook))
    if not found.coded:
        nothing("No coded cases in this choice.", "Choose other cases or another analyst above.")
        return
    st.markdown(plain(found.statement()))
    left, right = st.columns([3, 2], gap="medium")
    with left:
        # Draw the chart of shares as an image, which executes nothing; its text is the same as that of the table.
        svg = b64encode(report.shares(found, tones(st.context.theme.type).ink).encode()).decode()
        said = "; ".join(f"{row.category.name}: {row.share:.0%}" for row in found.categories)
        alt = escape(f"Share of coded cases by category. {said}", quote=True)
        st.html(f'<img alt="{alt}" style="width:100%" src="data:image/svg+xml;base64,{svg}">')
    right.dataframe(
        pd.DataFrame(
            {
                "Category": [row.category.name for row in found.categories],
                "Cases": [row.cases for row in found.categories],
                "Share": [f"{row.share:.0%}" for row in found.categories],
                "Interval": [f"{row.low:.0%} to {row.high:.0%}" for row in found.categories],
            }
        ),
        hide_index=True,
    )
    right.caption("Shares with 95 % Wilson intervals. A case may have several categories.")
    _table("Categories by model", found.by_model, "A case counts for each of its models.")
    _table("Categories by section type", found.by_section, "Section types are titles of sections, spelled alike.")
    download("Counts (CSV)", lambda: _csv(found), "themescope-error-counts.csv")


def choose_scope(notebook: Notebook) -> CountScope:
    """Draw the choice of cases and of the analyst whose categories count."""
    samples = {sample.name: sample.id for sample in notebook.samples}
    people = {name or UNNAMED: name for name in analysts(notebook)}
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sample = bound("Cases", [ALL_CASES, *samples], state.COUNTED_SAMPLE, width=320)
        person = bound("Categories of", [ANYONE, *people], state.COUNTED_ANALYST, width=320)
    return CountScope(people.get(person), samples.get(sample))


def _table(title: str, of: CountTable, note: str) -> None:
    st.subheader(title, anchor=False)
    cells = {
        f"{name} ({total:,})": [of.cell(row, column) for row in range(len(of.categories))]
        for column, (name, total) in enumerate(zip(of.columns, of.totals, strict=True))
    }
    draw_table({"Category": list(of.categories)} | cells)
    st.caption(f"{plain(note)} {plain(of.reading())}")


def _csv(found: Counts) -> str:
    header = ("table", "category", "column", "cases", "of", "share", "low", "high", "residual")
    rows: list[tuple[object, ...]] = [
        ("categories", r.category.name, "", r.cases, found.coded, r.share, r.low, r.high, None)
        for r in found.categories
    ]
    for name, of in (("model", found.by_model), ("section type", found.by_section)):
        for i, category in enumerate(of.categories):
            for j, column in enumerate(of.columns):
                n, residual = int(of.found.counts[i, j]), float(of.found.residuals[i, j])
                rows.append((name, category, column, n, of.totals[j], n / of.totals[j], None, None, residual))
    return csv_text(header, rows)


# --- report -----------------------------------------------------------------------------------------------------------


_EXAMPLES, _MOST_EXAMPLES = 5, 50


def show(corpus: CorpusRecord, notebook: Notebook) -> None:
    """Draw what the report is about, its downloads, and the report itself."""
    if not notebook.cases:
        nothing("No cases yet.", "A report needs cases; the tab “Cases” says how to add them.")
        return
    scope = choose_scope(notebook)
    examples = int(st.number_input("Examples of each category", 1, _MOST_EXAMPLES, _EXAMPLES, width=320))
    base = st.context.url or ""
    options = ReportOptions(
        corpus.name, scope, examples, _case_address(base, corpus), origin_address(base, corpus),
        lambda person: person or UNNAMED,
    )  # fmt: skip

    def blocks() -> list[Block]:
        return write_report(queries.store(), notebook, options)

    title, origin = f"Error analysis of {corpus.name}", options.origin_address
    with st.container(horizontal=True):
        download(
            "Report (HTML)", lambda: markup.as_html(blocks(), title), file_name(title, "html"), type="primary",
            key="notebook_export_html",
        )  # fmt: skip
        download("Report (Markdown)", lambda: markup.as_markdown(blocks()), file_name(title, "md"))
        download("Cases (CSV)", lambda: report.csv(notebook, origin), file_name(f"{corpus.name} cases", "csv"))
        download("Cases (JSONL)", lambda: report.jsonl(notebook, origin), file_name(f"{corpus.name} cases", "jsonl"))
    st.caption(f"{count(len(notebook.cases), 'case')}. The HTML report is one file with all figures.")


def _case_address(base: str, corpus: CorpusRecord) -> Callable[[ErrorCase], str]:
    return lambda case: _address(base, error_notebook.PAGE, {CORPUS: corpus.name, state.CASE: str(case.id)})


def origin_address(base: str, corpus: CorpusRecord) -> Callable[[ErrorCase], str]:
    """Return a function that returns the address of the view in which a case was found."""

    def address(case: ErrorCase) -> str:
        page, _, query = case.permalink.partition("?")
        found: dict[str, list[str]] = {CORPUS: [corpus.name]}
        for name, value in parse_qsl(query, keep_blank_values=True):
            found.setdefault(name, []).append(value)
        return _address(base, page, found)

    return address


def _address(base: str, page: str, query: dict[str, str] | dict[str, list[str]]) -> str:
    """Return the address of a page of the application that is open at ``base``."""
    parts = urlsplit(base)
    return urlunsplit((parts.scheme, parts.netloc, f"/{page}", urlencode(query, doseq=True), ""))


# --- agreement --------------------------------------------------------------------------------------------------------


_TEXT = 90


def show_agreement(corpus: CorpusRecord, notebook: Notebook) -> None:
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
        first = bound("First analyst", [*names], state.FIRST, index=[*names].index(pair[0] or UNNAMED))
    with right:
        second = bound("Second analyst", [*names], state.SECOND, index=[*names].index(pair[1] or UNNAMED))
    if first == second:
        st.info("Choose two different analysts.", icon=":material/info:")
        return
    _pair(notebook, (names[first], names[second]))


def _pair(notebook: Notebook, people: tuple[str, str]) -> None:
    found = service.agreement(notebook, people)
    first, second = (name or UNNAMED for name in people)
    st.markdown(
        f"Krippendorff's alpha of the sets of categories (MASI distance): **{plain(service.in_words(found.alpha))}** "
        f"over {count(found.alpha.cases, 'common case')}."
    )
    draw_table(
        {
            "Category": [row.category.name for row in found.categories],
            f"Cases of {first}": [row.first for row in found.categories],
            f"Cases of {second}": [row.second for row in found.categories],
            "Both": [row.both for row in found.categories],
            "Cohen's kappa": [service.in_words(row.kappa) for row in found.categories],
        },
        column_config={"Cohen's kappa": st.column_config.TextColumn(width="large")},
    )
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
