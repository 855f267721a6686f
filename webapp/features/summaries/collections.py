"""ROUGE-1 of methods on collections of documents with reference summaries: results, and the form that measures them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from themescope.core.records.stored import ModelRecord, RunRecord
from themescope.core.tasks.summaries import REGISTRY as SUMMARIZERS
from themescope.webapp.features.summaries import state
from themescope.webapp.shared import input_files, queries
from themescope.webapp.shared.choose import by_name, closed, nothing, preselected
from themescope.webapp.shared.job_status import live, submit
from themescope.webapp.shared.text import count, interval

KIND = "evaluate-summaries"
_UPLOAD_MB = 200
_FILE_HELP = (
    "JSON lines: each with “text” or “sections”, and “summary” or “summaries”. ROUGE-1 compares the summary of each "
    "document with its reference summaries."
)


@dataclass(frozen=True, slots=True)
class MeasuredSummaries:
    """Evaluation of a method on documents with reference summaries."""

    run: RunRecord
    model: str
    """Model name; "" for methods without vectors."""


def measured() -> list[MeasuredSummaries]:
    """Return the evaluations of summaries, newest first."""
    with queries.store().reading() as r:
        models = {model.id: model.name for model in r.models.list()}
        return [
            MeasuredSummaries(run, models.get(run.model_id or 0, "")) for run in reversed(r.runs.list(kind="summaries"))
        ]


def show() -> None:
    """Draw the form and the results of a collection."""
    live(KIND)
    found = measured()
    with st.expander("Evaluate a collection", icon=":material/add:", expanded=not found):
        if not closed("Evaluating a collection"):
            _form()
    if found:
        by_file: dict[tuple[str, int], list[MeasuredSummaries]] = {}
        for one in found:
            by_file.setdefault((one.run.config["file"], one.run.config["words"]), []).append(one)
        groups = list(by_file)
        rows = by_file[by_name("Documents", groups, state.DOCUMENTS, lambda group: f"{group[0]}, {group[1]} words")]
        scores = queries.mean_scores([measured.run.id for measured in rows])
        names = ("ROUGE-1 recall", "ROUGE-1 precision", "ROUGE-1 f1")
        frame = {
            "Method": [SUMMARIZERS.get(m.run.config["summarizer"]).title for m in rows],
            "Model": [m.model for m in rows],
            **{name: [_interval(scores[m.run.id].get(name)) for m in rows] for name in names},
            "Stop words": ["left out" if m.run.config["rouge"]["remove_stop_words"] else "counted" for m in rows],
        }
        order = sorted(range(len(rows)), key=lambda i: -scores[rows[i].run.id][names[0]].value)
        st.dataframe(pd.DataFrame(frame).iloc[order], hide_index=True, height="content", placeholder="–")
        st.caption(f"Means over {count(scores[rows[0].run.id][names[0]].n, 'document')} with 95 % intervals.")
    else:
        nothing("No collection has been evaluated yet.", "Upload documents with reference summaries above.")


def _interval(found: Any) -> str:
    return "–" if found is None else interval(found.value, found.low, found.high)


# ---------------------------------------------------------------- form


def _form() -> None:
    """Draw the choice of a file and of methods; queues an evaluation for each method."""
    path = _file()
    without = {card.title: card.id for card in SUMMARIZERS if "vectors" not in card.tags}
    models = {model.name: model for model in queries.best_first({"en": 1.0}, across=False)}
    left, middle, right = st.columns([2, 2, 1], vertical_alignment="bottom")
    methods = left.multiselect("Methods", list(without), default=list(without), key=state.COLLECTION_METHODS)
    chosen = middle.multiselect(
        "Models", list(models), default=preselected(list(models.values()))[:1], key=state.COLLECTION_MODELS,
        help="LexRank on the vectors of each model.",
    )  # fmt: skip
    words = right.number_input("Summary length (words)", 10, 1_000, 100, 10, key=state.COLLECTION_LENGTH)
    ready = path is not None and bool(methods or chosen)
    if st.button("Evaluate", type="primary", icon=":material/play_arrow:", disabled=not ready) and path is not None:
        _queue(path, [without[name] for name in methods], [models[name] for name in chosen], int(words))


def _file() -> Path | None:
    file = st.file_uploader(
        "Documents with reference summaries", type=["jsonl", "json", "gz", "bz2", "xz"], max_upload_size=_UPLOAD_MB,
        key=state.COLLECTION, help=_FILE_HELP,
    )  # fmt: skip
    if file is None:
        return None
    return input_files.keep_once(state.COLLECTION_KEPT, file.file_id, [file], queries.store().settings.home)[0]


def _queue(path: Path, methods: Sequence[str], models: Sequence[ModelRecord], words: int) -> None:
    """Queue an evaluation for each method without vectors and for each model; redraws the page if all are queued."""
    about = {"documents": str(path), "words": words}
    jobs = []
    for method in methods:
        title = f"Summaries of “{path.name}” by {SUMMARIZERS.get(method).title}"
        jobs.append(submit(KIND, {"summarizer": method, **about}, title))
    for model in models:
        title = f"Summaries of “{path.name}” by “{model.name}”"
        jobs.append(submit(KIND, {"summarizer": "lexrank", "model": model.name, **about}, title))
    if None not in jobs:
        st.rerun()
