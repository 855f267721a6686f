"""Methods that learn a vector for each sentence: Sen2Vec, CON-S2V, regularised and retrofitted vectors.

Sources: Sen2Vec is the concatenation of distributed memory and distributed bag of words (Le and Mikolov 2014). CON-S2V
also predicts neighbouring sentences and moves vectors towards those of neighbours; the regularised variant only moves
them (Saha et al. 2017, sections 3 and 4). Retrofitting changes finished Sen2Vec vectors (Faruqui et al. 2015).
Neighbours are the previous and the next sentence, or the sentences with the most similar Sen2Vec vectors: those of the
base model if ``fit`` is given one, otherwise vectors trained for this purpose.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from themescope.core.config import Config, config_from_dict
from themescope.core.errors import DataError
from themescope.core.models.artifact import read_word_vectors, write_word_vectors
from themescope.core.models.bag_of_words import combined_words
from themescope.core.models.base import TrainedModel, unit_length
from themescope.core.models.con_s2v.config import (
    ConS2VDisConfig,
    ConS2VSimConfig,
    EpochsConfig,
    FastSentAEConfig,
    FastSentConfig,
    MemoryConfig,
    RegDisConfig,
    RegSimConfig,
    RetDisConfig,
    RetSimConfig,
    Sen2VecConfig,
    SentVecConfig,
    W2VAverageConfig,
)
from themescope.core.models.con_s2v.sentence_vectors import ContentModel, Fitted, SentenceVectors
from themescope.core.models.con_s2v.text import (
    EncodedText,
    Graph,
    discourse_graph,
    encode_text,
    no_graph,
    similarity_graph,
)
from themescope.core.text.languages import content_words
from themescope.core.text.word_vectors import Storage, WordVectors
from themescope.core.types import SILENT, Corpus, Float32, Report, Sentence, SubReport, Vectors

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
        from themescope.core.models.con_s2v.kernels import retrofit
        from themescope.core.models.con_s2v.text import Context

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


# Sums and means of learned word vectors


class _WordSums(TrainedModel):
    """Base of the methods; a subclass implements :meth:`_learn`."""

    mean: ClassVar[bool]
    """Whether a sentence is the mean of its words, or their sum."""

    def __init__(self, config: Any, seed: int) -> None:
        super().__init__(config, seed)
        self._words: WordVectors | None = None

    @abstractmethod
    def _learn(self, text: EncodedText, report: Report) -> tuple[Float32, dict[str, float]]:
        """Return (words, dim) vectors of the vocabulary of ``text``, and training metrics."""

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Learn word vectors from ``corpus.sentences``."""
        from themescope.core.models.con_s2v.training import drop_checkpoints

        if not len(corpus.sentences):
            raise DataError("This method needs the sentences of a corpus, but this corpus has none.")
        text = encode_text(
            corpus.sentences, self.config.min_count, tick=lambda: report.progress(0, 1, "Reading the sentences")
        )
        table, self.metrics = self._learn(text, report)
        storage: Storage = self.config.storage
        self._words = WordVectors(text.vocabulary.words, table).stored_as(storage)
        drop_checkpoints(report.checkpoint_folder())
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dim) sums or means; a sentence without known words is the zero vector."""
        words = [content_words(s.text) for s in sentences]
        return combined_words(words, self._fitted(self._words), mean=self.mean)

    def _write(self, folder: Path) -> None:
        write_word_vectors(folder, self._fitted(self._words))

    def _read(self, folder: Path) -> None:
        self._words = read_word_vectors(folder)


class FastSent(_WordSums):
    """The sum of a sentence's word vectors predicts the words of the previous and the next sentence."""

    config_class: ClassVar[type[Config]] = FastSentConfig
    mean: ClassVar[bool] = False

    def _learn(self, text: EncodedText, report: Report) -> tuple[Float32, dict[str, float]]:
        from themescope.core.models.con_s2v.training import learn_bags

        graph = discourse_graph(text.articles, text.positions)
        learned = learn_bags(self.config, text, graph, self.seed, report)
        return learned.inputs, learned.metrics


class FastSentAE(FastSent):
    """FastSent that also predicts the words of the sentence itself."""

    config_class: ClassVar[type[Config]] = FastSentAEConfig


class W2VAverage(_WordSums):
    """The mean of skip-gram word vectors that were learned on the same text."""

    config_class: ClassVar[type[Config]] = W2VAverageConfig
    mean: ClassVar[bool] = True

    def _learn(self, text: EncodedText, report: Report) -> tuple[Float32, dict[str, float]]:
        from themescope.core.models.con_s2v.training import learn_sentences

        words_only = {"content": False, "neighbours": False, "proximity": False, "mode": "reference"}
        config = config_from_dict(SentVecConfig, self.config.to_dict() | words_only)
        learned = learn_sentences(config, text, no_graph(len(text)), self.seed, report, "words")
        return learned.inputs, learned.metrics
