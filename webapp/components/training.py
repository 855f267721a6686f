"""Training: a form out of a method's card, and the models that came of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from core.embedders import REGISTRY
from core.evaluation import REGISTRY as METRICS
from core.records import ModelRecord, RunRecord, TripletSetRecord
from core.registry import Card
from core.types import Split
from webapp import lesson_effects, queries, uploads
from webapp.components import deleting, facts
from webapp.components.choose import COUNTED, by_name, clickable, nothing
from webapp.components.comparing import HEADLINE, with_interval
from webapp.components.jobs import curves, submit
from webapp.components.model_choice import by_method, method_title, with_tag
from webapp.components.text import ago, count, duration, plain, score, words
from webapp.components.triplet_sets import split_count
from webapp.forms import checked, config_fields
from webapp.partition_queries import clusterer_title


def form() -> None:
    """Choose a method, what it learns from, and its settings; then queue it."""
    cards = list(REGISTRY)
    left, right = st.columns(2, gap="medium")
    with left:
        card = by_name("Method", cards, "method", lambda c: c.title)
        st.caption(f"{plain(card.summary)}  \nSource: {plain(card.source)}")
    with right:
        data = _data(card)
    if data is None:
        return
    with st.form(f"train-{card.id}"):
        left, right = st.columns([3, 1])
        given = _name(card, data)
        free = queries.usable_model_name(given)
        name = left.text_input("Name of the model", value=free, key=f"model-name-{given}", help=_NUMBERED)
        seed = right.number_input("Seed", min_value=0, value=0, step=1)
        values = config_fields(card.config_class(), f"method-{card.id}")
        if not st.form_submit_button("Train", type="primary", icon=":material/model_training:"):
            return
    config = checked(card.config_class(), values)
    if config is None:
        return
    settings = json.dumps(config.to_dict())
    name = queries.usable_model_name(name)
    args = {"method": card.id, "name": name, "settings_json": settings, "seed": int(seed), **data}
    if submit("train", args, f"Train {name}"):
        st.rerun()


_NUMBERED = "If a model of that name exists already, the new one gets a number behind it."


def _name(card: Card, data: Mapping[str, Any]) -> str:
    source = next(iter(data.values()), "")
    source = source if isinstance(source, str) else ""
    return f"{card.id} on {source}" if source else card.id


def _data(card: Card) -> dict[str, Any] | None:
    """What the method learns from, as its tags say; None when there is nothing for it."""
    if "needs-models" in card.tags:
        return _bases(card) if "mixes-models" in card.tags else _networks()
    if "needs-triplets" in card.tags:
        sets = [s for s in queries.triplet_sets() if fits(card, s)]
        if not sets:
            kind, third = wanted(card)
            more = f" whose third sentence is “{third.replace('_', ' ')}”" if third else ""
            nothing(f"This method learns from triplets of {kind}{more}.", *_BUILD)
            return None
        chosen = by_name("Triplets to learn from", sets, "set", lambda s: s.name)
        estimate(card, chosen)
        validation = _validation(chosen, sets)
        return None if validation is None else {"triplets": chosen.name, **validation, **_beginning()}
    if "needs-sentences" in card.tags:
        return _running_text(card)
    st.caption("This method needs no text to learn from: word vectors are all it uses.")
    return {}


def _validation(chosen: TripletSetRecord, sets: Sequence[TripletSetRecord]) -> dict[str, Any] | None:
    """Another set to stop by where the chosen one has nothing for that, as those that labels taught often have."""
    if split_count(chosen, Split.VALIDATION):
        return {}
    able = [s for s in sets if split_count(s, Split.VALIDATION)]
    if not able:
        nothing("This method stops by validation triplets, and no set has any.", *_BUILD)
        return None
    able.sort(key=lambda s: s.corpus_id != chosen.corpus_id)
    return {"validation": by_name("Validation triplets of", able, "validation-set", lambda s: s.name).name}


def _beginning() -> dict[str, Any]:
    """A trained network to go on from, if one is wanted."""
    able = [m.name for m in lesson_effects.beginnings()]
    chosen = st.selectbox(
        "Go on from",
        [None, *able],
        format_func=lambda name: name or "Nothing: begin anew",
        help="A network that is trained further keeps its words, its shape and its distance. A smaller learning rate "
        "changes it gently.",
    )
    return {"models": [chosen]} if chosen else {}


_BUILD = ("There is no such set yet; build one first.", "triplets", "Triplets")
_THIRD = "third:"


def wanted(card: Card) -> tuple[str, str]:
    """Kind of triplets that a method learns from, and where their third sentence comes from ("" for anywhere)."""
    third = next((tag.removeprefix(_THIRD) for tag in card.tags if tag.startswith(_THIRD)), "")
    return "titles" if "titles" in card.tags else "sentences", third


def fits(card: Card, record: TripletSetRecord) -> bool:
    """Whether a method can learn from a set: it has training triplets of the kind its card asks for."""
    kind, third = wanted(card)
    right = record.kind == kind and (not third or record.config.get("third") == third)
    return right and split_count(record, Split.TRAIN) > 0


def _running_text(card: Card) -> dict[str, Any] | None:
    """A corpus, and for a method that builds on another one the model of it, if one is wanted."""
    corpora = queries.corpora()
    if not corpora:
        nothing("This method learns from a corpus, and there is none.", "Import one first.", "corpora", "Corpora")
        return None
    data: dict[str, Any] = {"corpus": by_name("Corpus to learn from", corpora, "corpus", lambda c: c.name).name}
    if "takes-model" in card.tags:
        own = with_tag(queries.models(), "content")
        names = [None, *(m.name for m in own)]
        chosen = st.selectbox("Content vectors", names, format_func=lambda name: name or "Learn them on the way")
        data |= {"models": [chosen]} if chosen else {}
    if "transductive" in card.tags:
        st.caption("It learns a vector for every sentence of the corpus, those of articles kept for tests included.")
    return data


def _bases(card: Card) -> dict[str, Any] | None:
    """The models that a method builds on, and where it needs text a corpus."""
    found = [model.name for model in by_method(queries.models())]
    if not found:
        nothing("This method builds on trained models, and there is none.", "Train one first.")
        return None
    chosen = st.multiselect("Models that it builds on", found, found[:1], help="Several stand side by side.")
    text = _running_text(card) if "needs-sentences" in card.tags else {}
    return None if text is None or not chosen else {"models": chosen, **text}


def _networks() -> dict[str, Any] | None:
    """The two trained networks that are joined: one of sentences, one of titles."""
    trained = with_tag(queries.models(), "needs-triplets")
    titles = [m for m in trained if "titles" in REGISTRY.get(m.method).tags]
    others = [m for m in trained if m not in titles]
    if not titles or not others:
        nothing(
            "This method joins two trained networks.",
            f"Train {'one on section titles' if others else 'one on sentences'} first.",
        )
        return None
    first = by_name("Network on sentences", others, "network", lambda m: m.name)
    second = by_name("Network on titles", titles, "titles-network", lambda m: m.name)
    return {"models": [first.name, second.name]}


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
    """Every model in a table, newest first, one of them in full."""
    newest = sorted(found, key=lambda m: m.created, reverse=True)
    model(clickable(newest, "model", lambda m: m.name, _frame(newest), _COLUMNS))


_COLUMNS = {"Triplets": COUNTED, "Validation accuracy": st.column_config.NumberColumn(format="%.3f")}


def _frame(found: Sequence[ModelRecord]) -> pd.DataFrame:
    sets = {s.id: s.name for s in queries.triplet_sets()}
    corpora = {c.id: c.name for c in queries.corpora()}
    return pd.DataFrame(
        {
            "Model": [m.name for m in found],
            "Method": [method_title(m.method) for m in found],
            "Learned from": [_learned_from(m, sets, corpora) for m in found],
            "Triplets": [m.metrics.get("training triplets") for m in found],
            "Validation accuracy": [m.metrics.get("validation accuracy") for m in found],
            "Made": [ago(m.created) for m in found],
        }
    )


def _learned_from(model: ModelRecord, sets: Mapping[int, str], corpora: Mapping[int, str]) -> str:
    return sets.get(model.triplet_set_id or -1) or corpora.get(model.corpus_id or -1, "–")


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
        trained = queries.training_of(chosen.id)
        if trained is not None:
            curves(queries.metrics(trained.id), key=f"model-{chosen.id}")
        left, right = st.columns(2, gap="medium")
        with left.expander("Settings", icon=":material/tune:"):
            facts.table({"seed": chosen.seed, **chosen.config})
        with right.expander("Everything measured in training", icon=":material/monitoring:"):
            facts.table(chosen.metrics, ("What", "Value"))


_NUMBERS = ("validation accuracy", "training triplets", "training seconds", "triplets/s")


def _training_numbers(chosen: ModelRecord) -> None:
    """What a person asks first: how good, from how much, how long. Nothing where nothing was learned."""
    if "validation accuracy" not in chosen.metrics:
        return
    with st.container(horizontal=True):
        for name in _NUMBERS:
            if name in chosen.metrics:
                value = chosen.metrics[name]
                shown = score(value) if "accuracy" in name else facts.shown(name, value)
                st.metric(plain(words(name).replace("seconds", "time")), shown, width="content", border=True)


def _evaluations(chosen: ModelRecord) -> None:
    """Every score of a model beside what it was measured on."""
    found = evaluations(chosen)
    if not found:
        st.caption("Not evaluated on a benchmark or a test set yet.")
        st.page_link("views/compare.py", label="Evaluate it on the page Compare", icon=":material/arrow_forward:")
        return
    st.dataframe(
        pd.DataFrame(found, columns=["Measured on", "How", "Score", "Value with 95 % interval", "Over"]),
        hide_index=True,
    )


_UNITS = {"relatedness": "pair", "topics": "document", "summaries": "document"}
_OVER_SENTENCES = {"V", "AMI", "AMI (arithmetic)"}
"""What topics are clustered by has no interval over documents."""
_WHOLE = {"mse": "Mean squared error"}


def evaluations(chosen: ModelRecord) -> list[tuple[str, str, str, str, str]]:
    """(data, how, metric, value, over how much): triplets, AMI of each clustering, SICK, topics, summaries."""
    sets = {s.id: s.name for s in queries.triplet_sets()}
    benchmarks = {b.id: b.name for b in queries.benchmarks()}
    corpora = {c.id: c.name for c in queries.corpora()}
    rows = []
    runs = queries.runs_of(chosen.id)
    scores = queries.mean_scores(run.id for run in runs)
    for run in runs:
        data = sets.get(run.triplet_set_id or -1) or benchmarks.get(run.benchmark_id or -1)
        data = data or str(run.config.get("file", "")) or corpora.get(run.corpus_id or -1, "–")
        for metric, record in scores.get(run.id, {}).items():
            if not run.clusterer or metric == HEADLINE:
                unit = "sentence" if metric in _OVER_SENTENCES else _UNITS.get(run.kind, "article")
                rows.append((data, _how(run), _metric(metric), with_interval(record), count(record.n, unit)))
    return rows


def _metric(id: str) -> str:
    return METRICS.get(id).title if id in METRICS else _WHOLE.get(id, id[:1].upper() + id[1:])


def _how(run: RunRecord) -> str:
    """What tells apart two measurements on the same data."""
    if run.clusterer:
        return clusterer_title(run.clusterer)
    if "regressor" in run.config:
        return "Regression" if run.config["regressor"] else "Cosine"
    part = run.config.get("part") or run.config.get("split")
    return words(f"{part} part") if part else "–"


def add_from_folder() -> None:
    """Take in a model that was trained elsewhere and lies in a folder."""
    with st.expander("Add a model from a folder", icon=":material/folder_open:"), st.form("add-model"):
        folder = st.text_input("Folder of a saved model on this machine")
        name = st.text_input("Name of the model", help=_NUMBERED)
        if st.form_submit_button("Add"):
            name = queries.usable_model_name(name)
            path = str(uploads.typed(folder)) if folder.strip() else ""
            if submit("add-model", {"folder": path, "name": name}, f"Add {name}"):
                st.rerun()
