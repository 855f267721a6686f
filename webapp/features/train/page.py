"""Train page: the training form, the models, and the card of one with its scores."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from themescope.core.metrics import REGISTRY as METRICS
from themescope.core.models import REGISTRY
from themescope.core.records.stored import ModelRecord, RunRecord
from themescope.db.access import Right
from themescope.jobs.common.models import NOT_STORED, WITHIN_ARTICLE, base_note, pretrained_folder, within_article
from themescope.webapp.features import train
from themescope.webapp.features.train import form
from themescope.webapp.shared import choose, forms, queries
from themescope.webapp.shared.choose import clickable, closed, method_title
from themescope.webapp.shared.compare_queries import clusterer_title
from themescope.webapp.shared.components import draw_table
from themescope.webapp.shared.job_status import cancelled, curves, live
from themescope.webapp.shared.navigation import page_link
from themescope.webapp.shared.people import may
from themescope.webapp.shared.queries import HEADLINE
from themescope.webapp.shared.text import ago, count, plain, score, with_interval, words


def show(found: Sequence[ModelRecord]) -> None:
    """Draw the table of models, newest first, and the card of the selected one."""
    newest = sorted(found, key=lambda m: m.created, reverse=True)
    sets = {s.id: s.name for s in queries.triplet_sets()}
    corpora = {c.id: c.name for c in queries.corpora()}
    columns = {
        "Model": [m.name for m in newest],
        "Method": [method_title(m.method) for m in newest],
        "Training data": [sets.get(m.triplet_set_id or -1) or corpora.get(m.corpus_id or -1, "–") for m in newest],
        "Validation accuracy": [score(v) if (v := m.metrics.get("validation accuracy")) else "" for m in newest],
        "Created": ["pretrained" if m.id == NOT_STORED else ago(m.created) for m in newest],
    }
    accuracy = {"Validation accuracy": st.column_config.TextColumn(alignment="right")}
    chosen = clickable(newest, train.MODEL, lambda m: m.name, columns, accuracy)
    if st.session_state.get(train.MODEL) == chosen.name:
        model(chosen)
    else:
        st.caption("Click a model for its scores, training and settings.")


def model(chosen: ModelRecord) -> None:
    """Draw the card of a model: method, scores, and its training, settings and licence behind."""
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.subheader(plain(chosen.name), anchor=False, width="stretch")
            page_link("compare", "Evaluate on Compare", view={"run": chosen.name})
            if chosen.id != NOT_STORED and may(Right.MANAGE):
                with st.popover("⋯", help="More", type="tertiary"):
                    _multilingual(chosen)
                    along = "its vectors, clusterings, scores and maps"
                    choose.delete_button("model", chosen.name, along, lambda r: r.models.delete(chosen.id))
        if chosen.method in REGISTRY:
            card = REGISTRY.get(chosen.method)
            st.caption(f"{plain(card.summary)}  \nSource: {plain(card.source)}")
        base = base_note(queries.store(), chosen)
        limit = WITHIN_ARTICLE if within_article(chosen) else ""
        if base or limit:
            st.caption("  \n".join(plain(text) for text in (base, limit) if text))
        found = evaluations(chosen)
        if found:
            draw_table(pd.DataFrame(found, columns=["Data", "Protocol", "Metric", "Value with 95 % interval", "Items"]))
        else:
            st.caption("No evaluations yet.")
        folder = pretrained_folder(chosen)
        if folder is not None and (folder / _CARD).is_file():
            with st.expander("Model card: training, scores, limits, licences", icon=":material/description:"):
                text = (folder / _CARD).read_text(encoding="utf-8")
                # Without its title, and with smaller headings.
                st.markdown(text.partition("\n")[2].replace("\n## ", "\n##### "))
        with st.expander("Training and settings", icon=":material/monitoring:"):
            trained = queries.training_of(chosen.id)
            if trained is not None:
                curves(trained.id, key=f"train_curves_{chosen.id}")
            left, right = st.columns(2, gap="medium")
            with left:
                forms.facts_table({"seed": chosen.seed, **chosen.config})
            with right:
                forms.facts_table(chosen.metrics, ("Metric", "Value"))


def _multilingual(chosen: ModelRecord) -> None:
    key = f"train_multilingual_{chosen.id}"

    def mark() -> None:
        queries.write(lambda w: w.models.set_multilingual(chosen.id, bool(st.session_state[key])))

    st.session_state[key] = chosen.multilingual
    st.toggle(
        "Multilingual",
        key=key,
        on_change=mark,
        help="The model reads many languages: no warning before it is used on text that is not English, and forms "
        "suggest it first for such text.",
    )


_CARD = "README.md"


_UNITS = {"relatedness": "pair", "topics": "document", "summaries": "document"}
_OVER_SENTENCES = {"V", "AMI", "AMI (arithmetic)"}
"""Metrics of topic clustering, which have no interval over documents."""
_WHOLE = {"mse": "Mean squared error"}


def evaluations(chosen: ModelRecord) -> list[tuple[str, str, str, str, str]]:
    """Yield (data, protocol, metric, value, items) of triplets, clusterings, SICK, topics and summaries."""
    sets = {s.id: s.name for s in queries.triplet_sets()}
    benchmarks = {b.id: b.name for b in queries.benchmarks()}
    corpora = {c.id: c.name for c in queries.corpora()}
    rows = []
    runs = queries.read(lambda r: r.runs.list(model_id=chosen.id))[::-1]
    scores = queries.mean_scores(run.id for run in runs)
    for run in runs:
        data = sets.get(run.triplet_set_id or -1) or benchmarks.get(run.benchmark_id or -1)
        data = data or str(run.config.get("file", "")) or corpora.get(run.corpus_id or -1, "–")
        for metric, record in scores.get(run.id, {}).items():
            if not run.clusterer or metric == HEADLINE:
                unit = "sentence" if metric in _OVER_SENTENCES else _UNITS.get(run.kind, "article")
                title = _WHOLE.get(metric, metric[:1].upper() + metric[1:])
                title = METRICS.get(metric).title if metric in METRICS else title
                rows.append((data, _how(run), title, with_interval(record), count(record.n, unit)))
    return rows


def _how(run: RunRecord) -> str:
    """Return the setting that distinguishes measurements on the same data."""
    if run.clusterer:
        return clusterer_title(run.clusterer)
    if "regressor" in run.config:
        return "Regression" if run.config["regressor"] else "Cosine"
    part = run.config.get("part") or run.config.get("split")
    return words(f"{part} part") if part else "–"


live("train")
cancelled("train")
if not closed("Training"):
    form.form()
st.subheader("Models", anchor=False)
models = queries.selectable_models()
if models:
    show(models)
else:
    st.caption("No model yet.")
if may(Right.MANAGE):
    with st.popover("Add saved model", icon=":material/folder_open:"):
        form.add_from_folder()
