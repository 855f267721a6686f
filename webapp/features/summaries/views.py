"""Summaries of an article by several methods, and evaluations of methods on collections with references."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from themescope.core.metrics.rouge import RougeSettings, rouge_1
from themescope.core.records.stored import ArticleRecord, CorpusRecord, ModelRecord, RunRecord
from themescope.core.tasks.lexrank import Scores
from themescope.core.tasks.summaries import REGISTRY as SUMMARIZERS
from themescope.core.tasks.summaries.summarizing import Summary, extract
from themescope.core.types import Matrix, Sentence
from themescope.db.access import Right
from themescope.jobs.common.model_choice import corpus_shares
from themescope.webapp.features.summaries import state
from themescope.webapp.shared import input_files, queries
from themescope.webapp.shared.choose import (
    by_name,
    closed,
    grouped_by_method,
    model_notes,
    nothing,
    one_model,
    preselected,
)
from themescope.webapp.shared.components import draw_component, draw_table
from themescope.webapp.shared.job_status import live, submit
from themescope.webapp.shared.people import may
from themescope.webapp.shared.text import count, plain, score, with_interval


def vectors_of(article: ArticleRecord, model: ModelRecord) -> Matrix:
    """Return the (n, dim) vectors of the sentences of an article."""
    return queries.read(lambda r: r.embeddings.get(model.id, [article.id])[article.id])


_ASSETS = Path(__file__).parent / "assets"
_LISTED = 500
_STRONGEST = 50  # per cent of the accent colour behind the highest-scoring sentence
_BESIDE = 3  # summaries per row


@dataclass(frozen=True, slots=True)
class SummaryMethod:
    """Method that ranks the sentences of an article."""

    name: str
    summarizer: str
    model: ModelRecord | None = None
    """Model whose vectors are compared; None for methods without vectors."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """Summary of an article by one method."""

    method: SummaryMethod
    scores: Scores
    summary: Summary


def article(corpus: CorpusRecord) -> None:
    """Draw the choice of article and methods, the summaries, ROUGE-1 and sentence scores."""
    side, main = st.columns([1, 3], gap="medium")
    with side:
        search = st.text_input("Find an article", key=state.SEARCH, bind="query-params", placeholder="part of a title")
        found = queries.articles(corpus.id, search, limit=_LISTED)
    if not found:
        with main:
            nothing("No article matches.", "Try a shorter search term.")
        return
    with side:
        chosen = by_name("Article", found, state.ARTICLE, lambda a: a.title)
        words = st.number_input("Summary length (words)", 10, 1_000, 100, 10, key="summaries_length")
        with queries.store().reading() as r:
            have = r.embeddings.models(chosen.id)
            embedded = [model for model in r.models.list() if model.id in have]
        text = st.text_area(
            "Reference summaries", key="summaries_references",
            placeholder="paste one or more, separated by blank lines",
            help="ROUGE-1 recall of the first 100 words, stemmed, without stop words.",
        )  # fmt: skip
        references = [part for block in (text or "").split("\n\n") if (part := " ".join(block.split()))]
        _missing(corpus, embedded)
    with main:
        st.header(plain(chosen.title), anchor=False)
        known = [SummaryMethod(card.title, card.id) for card in SUMMARIZERS if "vectors" not in card.tags]
        by_vectors = [card for card in SUMMARIZERS if "vectors" in card.tags]
        for model in grouped_by_method(embedded):
            known += [
                SummaryMethod(f"{card.title.split(' ')[0]} on {model.name}", card.id, model) for card in by_vectors
            ]
        names = [method.name for method in known]
        baselines = [m.name for m in known if "baseline" in SUMMARIZERS.get(m.summarizer).tags]
        first = [name for name in names if name not in baselines][: _BESIDE - 1] + baselines[:1]
        wanted = st.multiselect("Methods", names, default=first, key=f"summaries_methods_{len(names)}")
        methods = [method for method in known if method.name in wanted]
        _show(corpus, chosen, methods, int(words), references)


def _missing(corpus: CorpusRecord, embedded: Sequence[ModelRecord]) -> None:
    if not may(Right.MANAGE):
        return
    have = {model.id for model in embedded}
    absent = [m for m in queries.best_first(corpus_shares(corpus), corpus.id, across=False) if m.id not in have]
    if not absent:
        return
    with st.expander("Add a model", icon=":material/add:"):
        model = one_model("Model", absent, "summaries_new_model")
        model_notes(model, corpus_shares(corpus))
        if st.button("Embed corpus", help=f"Embeds all of {plain(corpus.name)} in the background."):
            submit("embed", {"corpus": corpus.name, "model": model.name}, f"Embed “{corpus.name}” by “{model.name}”")
            st.rerun()


def _show(
    corpus: CorpusRecord,
    article: ArticleRecord,
    methods: Sequence[SummaryMethod],
    words: int,
    references: Sequence[str],
) -> None:
    _, sentences = queries.article_text(article.id, corpus.created)
    if not methods:
        nothing("No method selected.", "Select one or more above.")
        return
    ranked = [_ranked(method, article, sentences, words) for method in methods]
    if references:
        counts = [rouge_1(made.summary.text, references, RougeSettings()) for made in ranked]
        rows = {
            "Method": [made.method.name for made in ranked],
            "ROUGE-1 recall": [score(c.recall) for c in counts],
            "Precision": [score(c.precision) for c in counts],
            "F1": [score(c.f1) for c in counts],
        }
        draw_table(rows, height="content")
    for start in range(0, len(ranked), _BESIDE):
        part = ranked[start : start + _BESIDE]
        for column, made in zip(st.columns(len(part), gap="medium"), part, strict=True):
            with column, st.container(border=True):
                st.markdown(f"**{plain(made.method.name)}**")
                last = " ".join(sentences[made.summary.positions[-1]].text.split()) if made.summary.positions else ""
                st.text(made.summary.text + ("" if made.summary.text.endswith(last) else " …"))
                st.caption(count(len(made.summary.text.split()), "word"))
    shown = by_name("Highlight scores of", ranked, state.SCORES, lambda made: made.method.name)
    st.caption("Darker sentences score higher; underlined sentences are in the summary.")
    draw_component("shaded", _ASSETS, data=shaded_data(sentences, shown), key="summaries_text")


def _ranked(method: SummaryMethod, article: ArticleRecord, sentences: Sequence[Sentence], words: int) -> Ranked:
    texts = [sentence.text for sentence in sentences]
    vectors = vectors_of(article, method.model) if method.model else None
    scores: Scores = SUMMARIZERS.build(method.summarizer).scores(texts, vectors, 0)
    return Ranked(method, scores, extract(texts, scores, words))


def shaded_data(sentences: Sequence[Sentence], made: Ranked) -> dict[str, Any]:
    """Return the data of the component: paragraphs of sentences with shading in per cent."""
    low, high = float(made.scores.min()), float(made.scores.max())
    places = {position: place for place, position in enumerate(made.summary.positions, 1)}

    def drawn(index: int, sentence: Sentence) -> dict[str, Any]:
        value = float(made.scores[index])
        share = (value - low) / (high - low) if high > low else 0.0
        why = f"score {value:.4f}" + (f", number {places[index]} of the summary" if index in places else "")
        return {"text": sentence.text, "strength": round(_STRONGEST * share), "chosen": index in places, "why": why}

    numbered = groupby(enumerate(sentences), key=lambda pair: (pair[1].section, pair[1].paragraph))
    return {"paragraphs": [[drawn(*pair) for pair in group] for _, group in numbered]}


# --- collections ------------------------------------------------------------------------------------------------------


KIND = "evaluate-summaries"
_UPLOAD_MB = 200
_FILE_HELP = (
    "JSON lines: each with “text” or “sections”, and “summary” or “summaries”. ROUGE-1 compares the summary of each "
    "document with its reference summaries."
)


def show() -> None:
    """Draw the form and the results of a collection."""
    live(KIND)
    with queries.store().reading() as r:
        found = r.runs.list(kind="summaries")[::-1]
        model_names = {model.id: model.name for model in r.models.list()}
    with st.expander("Evaluate a collection", icon=":material/add:", expanded=not found):
        if not closed("Evaluating a collection"):
            file = st.file_uploader(
                "Documents with reference summaries", type=["jsonl", "json", "gz", "bz2", "xz"],
                max_upload_size=_UPLOAD_MB, key="summaries_collection", help=_FILE_HELP,
            )  # fmt: skip
            path = None if file is None else input_files.keep_one("summaries_collection_kept", file)
            without = {card.title: card.id for card in SUMMARIZERS if "vectors" not in card.tags}
            models = {model.name: model for model in queries.best_first({"en": 1.0}, across=False)}
            left, middle, right = st.columns([2, 2, 1], vertical_alignment="bottom")
            methods = left.multiselect(
                "Methods", list(without), default=list(without), key="summaries_collection_methods"
            )
            chosen = middle.multiselect(
                "Models", list(models), default=preselected(list(models.values()))[:1],
                key="summaries_collection_models", help="LexRank on the vectors of each model.",
            )  # fmt: skip
            words = right.number_input("Summary length (words)", 10, 1_000, 100, 10, key="summaries_collection_length")
            ready = path is not None and bool(methods or chosen)
            clicked = st.button("Evaluate", type="primary", icon=":material/play_arrow:", disabled=not ready)
            if clicked and path is not None:
                _queue(path, [without[name] for name in methods], [models[name] for name in chosen], int(words))
    if found:
        by_file: dict[tuple[str, int], list[RunRecord]] = {}
        for one in found:
            by_file.setdefault((one.config["file"], one.config["words"]), []).append(one)
        groups = list(by_file)
        rows = by_file[by_name("Documents", groups, state.DOCUMENTS, lambda group: f"{group[0]}, {group[1]} words")]
        scores = queries.mean_scores([run.id for run in rows])
        names = ("ROUGE-1 recall", "ROUGE-1 precision", "ROUGE-1 f1")
        frame = {
            "Method": [SUMMARIZERS.get(run.config["summarizer"]).title for run in rows],
            "Model": [model_names.get(run.model_id or 0, "") for run in rows],
            **{name: [with_interval(scores[run.id].get(name)) for run in rows] for name in names},
            "Stop words": ["left out" if run.config["rouge"]["remove_stop_words"] else "counted" for run in rows],
        }
        order = sorted(range(len(rows)), key=lambda i: -scores[rows[i].id][names[0]].value)
        draw_table(pd.DataFrame(frame).iloc[order], height="content", placeholder="–")
        st.caption(f"Means over {count(scores[rows[0].id][names[0]].n, 'document')} with 95 % intervals.")
    else:
        nothing("No collection has been evaluated yet.", "Upload documents with reference summaries above.")


def _queue(path: Path, methods: Sequence[str], models: Sequence[ModelRecord], words: int) -> None:
    """Queue an evaluation for each method without vectors and for each model; redraws the page if all are queued."""
    about = {"documents": str(path), "words": words}
    jobs = []
    for method in methods:
        title = f"Summarise “{path.name}” by {SUMMARIZERS.get(method).title}"
        jobs.append(submit(KIND, {"summarizer": method, **about}, title))
    for model in models:
        title = f"Summarise “{path.name}” by “{model.name}”"
        jobs.append(submit(KIND, {"summarizer": "lexrank", "model": model.name, **about}, title))
    if None not in jobs:
        st.rerun()
