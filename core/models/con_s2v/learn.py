"""The three trainings: sentence vectors, distributed memory and FastSent, from settings to learned tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from themescope.core.config import Config, digest_of
from themescope.core.models.con_s2v import kernels
from themescope.core.models.con_s2v.arrays import (
    Context,
    Losses,
    Noise,
    Table,
    Tables,
    TextArrays,
    empty_table,
    keep_thresholds,
    node_noise,
    random_table,
    word_noise,
)
from themescope.core.models.con_s2v.config import EpochsConfig, FastSentConfig, MemoryConfig, SentVecConfig
from themescope.core.models.con_s2v.graphs import Graph, no_graph
from themescope.core.models.con_s2v.text import EncodedText
from themescope.core.models.con_s2v.training import CompiledLearner, Learner, Stage, train
from themescope.core.protocols import Report

if TYPE_CHECKING:
    from themescope.core.models.con_s2v.arrays import Span
    from themescope.core.models.con_s2v.training import Sums

_NO_EFFECT = {"threads": 0, "checkpoint_seconds": 0, "storage": ""}


@dataclass(frozen=True)
class Learned:
    """Learned tables without the padding of their rows, and training metrics."""

    sentences: Table
    """(n, dim) vectors of sentences φ, or no rows."""
    words: Table
    """(words, dim) output vectors of words w."""
    inputs: Table
    """(words, dim) input vectors of words, or no rows."""
    metrics: dict[str, float]


def learn_sentences(
    config: SentVecConfig, text: EncodedText, graph: Graph, seed: int, report: Report, name: str = "sentences"
) -> Learned:
    """Train content, neighbour prediction and proximity, as ``config`` switches them, on ``graph``."""
    reference = config.mode == "reference"
    alone = not (config.content or config.neighbours)  # only word vectors are learned
    tables = _tables(config.dim, text, seed, sentences=not alone, inputs=reference, nodes=config.neighbours)
    context, noise = Context(graph.targets, graph.starts), _noise(text, graph, config)
    strength, window = config.strength if config.proximity else 0.0, config.window if reference else 0
    share = config.neighbour_share if config.neighbours else 0.0
    steps = Losses(config.content, share, strength, config.proximity_step == "implicit", window)
    words = _text(text, config)
    if config.batch:
        from themescope.core.models.con_s2v.batched import BatchedLearner

        learner: Learner = BatchedLearner(tables, words, context, noise, steps, config)
    else:

        def step(tables: Tables, span: Span) -> Sums:
            sums: Sums = kernels.train_sentences(tables, words, context, noise, steps, span)
            return sums

        learner = CompiledLearner(tables, step, config.threads)
    key = _key(config, seed, text, graph.targets)
    return _learned(Stage(name, text, config, config.learning_rate, seed, key), learner, config.dim, report)


def learn_memory(config: MemoryConfig, text: EncodedText, seed: int, report: Report) -> Learned:
    """Train distributed memory, the DM part of Sen2Vec."""
    tables = _tables(config.dim, text, seed, inputs=True)
    noise, words = _noise(text, no_graph(len(text)), config), _text(text, config)

    def step(tables: Tables, span: Span) -> Sums:
        sums: Sums = kernels.train_memory(tables, words, noise, config.window, span)
        return sums

    key = _key(config, seed, text, np.zeros(0, np.int32))
    stage = Stage("DM", text, config, config.learning_rate, seed, key, ("DM loss", ""))
    return _learned(stage, CompiledLearner(tables, step, config.threads), config.dim, report)


def learn_bags(config: FastSentConfig, text: EncodedText, graph: Graph, seed: int, report: Report) -> Learned:
    """Train FastSent on the neighbours of ``graph``; only word vectors are learned."""
    tables = _tables(config.dim, text, seed, sentences=False, inputs=True)
    noise, words = _noise(text, graph, config), _text(text, config)
    context = Context(graph.targets, graph.starts)

    def step(tables: Tables, span: Span) -> Sums:
        sums: Sums = kernels.train_bags(tables, words, context, noise, config.own_words, span)
        return sums

    key = _key(config, seed, text, graph.targets)
    stage = Stage("bags", text, config, config.learning_rate, seed, key, ("loss", ""))
    return _learned(stage, CompiledLearner(tables, step, config.threads), config.dim, report)


def _tables(
    dim: int, text: EncodedText, seed: int, *, sentences: bool = True, inputs: bool = False, nodes: bool = False
) -> Tables:
    """Return tables with random φ and word inputs and zero outputs; tables that are not trained have no rows."""
    random, words = np.random.default_rng(seed), len(text.vocabulary)
    return Tables(
        random_table(len(text) if sentences else 0, dim, random),
        empty_table(words, dim),
        empty_table(len(text) if nodes else 0, dim),
        random_table(words if inputs else 0, dim, random),
    )


def _noise(text: EncodedText, graph: Graph, config: EpochsConfig) -> Noise:
    return Noise(word_noise(text.vocabulary.counts), node_noise(graph.targets, len(text)), config.negatives)


def _text(text: EncodedText, config: EpochsConfig) -> TextArrays:
    return TextArrays(text.ids, text.starts, keep_thresholds(text.vocabulary.counts, config.subsampling))


def _key(config: Config, seed: int, text: EncodedText, near: npt.NDArray[np.int32]) -> str:
    data = [len(text), text.words, len(text.vocabulary), text.ids[:10_000].tolist(), len(near), near[:10_000].tolist()]
    return digest_of([config.to_dict() | _NO_EFFECT, seed, data])


def _learned(stage: Stage, learner: Learner, dim: int, report: Report) -> Learned:
    metrics = train(stage, learner, report)
    nothing = np.zeros((0, dim), np.float32)
    found = {name: np.ascontiguousarray(table[:, :dim]) for name, table in learner.tables().items()}
    sentences, words, inputs = (found.get(name, nothing) for name in ("sentences", "words", "inputs"))
    return Learned(sentences, words, inputs, metrics)
