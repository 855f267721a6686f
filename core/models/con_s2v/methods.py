"""Methods that learn a vector for each sentence: Sen2Vec, CON-S2V, regularised and retrofitted vectors.

Sources: Sen2Vec is the concatenation of distributed memory and distributed bag of words (Le and Mikolov 2014). CON-S2V
also predicts neighbouring sentences and moves vectors towards those of neighbours; the regularised variant only moves
them (Saha et al. 2017, sections 3 and 4). Retrofitting changes finished Sen2Vec vectors (Faruqui et al. 2015).
Neighbours are the previous and the next sentence, or the sentences with the most similar Sen2Vec vectors: those of the
base model if ``fit`` is given one, otherwise vectors trained for this purpose.
"""

from __future__ import annotations

from dataclasses import fields
from typing import ClassVar

import numpy as np

from themescope.core.config import Config, config_from_dict
from themescope.core.errors import DataError
from themescope.core.models.base import unit_length
from themescope.core.models.con_s2v.config import (
    ConS2VDisConfig,
    ConS2VSimConfig,
    EpochsConfig,
    MemoryConfig,
    RegDisConfig,
    RegSimConfig,
    RetDisConfig,
    RetSimConfig,
    Sen2VecConfig,
    SentVecConfig,
)
from themescope.core.models.con_s2v.sentence_vectors import ContentModel, Fitted, SentenceVectors
from themescope.core.models.con_s2v.text import EncodedText, Graph, discourse_graph, no_graph, similarity_graph
from themescope.core.protocols import Report, SubReport
from themescope.core.types import Corpus, Float32

_SHARED = tuple(field.name for field in fields(EpochsConfig))
_VECTORS_DONE, _GRAPH_DONE = 0.4, 0.5  # progress of CON-S2V after content vectors and after the similarity graph
_RETROFIT_VECTORS_DONE, _RETROFIT_GRAPH_DONE = 0.8, 0.95  # the same for retrofitting


class Sen2Vec(SentenceVectors):
    """Vectors learned from the words of each sentence alone."""

    config_class: ClassVar[type[Config]] = Sen2VecConfig

    def _learn(self, text: EncodedText, corpus: Corpus, report: Report) -> Fitted:
        return learn_content(self.config, text, self.seed, report)


class _ContextVectors(SentenceVectors):
    """Content, neighbour prediction and proximity, as the settings switch them."""

    def _learn(self, text: EncodedText, corpus: Corpus, report: Report) -> Fitted:
        from themescope.core.models.con_s2v.training import learn_sentences

        config: SentVecConfig = self.config
        graph, rest = no_graph(len(text)), report
        if config.needs_graph and config.graph == "discourse":
            graph = discourse_graph(text.articles, text.positions)
        elif config.needs_graph:
            stage = SubReport(report, 0, _VECTORS_DONE)
            vectors = content_of(content_config(config), text, corpus, self.seed, stage).vectors
            graph = similarity_graph(vectors, text.articles, SubReport(report, _VECTORS_DONE, _GRAPH_DONE))
            rest = SubReport(report, _GRAPH_DONE, 1)
        learned = learn_sentences(config, text, graph, self.seed, rest)
        content = ContentModel(learned.words, learned.inputs[:0], config.learning_rate)
        return Fitted(learned.sentences, (content,), text.vocabulary, learned.metrics | _degree(graph))


class ConS2VDis(_ContextVectors):
    """CON-S2V with the previous and the next sentence as neighbours."""

    config_class: ClassVar[type[Config]] = ConS2VDisConfig


class ConS2VSim(_ContextVectors):
    """CON-S2V with the most similar sentences as neighbours."""

    config_class: ClassVar[type[Config]] = ConS2VSimConfig


class RegDis(_ContextVectors):
    """Content and proximity to the previous and the next sentence."""

    config_class: ClassVar[type[Config]] = RegDisConfig


class RegSim(_ContextVectors):
    """Content and proximity to the most similar sentences."""

    config_class: ClassVar[type[Config]] = RegSimConfig


