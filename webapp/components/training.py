"""Training: a form out of a method's card, and the models that came of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import pandas as pd
import streamlit as st

from core.embedders import REGISTRY
from core.evaluation import REGISTRY as METRICS
from core.records import ModelRecord, TripletSetRecord
from core.registry import Card
from core.types import Split
from webapp import queries
from webapp.components import deleting
from webapp.components.choose import by_name, nothing
from webapp.components.comparing import HEADLINE, clusterer_title, with_interval
from webapp.components.jobs import submit
from webapp.components.text import ago, count, duration, plain, words
from webapp.components.triplets import split_count
from webapp.forms import checked, config_fields


def form() -> None:
    """Choose a method, what it learns from, and its settings; then queue it."""
    cards = list(REGISTRY)
    card = by_name("Method", cards, "method", lambda c: c.title)
    st.caption(f"{plain(card.summary)}  \nSource: {plain(card.source)}")
    data = _data(card)
    if data is None:
        return
    with st.form(f"train-{card.id}"):
        left, right = st.columns([3, 1])
        name = left.text_input("Name of the model", value=_name(card, data))
        seed = right.number_input("Seed", min_value=0, value=0, step=1)
        values = config_fields(card.config_class(), f"method-{card.id}")
        if not st.form_submit_button("Train", type="primary", icon=":material/model_training:"):
            return
    config = checked(card.config_class(), values)
    if config is None:
        return
    settings = json.dumps(config.to_dict())
    args = {"method": card.id, "name": name.strip(), "settings_json": settings, "seed": int(seed), **data}
    if submit("train", args, f"Train {name.strip()}"):
        st.rerun()


def _name(card: Card, data: Mapping[str, str]) -> str:
    source = next(iter(data.values()), "")
    return f"{card.id} on {source}" if source else card.id


def _data(card: Card) -> dict[str, str] | None:
    """What the method learns from, as its tags say; None when there is nothing for it."""
    if "needs-triplets" in card.tags:
        sets = [s for s in queries.triplet_sets() if split_count(s, Split.TRAIN)]
        if not sets:
            nothing(
                "This method learns from triplets, and there are none.", "Build a set first.", "triplets", "Triplets"
            )
            return None
        chosen = by_name("Triplets to learn from", sets, "set", lambda s: s.name)
        estimate(card, chosen)
        return {"triplets": chosen.name}
    if "needs-sentences" in card.tags:
        corpora = queries.corpora()
        if not corpora:
            nothing("This method learns from a corpus, and there is none.", "Import one first.", "corpora", "Corpora")
            return None
        return {"corpus": by_name("Corpus to learn from", corpora, "corpus", lambda c: c.name).name}
    return {}


def estimate(card: Card, chosen: TripletSetRecord) -> None:
    """How much there is to learn from, and how long a pass takes where this machine has done it before."""
    train = split_count(chosen, Split.TRAIN)
    rates = [
        float(rate)
        for job in queries.jobs(limit=200)
        if job.kind == "train" and job.args.get("method") == card.id
        for rate in [job.result.get("metrics", {}).get("triplets/s")]
        if rate
    ]
    text = f"{count(train, 'training triplet')}, {split_count(chosen, Split.VALIDATION):,} for validation."
    if rates:
        text += f" One pass takes about {duration(train / rates[0])}, as fast as the last training on this machine."
    st.caption(text)


def models(found: Sequence[ModelRecord]) -> None:
    """Every model in a table, one of them in full."""
    st.dataframe(_frame(found), hide_index=True)
    model(by_name("Details of", found, "model", lambda m: m.name))


def _frame(found: Sequence[ModelRecord]) -> pd.DataFrame:
    sets = {s.id: s.name for s in queries.triplet_sets()}
    corpora = {c.id: c.name for c in queries.corpora()}
    return pd.DataFrame(
        {
            "Model": [m.name for m in found],
            "Method": [method_title(m.method) for m in found],
            "Learned from": [_learned_from(m, sets, corpora) for m in found],
            "Seed": [m.seed for m in found],
            "Made": [ago(m.created) for m in found],
        }
    )


def _learned_from(model: ModelRecord, sets: Mapping[int, str], corpora: Mapping[int, str]) -> str:
    return sets.get(model.triplet_set_id or -1) or corpora.get(model.corpus_id or -1, "–")


def method_title(method: str) -> str:
    """The title on a method's card; its id where this version has no such card."""
    return REGISTRY.get(method).title if method in REGISTRY else method


def model(chosen: ModelRecord) -> None:
    """A model's card: what it is, what it learned from, how good it is."""
    with st.container(border=True):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.subheader(plain(chosen.name), anchor=False)
            st.space("stretch")
            deleting.button(
                "model", chosen.name, "its vectors, clusterings, scores and maps", lambda r: r.models.delete(chosen.id)
            )
        if chosen.method in REGISTRY:
            card = REGISTRY.get(chosen.method)
            st.caption(f"{plain(card.summary)}  \nSource: {plain(card.source)}")
        _training_numbers(chosen)
        _evaluations(chosen)
        left, right = st.columns(2)
        with left.expander("Settings", icon=":material/tune:"):
            st.json({"seed": chosen.seed, **chosen.config})
        with right.expander("Everything measured in training", icon=":material/monitoring:"):
            st.json(dict(chosen.metrics))


def _training_numbers(chosen: ModelRecord) -> None:
    numbers = {k: v for k, v in chosen.metrics.items() if isinstance(v, int | float) and not isinstance(v, bool)}
    if len(numbers) > 1:  # seconds alone tell nothing about a method that learns nothing
        with st.container(horizontal=True):
            for name in sorted(numbers, key=lambda name: "accuracy" not in name)[:5]:
                st.metric(plain(words(name)), _short(numbers[name]), width="content", border=True)


def _evaluations(chosen: ModelRecord) -> None:
    """Every score of a model beside what it was measured on."""
    found = evaluations(chosen)
    if not found:
        st.caption("Not evaluated yet. The page Compare does that.")
        return
    st.dataframe(
        pd.DataFrame(found, columns=["Measured on", "Clusterer", "Score", "Value with 95 % interval", "Articles"]),
        hide_index=True,
    )


def evaluations(chosen: ModelRecord) -> list[tuple[str, str, str, str, int]]:
    """(data, clusterer, metric, value, number of articles): triplet accuracy, and AMI of each clustering."""
    sets = {s.id: s.name for s in queries.triplet_sets()}
    benchmarks = {b.id: b.name for b in queries.benchmarks()}
    rows = []
    runs = queries.runs_of(chosen.id)
    scores = queries.mean_scores(run.id for run in runs)
    for run in runs:
        data = sets.get(run.triplet_set_id or -1) or benchmarks.get(run.benchmark_id or -1, "")
        for metric, score in scores.get(run.id, {}).items():
            if not run.clusterer or metric == HEADLINE:
                title = METRICS.get(metric).title if metric in METRICS else words(metric)
                clusterer = clusterer_title(run.clusterer) if run.clusterer else "–"
                rows.append((data, clusterer, title, with_interval(score), score.n))
    return rows


def _short(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def add_from_folder() -> None:
    """Take in a model that was trained elsewhere and lies in a folder."""
    with st.expander("Add a model from a folder", icon=":material/folder_open:"), st.form("add-model"):
        folder = st.text_input("Folder of a saved model on this machine")
        name = st.text_input("Name of the model")
        if st.form_submit_button("Add") and submit(
            "add-model", {"folder": folder.strip(), "name": name.strip()}, f"Add {name.strip()}"
        ):
            st.rerun()
