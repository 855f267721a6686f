"""Report and files: the report of a project, and every file that leaves it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain

import streamlit as st

from themescope.core.records.stored import CorpusRecord, LabellingRecord
from themescope.jobs.common.labelled import judged_sentences
from themescope.jobs.services.estimates import open_study, replication_zip, usual_labelling
from themescope.jobs.services.labelling import codebook, files, qda_projects
from themescope.jobs.services.labelling.agreement import counting
from themescope.jobs.services.labelling.codebook import methods_section
from themescope.jobs.services.report import report_file
from themescope.jobs.services.selections import theme_table
from themescope.webapp.features.report import CODING
from themescope.webapp.shared import compare_queries, queries
from themescope.webapp.shared.choose import by_name, project, steps, study_steps
from themescope.webapp.shared.components import download
from themescope.webapp.shared.forms import table_formats
from themescope.webapp.shared.navigation import View, page_link
from themescope.webapp.shared.text import count, file_name, file_stem, plain

Make = Callable[[], str | bytes]


def show(corpus: CorpusRecord) -> None:
    """Draw the report, and a list of the files that there are."""
    store, codings = queries.store(), compare_queries.labellings(corpus.id)
    with store.reading() as r:
        runs, maps = r.runs.themes(corpus.id, whole=True), r.maps.list(corpus.id)
        usual = usual_labelling(r, codings)
    if not codings and not runs:
        steps(study_steps())
        return
    long = st.session_state.get("report_long", False)
    write = partial(report_file, store, corpus, codings, long=long)
    with st.container(border=True):
        st.markdown(
            "**Report** :gray[· "
            + (
                "with shares by column, the map and how the codings were made]"
                if long
                else "two pages: question, data, codes or themes with 95 % intervals, agreement, method and limits]"
            )
        )
        with st.container(horizontal=True, vertical_alignment="center"):
            for label, suffix in (("Web page", "html"), ("Word", "docx"), ("Markdown", "md")):
                download(
                    label,
                    partial(write, f".{suffix}"),
                    file_name(f"Report of {corpus.name}", suffix),
                    key=f"report-{suffix}",
                    type="primary" if suffix == "html" else "secondary",
                )
            st.toggle("Long", key="report_long")
    if codings:
        ordered = sorted(codings, key=lambda one: one is not usual)
        coding = by_name("Coding", ordered, CODING, lambda record: record.name) if len(codings) > 1 else codings[0]
        _coding_files(corpus, coding, codings)
    if runs:
        header, parts = theme_table(store, runs[-1].id)
        table = table_formats(corpus.id, "themes", lambda: (header, [*chain.from_iterable(parts())]))
        _item("Themes", "each unit with its theme at every level and how near it is", table)
    if maps:
        _item("Figure of the map", "SVG, PNG or PDF of a size in millimetres", {}, ("map", "Open the map", None))
    about = "the project for another Themescope, and for Hugging Face"
    _item("Bundle and dataset", about, {}, ("texts", "In the menu of Texts", None))


def _coding_files(corpus: CorpusRecord, coding: LabellingRecord, codings: Sequence[LabellingRecord]) -> None:
    store, id, name, stem = queries.store(), coding.id, coding.name, file_stem(coding.name)
    with store.reading() as r:
        predicted, partition = r.predictions.newest(id), r.labellings.snapshot(id).partition
        judged = len(judged_sentences(r, coding, partition))
    about = f"{count(coding.sentences, 'unit')}, {judged:,} of them coded by people: code, who gave it, and all columns"
    _item("Codes", about, table_formats(corpus.id, stem, lambda: (files.HEADER, files.rows(store, id))))
    if predicted is not None:
        table = table_formats(corpus.id, f"{stem}-predictions", lambda: files.prediction_table(store, id))
        _item("Predictions", "the machine's code where nobody coded, and the probability of each code", table)
    if partition.clusters:
        formats = {"Web page": "html", "Markdown": "md", "CSV": "csv", "JSON": "json", "REFI-QDA": "qdc"}
        _item(
            "Codebook",
            "codes, rules and examples; REFI-QDA (.qdc) is read by NVivo, ATLAS.ti and MAXQDA",
            {
                label: (f"{stem}-codebook.{suffix}", partial(codebook.written, store, id, suffix))
                for label, suffix in formats.items()
            },
        )
    _item(
        "For other programs",
        "texts, codes and coded units; the whole coding has its history and can be imported",
        {
            "QDPX": (f"{stem}.qdpx", lambda: qda_projects.qdpx(store, id)),
            "Label Studio": (f"{stem}-label-studio.json", lambda: files.label_studio(store, id)),
            "doccano": (f"{stem}-doccano.jsonl", lambda: files.doccano(store, id)),
            "Whole coding": (f"{stem}-whole.jsonl", lambda: files.export_lines(store, id)),
        },
    )
    if not judged:
        return

    def replication() -> bytes:
        with store.reading() as r:
            return replication_zip(open_study(r, [coding]))

    def methods(what: str) -> str:
        with store.reading() as r:
            ids = counting(r, codings)
        return methods_section(store, ids or [id], what)

    about = "the units and a script that computes the shares of all codes again, with Python and NumPy"
    link = ("estimates", "By group", {"labellings": [name]})
    _item("Estimates", about, {"Replication": (f"{stem}-replication.zip", replication)}, link)
    _item(
        "Methods section",
        "who coded what and how, agreement and references, from what is stored",
        {
            label: (f"methods.{suffix}", partial(methods, label.lower()))
            for label, suffix in (("Markdown", "md"), ("LaTeX", "tex"), ("BibTeX", "bib"))
        },
    )


def _item(
    title: str, about: str, made: Mapping[str, tuple[str, Make]], link: tuple[str, str, View | None] | None = None
) -> None:
    """Draw a line of the list: what it is, its formats, and the page where more of it is made."""
    with st.container(key=f"item-{title.lower().replace(' ', '-')}", gap="xsmall"):
        left, right = st.columns([1, 1], vertical_alignment="center")
        left.markdown(f"**{plain(title)}**  \n:small[:gray[{plain(about)}]]")
        with right.container(horizontal=True, horizontal_alignment="right", vertical_alignment="center"):
            for label, (file, make) in made.items():
                download(label, make, file, key=f"file-{title}-{label}", type="tertiary")
            if link is not None:
                page_link(link[0], link[1], view=link[2])


current = project()
if current is not None:
    show(current)
