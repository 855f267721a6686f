"""Methods that learn a vector for each sentence: Sen2Vec, CON-S2V, regularised and retrofitted vectors.

Sources: Sen2Vec is the concatenation of distributed memory and distributed bag of words (Le and Mikolov 2014). CON-S2V
also predicts neighbouring sentences and moves vectors towards those of neighbours; the regularised variant only moves
them (Saha et al. 2017, sections 3 and 4). Retrofitting changes finished Sen2Vec vectors (Faruqui et al. 2015).
Neighbours are the previous and the next sentence, or the sentences with the most similar Sen2Vec vectors: those of the
base model if ``fit`` is given one, otherwise vectors trained for this purpose.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from themescope.core.config import config_from_dict
from themescope.core.errors import DataError
from themescope.core.models.artifact import (
    damaged,
    read_tensors,
    read_word_vectors,
    read_words,
    write_tensors,
    write_word_vectors,
    write_words,
)
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
from themescope.core.models.con_s2v.text import (
    FEWEST,
    Context,
    CorpusVocabulary,
    EncodedText,
    Graph,
    Noise,
    Tables,
    TextArrays,
    discourse_graph,
    empty_table,
    encode_text,
    keep_thresholds,
    no_graph,
    similarity_graph,
    word_noise,
)
from themescope.core.text.languages import content_words
from themescope.core.text.word_vectors import WordVectors
from themescope.core.types import SILENT, Corpus, Float32, Ids, Report, Sentence, SubReport, Vectors

# Base class of methods that learn a vector for each sentence of a corpus. Cosine distance

PRECISIONS: dict[str, type[np.floating[Any]]] = {"fp16": np.float16, "fp32": np.float32}


@dataclass(frozen=True)
class KnownSentences:
    """Learned vectors, one row for each sentence, found by id and text."""

    vectors: npt.NDArray[np.floating[Any]]
    """(n, dim) float16 or float32."""
    ids: Ids
    digests: Ids
    """(n,) see :func:`text_digest`."""

    @cached_property
    def _row_of_id(self) -> dict[int, int]:
        return {found: row for row, found in enumerate(self.ids.tolist()) if found != -1}

    @cached_property
    def _row_of_text(self) -> dict[int, int]:
        return {digest: row for row, digest in reversed([*enumerate(self.digests.tolist())])}  # the first of equals

    def rows(self, sentences: Sequence[Sentence]) -> npt.NDArray[np.int64]:
        """Return (m,) rows: by id if the text is the same, else the first row with the same text, else -1."""
        found = np.full(len(sentences), -1, np.int64)
        for place, sentence in enumerate(sentences):
            digest = text_digest(sentence.text)
            row = self._row_of_id.get(sentence.id, -1)
            fits = row >= 0 and self.digests[row] == digest
            found[place] = row if fits else self._row_of_text.get(digest, -1)
        return found


def text_digest(text: str) -> int:
    """Return the 64-bit BLAKE2b digest of a text as a signed integer."""
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


@dataclass(frozen=True)
class ContentModel:
    """Tables that predict words from a sentence's vector (DBOW), with a window also from preceding words (DM)."""

    words: npt.NDArray[np.floating[Any]]
    """(words, dim) output vectors."""
    inputs: npt.NDArray[np.floating[Any]]
    """(words, dim) input vectors, or no rows."""
    rate: float
    window: int = 0
    """Number of preceding words; 0 for DBOW."""

    def infer(
        self, rows: Sequence[Sequence[int]], digests: Sequence[int], vocabulary: CorpusVocabulary, config: EpochsConfig
    ) -> Float32:
        """Return (m, dim) vectors of sentences given as word rows; fewer than three words give the zero vector.

        The initial vector and all random numbers depend on the digest of the sentence alone, so that a row does not
        depend on the other sentences.
        """
        enough = [i for i, words in enumerate(rows) if len(words) >= FEWEST]
        dim = self.words.shape[1]
        out = np.zeros((len(rows), dim), np.float32)
        if not enough:
            return out
        from themescope.core.models.con_s2v import kernels

        seeds = np.array([digests[i] & (2**63 - 1) for i in enough], np.int64)
        starts = np.concatenate([[0], np.cumsum([len(rows[i]) for i in enough])]).astype(np.int64)
        ids = np.fromiter((word for i in enough for word in rows[i]), np.int32, int(starts[-1]))
        text = TextArrays(ids, starts, keep_thresholds(vocabulary.counts, config.subsampling))
        alias = word_noise(vocabulary.counts)
        start = empty_table(len(enough), dim)
        for row, seed in zip(start, seeds.tolist(), strict=True):
            row[:dim] = (np.random.default_rng(seed).random(dim, np.float32) - 0.5) / dim
        tables = Tables(start, _padded(self.words), np.zeros((0, 1), np.float32), _padded(self.inputs))
        kernels.infer(tables, text, Noise(alias, alias, config.negatives), self.window, config.epochs, self.rate, seeds)
        out[enough] = start[:, :dim]
        return out


