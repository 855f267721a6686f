"""Queries of themes, through the read-only repositories of the store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt
import streamlit as st

from core.types import Ids, Labels, Sentence, Split
from db.records import CorpusRecord, MapRecord, ModelRecord, RunRecord
from webapp.shared import queries


@dataclass(frozen=True, slots=True)
class Analysis:
    """Theme analysis with its corpus and model."""

    run: RunRecord
    corpus: CorpusRecord
    model: ModelRecord

    @property
    def themes(self) -> list[dict[str, Any]]:
        """Return name, words, size and central sentence ids of each theme, largest first."""
        return list(self.run.config["themes"])

    @property
    def name(self) -> str:
        """Return the label in lists."""
        return f"{self.corpus.name} by {self.model.name}, {len(self.themes)} themes"


@dataclass(frozen=True, slots=True)
class Listing:
    """Sentences of an analysis; row i of every array is one sentence."""

    ids: Ids
    sentences: list[Sentence]
    labels: Labels
    margins: npt.NDArray[np.float32]
    groups: list[str]
    """Group (section) of each sentence; empty if the list has none."""


def analyses() -> list[Analysis]:
    """Return the analyses whose corpus and model exist, newest first."""
    with queries.store().reading() as r:
        runs = r.runs.list(kind="themes")
        corpora, models = {c.id: c for c in r.corpora.list()}, {m.id: m for m in r.models.list()}
    return [
        Analysis(run, corpora[run.config["corpus_id"]], models[run.model_id])
        for run in reversed(runs)
        if run.config.get("corpus_id") in corpora and run.model_id in models
    ]


@st.cache_data(show_spinner=False, max_entries=4)
def listing(run_id: int, created: datetime) -> Listing:
    """Return the sentences of an analysis with their themes; ``created`` makes the cache key unique."""
    with queries.store().reading() as r:
        ids, margins = r.runs.margins(run_id, Split.TEST)
        labels = r.runs.labels(run_id)
        found = r.corpora.sentences_by_id(ids)
        titles = {
            article: [section.title for section in sections]
            for article, sections in r.corpora.sections_of(list(labels)).items()
        }
    sentences = [found[int(i)] for i in ids]
    return Listing(
        ids,
        sentences,
        np.array([labels[s.article_id][s.position] for s in sentences], dtype=np.int32),
        margins,
        [titles[s.article_id][s.section] for s in sentences],
    )


def map_of(analysis: Analysis) -> MapRecord | None:
    """Return the newest map of the corpus by the model of the analysis."""
    found = [m for m in queries.maps(analysis.corpus.id) if m.model_id == analysis.model.id]
    return found[0] if found else None


def texts(ids: Sequence[int]) -> dict[int, str]:
    """Return sentences by id."""
    return queries.read(
        lambda r: {i: s.text for i, s in r.corpora.sentences_by_id(np.asarray(ids, dtype=np.int64)).items()}
    )