class _Retrofitted(SentenceVectors):
    """q_i ← ½ q̂_i + ½ mean of the neighbours' q, in place, for a number of rounds; q̂ are unit Sen2Vec vectors.

    A sentence that was not in the training text gets its inferred vector, scaled to length 1.
    """

    def _learn(self, text: EncodedText, corpus: Corpus, report: Report) -> Fitted:
        from themescope.core.models.con_s2v.arrays import Context
        from themescope.core.models.con_s2v.kernels import retrofit

        config: RetDisConfig = self.config
        content = content_of(config, text, corpus, self.seed, SubReport(report, 0, _RETROFIT_VECTORS_DONE))
        start = unit_length(content.vectors)
        if config.graph == "discourse":
            graph = discourse_graph(text.articles, text.positions)
        else:
            part = SubReport(report, _RETROFIT_VECTORS_DONE, _RETROFIT_GRAPH_DONE)
            graph = similarity_graph(start, text.articles, part)
        vectors, last = start.copy(), SubReport(report, _RETROFIT_GRAPH_DONE, 1)
        for done in range(config.rounds):
            last.progress(done, config.rounds, "retrofitting")
            retrofit(vectors, start, Context(graph.targets, graph.starts), 1)
        return Fitted(vectors, content.parts, content.vocabulary, content.metrics | _degree(graph))

    def _inferred(self, texts: list[str]) -> Float32:
        return unit_length(super()._inferred(texts))


class RetDis(_Retrofitted):
    """Retrofitting to the previous and the next sentence."""

    config_class: ClassVar[type[Config]] = RetDisConfig


class RetSim(_Retrofitted):
    """Retrofitting to the most similar sentences."""

    config_class: ClassVar[type[Config]] = RetSimConfig


def content_config(config: SentVecConfig) -> Sen2VecConfig:
    """Return settings of a Sen2Vec with vectors of the same size, trained with the same settings."""
    shared = {name: getattr(config, name) for name in _SHARED}
    return config_from_dict(Sen2VecConfig, shared | {"dim": max(2, config.dim // 2), "window": config.window})


def content_of(config: Sen2VecConfig, text: EncodedText, corpus: Corpus, seed: int, report: Report) -> Fitted:
    """Return Sen2Vec vectors of the sentences of ``text``: of the base model in ``corpus.models``, else learned now."""
    if not corpus.models:
        return learn_content(config, text, seed, report)
    model = corpus.models[0]
    if len(corpus.models) > 1 or not isinstance(model, SentenceVectors):
        raise DataError("The base model must be one trained sen2vec. Name that model, or none to train one first.")
    report.progress(0, 1, "Looking up content vectors")
    return model.content([corpus.sentences[row] for row in text.rows.tolist()])


def learn_content(config: Sen2VecConfig, text: EncodedText, seed: int, report: Report) -> Fitted:
    """Train the parts of Sen2Vec; the result has (n, dim) or, with two parts, (n, 2·dim) vectors."""
    from themescope.core.models.con_s2v.training import learn_memory, learn_sentences

    names = config.parts.split("+")
    shared: dict[str, object] = {name: getattr(config, name) for name in (*_SHARED, "dim", "window")}
    vectors, metrics = list[Float32](), dict[str, float]()
    models: list[ContentModel] = []
    for place, name in enumerate(names):
        part = SubReport(report, place / len(names), (place + 1) / len(names))
        if name == "dm":
            memory = config_from_dict(MemoryConfig, shared | {"learning_rate": config.memory_rate})
            learned = learn_memory(memory, text, seed, part)
            models.append(ContentModel(learned.words, learned.inputs, config.memory_rate, config.window))
        else:
            alone = {"learning_rate": config.learning_rate, "neighbours": False, "proximity": False}
            bag = config_from_dict(SentVecConfig, shared | alone | {"mode": config.mode})
            learned = learn_sentences(bag, text, no_graph(len(text)), seed, part, "content")
            models.append(ContentModel(learned.words, learned.inputs[:0], config.learning_rate))
        vectors.append(learned.sentences)
        metrics |= {f"{name}: {key}" if len(names) > 1 else key: value for key, value in learned.metrics.items()}
    return Fitted(np.concatenate(vectors, axis=1), tuple(models), text.vocabulary, metrics)


def _degree(graph: Graph) -> dict[str, float]:
    return {"neighbours per sentence": len(graph.targets) / max(len(graph), 1)}
