"""Form for a new list of sentences: paste or upload, choose model and number of themes, queue the jobs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import streamlit as st

from themescope.core.readers.formats import COMPRESSIONS
from themescope.core.readers.tables import KINDS, MOST_BYTES, MOST_ROWS, Sheet, TableForm, read_sheet
from themescope.core.records.stored import JobStatus
from themescope.core.tasks.themes import FEWEST, MOST
from themescope.core.text.languages import Shares, language_name, language_shares, sampled, shares_text
from themescope.core.text.splitting import LANGUAGES
from themescope.jobs.common.models import corpus_shares, splitting_language
from themescope.jobs.services import pipeline
from themescope.webapp.features import themes
from themescope.webapp.shared import input_files, queries
from themescope.webapp.shared.choose import grouped, model_label, model_notes, nothing
from themescope.webapp.shared.forms import table_form
from themescope.webapp.shared.job_status import follow
from themescope.webapp.shared.results import compare_queries
from themescope.webapp.shared.results.compare_queries import Analysis
from themescope.webapp.shared.text import count

PASTED = "pasted.txt"
SUGGESTED, GIVEN = "Suggested", "Fixed"
EXAMPLE = Path(__file__).parent / "assets" / "example-sentences.txt"
_PASTED_NAME = "My sentences"
_MOST_PASTED = 10_000_000
"""Maximum size of pasted text in bytes; the browser sends it with every change of the form."""
_DETECTED = 300
"""Sentences whose language is detected before the import, which takes some milliseconds."""


@dataclass(slots=True)
class _Pasted:
    """Pasted text with the interface of an uploaded file."""

    text: str
    name: str = PASTED

    def getbuffer(self) -> memoryview:
        """Return the content."""
        return memoryview(self.text.encode("utf-8"))


@dataclass(frozen=True, slots=True)
class _Source:
    """Source of the sentences: an existing corpus, or a file that becomes one."""

    corpus: str
    language: str = "en"
    shares: Shares = field(default_factory=lambda: {"en": 1.0})
    articles: int = 1
    path: Path | None = None
    column: str = ""
    group: str = ""
    types: Mapping[str, str] = field(default_factory=dict)
    """Types of columns that a person chose."""
    form: Mapping[str, Any] = field(default_factory=dict)
    """How the file is written."""
    empty: bool = False
    """No sentences have been pasted yet."""


def form() -> None:
    """Draw the form."""
    if not queries.selectable_models():
        nothing(
            "No model yet.", "Themes need a model. “Mean of word vectors” trains in seconds.", "train", "Train a model"
        )
        return
    source = _source()
    if source is None:
        return
    left, middle, right = st.columns([2, 1, 1], vertical_alignment="bottom")
    best = queries.best_first(source.shares, across=source.articles > 1)
    known = {model.name: model for model in grouped(best, lambda model: model.method)}
    model = left.selectbox(
        "Model",
        list(known),
        format_func=lambda name: model_label(known[name]),
        help="Model that measures similarity.",
    )
    way = middle.segmented_control("Number of themes", [SUGGESTED, GIVEN], default=SUGGESTED, required=True)
    k = 0 if way == SUGGESTED else int(right.number_input("How many", 2, 500, 8, label_visibility="collapsed"))
    model_notes(known[model], source.shares, articles=source.articles > 1)
    shared = st.toggle(
        "Also use word overlap",
        value=True,
        help="Sentences that share rare words count as similar too. Off: similarity by the model alone.",
    )
    # Enabled before any text has arrived: a text area sends its text only when it is left, as by a click on the button.
    if st.button(
        "Find themes", key="themes_find", type="primary", icon=":material/category:", disabled=not source.corpus
    ):
        if source.empty:
            st.warning(f"Paste at least {FEWEST} sentences first.", icon=":material/warning:")
            return
        settings = {"k": k} | ({} if shared else {"shared": 0})
        request(source.corpus, model, settings, source)


def request(corpus: str, model: str, settings: Mapping[str, float], source: _Source | None = None) -> None:
    """Queue jobs that import the list, embed it, find its themes and draw its map, one after the other."""
    choices = pipeline.Choices(model, dict(settings))
    language = source.language if source is not None else "en"
    if source is not None and source.path is not None:
        args: dict[str, Any] = {
            "file": str(source.path),
            "corpus": corpus,
            "column": source.column,
            "group": source.group,
            "form": dict(source.form),
        }
        args |= {"language": language, "types": dict(source.types)}
        jobs = follow(lambda: pipeline.queue_list(queries.store(), args, choices))
    else:
        jobs = follow(lambda: pipeline.queue_pipeline(queries.store(), corpus, language, choices))
    if jobs:
        st.session_state[themes.REQUESTED] = next(job.id for job in jobs if job.kind == pipeline.THEMES)
        st.rerun()


def finished() -> Analysis | None:
    """Return the result that was requested last in this session when it is ready; it may have been stored before."""
    job = queries.job(st.session_state.get(themes.REQUESTED, 0))
    if job is None or job.status is not JobStatus.DONE:
        return None
    return next((a for a in compare_queries.analyses() if a.run.id == job.result["run_id"]), None)


def _source() -> _Source | None:
    ways = [themes.PASTE, themes.UPLOAD, *([themes.EXISTING] if queries.corpora() else [])]
    way = st.segmented_control(
        "Sentences", ways, default=themes.PASTE, required=True, key=themes.SOURCE, bind="query-params"
    )
    if way == themes.EXISTING:
        fitting = [c for c in queries.corpora() if FEWEST <= c.sentences <= MOST]
        if not fitting:
            nothing("No project has the right size.", f"Themes need {FEWEST} to {MOST:,} sentences.")
            return None
        chosen = st.selectbox(
            "Project",
            fitting,
            format_func=lambda c: f"{c.name} ({count(c.sentences, 'sentence')})",
            key="themes_existing_corpus",
        )
        return _Source(chosen.name, chosen.language, corpus_shares(chosen), chosen.articles)
    if way == themes.PASTE:
        return _pasted()
    file = st.file_uploader(
        "Text file with one sentence per line, or table with a column of sentences",
        type=[*KINDS, *COMPRESSIONS],
        max_upload_size=MOST_BYTES // 1_000_000,
        key="themes_file",
        help=f"Text, CSV, TSV, JSON lines, Excel (.xlsx) or Parquet; at most {MOST_ROWS:,} rows. Text also compressed "
        f"({', '.join(COMPRESSIONS)}).",
    )
    return None if file is None else _of_file(input_files.keep_one("themes_kept_file", file))


def _pasted() -> _Source | None:
    """Draw the text area; the same fields are below it with and without text, so that nothing moves under a click."""
    if st.button("Load example", icon=":material/lightbulb:", type="tertiary"):
        st.session_state["themes_pasted"] = EXAMPLE.read_text(encoding="utf-8")
    text = st.text_area(
        "One sentence per line",
        key="themes_pasted",
        height=220,
        placeholder="Paste sentences: claims, survey answers, comments, titles …",
    )
    size = len((text or "").encode("utf-8"))
    if size > _MOST_PASTED:
        st.error(
            f"The pasted text has {size / 1e6:,.1f} MB; at most {_MOST_PASTED // 1_000_000} MB can be pasted. Save "
            "it as a file and upload that.",
            icon=":material/error:",
        )
        return None
    if not text or not text.strip():
        st.caption(f"{count(0, 'sentence')}")
        name, language = _about(_PASTED_NAME, PASTED, {})
        return _Source(name, language, empty=True)
    return _of_file(input_files.keep_once("themes_kept_file", f"pasted {hash(text)}", [_Pasted(text)])[0])


def _of_file(path: Path) -> _Source | None:
    pasted = path.name == PASTED
    # A pasted text has a sentence in each line, whatever signs stand in it.
    key, lines = f"themes_file_{path.parent.name}", TableForm(lines=True)
    read = (lines, read_sheet(path, form=lines)) if pasted else table_form(path, key, MOST_ROWS)
    if read is None:
        return None
    way, sheet = read
    if not sheet.rows:
        st.warning("This file has no rows.", icon=":material/warning:")
        return None
    column, group, types = _columns(sheet, key)
    texts = [text for text in sheet.column(column) if text]
    without = len(sheet.rows) - len(texts) + sheet.account.skipped.total()
    st.caption(
        f"{count(len(texts), 'sentence')}"
        + (f", the first {MOST_ROWS:,} rows of the file" if sheet.cut else "")
        + (f"; {count(without, 'row')} without one" if without else "")
    )
    if len(texts) < FEWEST:
        st.warning(f"Themes need at least {FEWEST} sentences.", icon=":material/warning:")
        return None
    stem, mark = (_PASTED_NAME, PASTED) if pasted else (path.stem.replace("_", " ").strip(), path.parent.name)
    detected = _shares(sheet, column)
    name, language = _about(stem, mark, detected)
    shares = detected if detected and language == splitting_language(detected) else {language: 1.0}
    return _Source(name, language, shares, path=path, column=column, group=group, types=types, form=way.to_dict())


def _about(stem: str, mark: str, detected: Shares) -> tuple[str, str]:
    """Draw the fields for name and language; ``mark`` distinguishes the fields of different files."""
    left, right = st.columns([3, 1])
    free = queries.usable_corpus_name(stem)
    name = left.text_input("Project name", value=free, key=f"themes_list_name_{mark}_{free}")
    main = splitting_language(detected)
    known = sorted(LANGUAGES, key=language_name)
    language = right.selectbox(
        "Language",
        known,
        index=known.index(main),
        format_func=language_name,
        help="Detected from the sentences. Models are for some languages only.",
    )
    if len(detected) > 1:
        st.caption(f"Languages: {shares_text(detected)}.")
    return (name or "").strip(), language


@st.cache_data(show_spinner=False, max_entries=8)
def _shares(sheet: Sheet, column: str) -> dict[str, float]:
    return language_shares(sampled(sheet.column(column), _DETECTED))


def _columns(sheet: Sheet, key: str) -> tuple[str, str, dict[str, str]]:
    """Choose the column of the sentences, the column of the groups, and the types of the others."""
    if len(sheet.columns) == 1:
        return sheet.columns[0], "", {}
    left, right = st.columns(2)
    with left:
        column = input_files.text_column("Sentence column", sheet, f"{key}_text")
    with right:
        help = "Source, speaker or topic. Shown beside each sentence; not used for clustering."
        group = input_files.optional_column("Group column (optional)", sheet, [column], f"{key}_group", help)
    input_files.draw_rows(sheet)
    return column, group, input_files.column_types(sheet, [column, group], key)
