"""Report tab: the whole analysis as Markdown and HTML, and the cases as tables."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import streamlit as st

from themescope.core.labelling import markup
from themescope.core.labelling.markup import Block
from themescope.core.records.stored import CorpusRecord, ErrorCase
from themescope.db.records import Notebook
from themescope.jobs.services.notebook import report
from themescope.jobs.services.notebook.report import ReportOptions
from themescope.jobs.services.notebook.report import report as write_report
from themescope.webapp.features.notebook import state
from themescope.webapp.features.notebook.counts import choose_scope
from themescope.webapp.shared import queries
from themescope.webapp.shared.choose import nothing
from themescope.webapp.shared.components import download
from themescope.webapp.shared.labelling import error_notebook
from themescope.webapp.shared.pages import CORPUS
from themescope.webapp.shared.people import UNNAMED
from themescope.webapp.shared.text import count, file_name

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
            key=f"{state.EXPORT}_html",
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