def _padded(table: npt.NDArray[np.floating[Any]]) -> Float32:
    padded = empty_table(*table.shape)
    padded[:, : table.shape[1]] = table
    return padded


_SENTENCES, _WORDS = "sentences.safetensors", "words.safetensors"
_BLOCK = 2_000  # number of sentences looked up or inferred at once


@dataclass(frozen=True)
class Fitted:
    """Result of a training."""

    vectors: Float32
    """(n, dim) vectors of the training sentences."""
    parts: tuple[ContentModel, ...]
    """Models that infer the vectors of other sentences; their vectors are concatenated."""
    vocabulary: CorpusVocabulary
    """Words of the tables of ``parts``."""
    metrics: dict[str, float]


class SentenceVectors(TrainedModel):
    """Base of the methods; a subclass implements :meth:`_learn`."""

    _known: KnownSentences | None = None
    _vocabulary = CorpusVocabulary([], np.zeros(0, np.int64))
    _parts: tuple[ContentModel, ...] = ()

    @abstractmethod
    def _learn(self, text: EncodedText, corpus: Corpus, report: Report) -> Fitted:
        """Return vectors of the sentences of ``text``, which are the training sentences of ``corpus``."""

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Learn a vector for every sentence of ``corpus`` with at least three words."""
        from themescope.core.models.con_s2v.training import drop_checkpoints

        if not len(corpus.sentences):
            raise DataError("This method needs the sentences of a corpus, but this corpus has none.")
        tick = partial(report.progress, 0, 1, "Reading the sentences")
        text = encode_text(corpus.sentences, self.config.min_count, tick)
        fitted = self._learn(text, corpus, report)
        dtype = PRECISIONS[self.config.storage]
        used = (corpus.sentences[row] for row in text.rows.tolist())
        ids, digests = np.array([(s.id, text_digest(s.text)) for s in used], np.int64).reshape(-1, 2).T
        self._known = KnownSentences(fitted.vectors.astype(dtype), ids.copy(), digests.copy())
        self._vocabulary, self.metrics = fitted.vocabulary, fitted.metrics
        self._parts = tuple(
            replace(part, words=part.words.astype(dtype), inputs=part.inputs.astype(dtype)) for part in fitted.parts
        )
        drop_checkpoints(report.checkpoint_folder())
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dim) vectors: learned, inferred, or zero for sentences of at most two words."""
        known = self._fitted(self._known)
        out = np.zeros((len(sentences), known.vectors.shape[1]), np.float32)
        for start in range(0, len(sentences), _BLOCK):
            part = sentences[start : start + _BLOCK]
            rows = known.rows(part)
            out[start : start + _BLOCK][rows >= 0] = known.vectors[rows[rows >= 0]]
            new = np.flatnonzero(rows < 0)
            if len(new):
                out[start + new] = self._inferred([part[i].text for i in new.tolist()])
        return out

    def _write(self, folder: Path) -> None:
        known = self._fitted(self._known)
        write_tensors(folder / _SENTENCES, {"vectors": known.vectors, "ids": known.ids, "digests": known.digests})
        write_words(folder, self._vocabulary.words)
        tensors: dict[str, Any] = {"counts": self._vocabulary.counts}
        for n, part in enumerate(self._parts):
            settings = np.array([part.rate, part.window], np.float64)
            tensors |= {f"{n}.words": part.words, f"{n}.inputs": part.inputs, f"{n}.settings": settings}
        write_tensors(folder / _WORDS, tensors)

    def _read(self, folder: Path) -> None:
        names = ("vectors", "ids", "digests")
        found = read_tensors(folder / _SENTENCES, names)
        self._known = KnownSentences(*(found[name] for name in names))
        tensors, words = read_tensors(folder / _WORDS, ("counts",)), read_words(folder)
        if len(words) != len(tensors["counts"]):
            raise damaged(folder, "words and counts differ in number")
        self._vocabulary = CorpusVocabulary(words, tensors["counts"])
        parts = []
        try:
            for n in range(len(tensors) // 3):  # each part has three tensors
                rate, window = tensors[f"{n}.settings"].tolist()
                parts.append(ContentModel(tensors[f"{n}.words"], tensors[f"{n}.inputs"], rate, int(window)))
        except KeyError as error:
            raise damaged(folder, f"{_WORDS}: no {error}") from None
        self._parts = tuple(parts)

    def _inferred(self, texts: list[str]) -> Float32:
        rows = [self._vocabulary.rows(text) for text in texts]
        digests = [text_digest(text) for text in texts]
        parts = [part.infer(rows, digests, self._vocabulary, self.config) for part in self._parts]
        return np.concatenate(parts, axis=1)


_SHARED = tuple(field.name for field in fields(EpochsConfig))
_VECTORS_DONE, _GRAPH_DONE = 0.4, 0.5  # progress of CON-S2V after content vectors and after the similarity graph
_RETROFIT_VECTORS_DONE, _RETROFIT_GRAPH_DONE = 0.8, 0.95  # the same for retrofitting


class Sen2Vec(SentenceVectors, config=Sen2VecConfig):
    """Vectors learned from the words of each sentence alone."""

    def _learn(self, text: EncodedText, corpus: Corpus, report: Report) -> Fitted:
        return learn_content(self.config, text, self.seed, report)


class ConS2VDis(SentenceVectors, config=ConS2VDisConfig):
    """CON-S2V with the previous and the next sentence as neighbours.

    The other methods with neighbours have other settings, which switch content, neighbour prediction and proximity.
    """

    def _learn(self, text: EncodedText, corpus: Corpus, report: Report) -> Fitted:
        from themescope.core.models.con_s2v.training import learn_sentences

        config: SentVecConfig = self.config
        graph, rest = no_graph(len(text)), report
        if config.needs_graph and config.graph == "discourse":
            graph = discourse_graph(text.articles, text.positions)
        elif config.needs_graph:
            stage = SubReport(report, 0, _VECTORS_DONE)
            # A Sen2Vec with vectors of the same size, trained with the same settings
            shared = {name: getattr(config, name) for name in (*_SHARED, "window")}
            half = config_from_dict(Sen2VecConfig, shared | {"dim": max(2, config.dim // 2)})
            vectors = content_of(half, text, corpus, self.seed, stage).vectors
            graph = similarity_graph(vectors, text.articles, SubReport(report, _VECTORS_DONE, _GRAPH_DONE))
            rest = SubReport(report, _GRAPH_DONE, 1)
        learned = learn_sentences(config, text, graph, self.seed, rest)
        content = ContentModel(learned.words, learned.inputs[:0], config.learning_rate)
        return Fitted(learned.sentences, (content,), text.vocabulary, learned.metrics | _degree(graph))


class ConS2VSim(ConS2VDis, config=ConS2VSimConfig):
    """CON-S2V with the most similar sentences as neighbours."""


class RegDis(ConS2VDis, config=RegDisConfig):
    """Content and proximity to the previous and the next sentence."""


class RegSim(ConS2VDis, config=RegSimConfig):
    """Content and proximity to the most similar sentences."""


class RetDis(SentenceVectors, config=RetDisConfig):
    """Retrofitting to the previous and the next sentence.

    q_i ← ½ q̂_i + ½ mean of the neighbours' q, in place, for a number of rounds; q̂ are unit Sen2Vec vectors. A sentence
    that was not in the training text gets its inferred vector, scaled to length 1.
    """

    def _learn(self, text: EncodedText, corpus: Corpus, report: Report) -> Fitted:
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


class RetSim(RetDis, config=RetSimConfig):
    """Retrofitting to the most similar sentences."""


def content_of(config: Sen2VecConfig, text: EncodedText, corpus: Corpus, seed: int, report: Report) -> Fitted:
    """Return Sen2Vec vectors of the sentences of ``text``: of the base model in ``corpus.models``, else learned now."""
    if not corpus.models:
        return learn_content(config, text, seed, report)
    model = corpus.models[0]
    if len(corpus.models) > 1 or not isinstance(model, SentenceVectors):
        raise DataError("The base model must be one trained sen2vec. Name that model, or none to train one first.")
    report.progress(0, 1, "Looking up content vectors")
    vectors = model.embed([corpus.sentences[row] for row in text.rows.tolist()])
    return Fitted(np.asarray(vectors), model._parts, model._vocabulary, {})


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

    _words: WordVectors | None = None

    @abstractmethod
    def _learn(self, text: EncodedText, report: Report) -> tuple[Float32, dict[str, float]]:
        """Return (words, dim) vectors of the vocabulary of ``text``, and training metrics."""

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Learn word vectors from ``corpus.sentences``."""
        from themescope.core.models.con_s2v.training import drop_checkpoints

        if not len(corpus.sentences):
            raise DataError("This method needs the sentences of a corpus, but this corpus has none.")
        tick = partial(report.progress, 0, 1, "Reading the sentences")
        text = encode_text(corpus.sentences, self.config.min_count, tick)
        table, self.metrics = self._learn(text, report)
        self._words = WordVectors(text.vocabulary.words, table).stored_as(self.config.storage)
        drop_checkpoints(report.checkpoint_folder())
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dim) sums or means; a sentence without known words is the zero vector."""
        return combined_words([content_words(s.text) for s in sentences], self._fitted(self._words), mean=self.mean)

    def _write(self, folder: Path) -> None:
        write_word_vectors(folder, self._fitted(self._words))

    def _read(self, folder: Path) -> None:
        self._words = read_word_vectors(folder)


class FastSent(_WordSums, config=FastSentConfig):
    """The sum of a sentence's word vectors predicts the words of the previous and the next sentence."""

    mean: ClassVar[bool] = False

    def _learn(self, text: EncodedText, report: Report) -> tuple[Float32, dict[str, float]]:
        from themescope.core.models.con_s2v.training import learn_bags

        learned = learn_bags(self.config, text, discourse_graph(text.articles, text.positions), self.seed, report)
        return learned.inputs, learned.metrics


class FastSentAE(FastSent, config=FastSentAEConfig):
    """FastSent that also predicts the words of the sentence itself."""


class W2VAverage(_WordSums, config=W2VAverageConfig):
    """The mean of skip-gram word vectors that were learned on the same text."""

    mean: ClassVar[bool] = True

    def _learn(self, text: EncodedText, report: Report) -> tuple[Float32, dict[str, float]]:
        from themescope.core.models.con_s2v.training import learn_sentences

        words_only = {"content": False, "neighbours": False, "proximity": False, "mode": "reference"}
        config = config_from_dict(SentVecConfig, self.config.to_dict() | words_only)
        learned = learn_sentences(config, text, no_graph(len(text)), self.seed, report, "words")
        return learned.inputs, learned.metrics
