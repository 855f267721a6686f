"""Trained table of word vectors whose weighted sum is the vector of a sentence: ``static-encoder``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice, product
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from scipy import sparse
from torch import Tensor, nn
from torch.nn import functional

from themescope.core.errors import DataError, MissingExtraError
from themescope.core.models.artifact import damaged, read_word_vectors, write_tensors, write_word_vectors
from themescope.core.models.base import TrainedModel, unit_length
from themescope.core.models.contrastive.config import StaticEncoderConfig
from themescope.core.models.contrastive.sampling import Batch, split_articles
from themescope.core.models.contrastive.training import Examples, train_with_teacher
from themescope.core.models.networks import digest_of_arrays, pick_device
from themescope.core.text.encoders import WEIGHTS, write_steps
from themescope.core.text.languages import ABBREVIATIONS, STRAIGHT_QUOTES, tokenize
from themescope.core.text.word_vectors import NumberedTexts, Storage, WordVectors, load_word_vectors, numbered
from themescope.core.types import SILENT, Corpus, Float32, Index, Report, Sentence, SubReport, Vectors

_READ = 0.1  # share of the progress after reading the sentences
_BLOCK = 8_192  # sentences tokenised at once, which bounds the memory


class StaticEncoder(TrainedModel, config=StaticEncoderConfig):
    """Weighted sum of trained word vectors, cosine distance."""

    config: StaticEncoderConfig
    _words: WordVectors | None = None

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Train on ``corpus.sections`` of the splits train and validation; a model of ``corpus`` is the teacher.

        Raises ``DataError`` without sections, without words that are frequent enough, and for a teacher with sparse
        vectors.
        """
        parts = split_articles(corpus, self.config, self.seed, "The static encoder")
        texts = [
            numbered(
                (tokenize(sentences[i].text) for i in articles.sentences.tolist()),
                lambda: report.progress(0, 1, "Reading the sentences"),
            )
            for sentences, articles in parts
        ]
        report.progress(0, 1, "Reading word vectors")
        config, limit = self.config, self.config.vocabulary_limit or None
        found, shares = vocabulary_of(*texts[0], config.vocabulary, config.least_count)
        start = initial_vectors(found, [load_word_vectors(name, limit) for name in config.word_vectors])
        weights, words = config.frequency / (config.frequency + shares), WordVectors(found, start)
        network = WordTable(start, weights, config.dim, config.word_dropout, train_vectors=config.train_vectors)
        network.to(pick_device(config.device))
        vectors, examples = network.vectors.detach().cpu().numpy(), list[Examples]()
        for (_, articles), (distinct, read) in zip(parts, texts, strict=True):
            known = read.only(rows_of(distinct, words))
            digest = digest_of_arrays(known.ids, known.starts, articles.sections, vectors)
            examples.append(Examples(articles, partial(_similarities, network, known), digest))
        training, validation = examples
        stage, teaching = SubReport(report, _READ, 1.0), (corpus, parts[0][0])
        trained = train_with_teacher(config, self.seed, network, training, validation, teaching, stage)
        storage: Storage = self.config.storage  # type: ignore[assignment]  # one of the choices
        self._words = WordVectors(words.words, network.weighted()).stored_as(storage)
        self.metrics, self.history = trained.metrics | {"words": float(len(words))}, trained.history
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dim) vectors of length 1; a sentence without known words is the zero vector."""
        words = self._fitted(self._words)
        sums = np.zeros((len(sentences), words.dim), np.float32)
        for start in range(0, len(sentences), _BLOCK):
            block = sentences[start : start + _BLOCK]
            distinct, read = numbered(tokenize(s.text) for s in block)
            rows = rows_of(distinct, words)
            read = read.only(np.where(rows >= 0, np.cumsum(rows >= 0) - 1, -1))
            table = words.vectors(rows[rows >= 0])
            ones, shape = np.ones(len(read.ids), np.float32), (len(block), len(table))
            sums[start : start + len(block)] = sparse.csr_array((ones, read.ids, read.starts), shape=shape) @ table
        return unit_length(sums)

    def save_for_sentence_transformers(self, folder: Path) -> None:
        """Write words and vectors as a folder that sentence-transformers loads.

        Raises ``MissingExtraError`` without the packages of the extra encoder.
        """
        table = self._fitted(self._words)
        known = spellings(table.words)
        vectors = table.vectors(np.array([table.row(word) for word in known], np.int64))
        tokenizer_of([*known]).save(str(folder / "tokenizer.json"))
        unknown = np.zeros((1, table.dim), np.float32)
        write_tensors(folder / WEIGHTS, {"embedding.weight": np.concatenate([vectors, unknown])})
        write_steps(folder, {"": "StaticEmbedding", "1_Normalize": "Normalize"})

    def _write(self, folder: Path) -> None:
        write_word_vectors(folder, self._fitted(self._words))

    def _read(self, folder: Path) -> None:
        self._words = read_word_vectors(folder)
        if not len(self._words):
            raise damaged(folder, "it has no words")


def _similarities(network: WordTable, words: NumberedTexts, batch: Batch) -> Tensor:
    """Return the (m, m) cosines of the sentences of a batch."""
    vectors: Tensor = network(*(part.to(network.vectors.device) for part in bags(words, batch.rows)))
    return vectors @ vectors.T


# Network of the static encoder: x = (Σ_t exp(w_t) · E_t) M over the words t of a sentence, scaled to length 1


def bags(words: NumberedTexts, sentences: Index) -> tuple[Tensor, Tensor]:
    """Return the (words,) rows of the words of some sentences, and the (m,) position of the first word of each."""
    counts = words.starts[sentences + 1] - words.starts[sentences]
    ends = np.cumsum(counts)
    places = np.arange(counts.sum()) + np.repeat(words.starts[sentences] - ends + counts, counts)
    return torch.from_numpy(words.ids[places].astype(np.int64)), torch.from_numpy(ends - counts)


_WEIGHT_RATE = 10.0  # log weights learn this many times as fast as vectors, whose coordinates are much smaller


class WordTable(nn.Module):
    """Vectors and weights of words, and a linear map."""

    def __init__(self, vectors: Float32, weights: Float32, dim: int, dropout: float, *, train_vectors: bool) -> None:
        """Start with (words, width) vectors and (words,) weights above 0, mapped to at most ``dim`` dimensions.

        ``dropout`` is the share of words left out in training.
        """
        super().__init__()
        self.vectors = nn.Parameter(torch.from_numpy(vectors), requires_grad=train_vectors)
        self.log_weights = nn.Parameter(torch.from_numpy(np.log(weights) / _WEIGHT_RATE))
        self.map = nn.Parameter(torch.from_numpy(principal_directions(vectors, weights, dim)))
        self._dropout = dropout

    def forward(self, ids: Tensor, starts: Tensor) -> Tensor:
        """Return (m, dim) vectors of length 1; zero for a sentence without words. Words are left out in training."""
        weights = self._weights()[ids]
        if self.training and self._dropout:
            weights = weights * (torch.rand(len(ids)) >= self._dropout).to(weights.device)
        sums = functional.embedding_bag(ids, self.vectors, starts, mode="sum", per_sample_weights=weights)
        return functional.normalize(sums @ self.map, dim=1)

    def weighted(self) -> Float32:
        """Return (words, dim) mapped vectors times their weights: all that embedding needs."""
        return np.asarray(((self.vectors * self._weights().unsqueeze(1)) @ self.map).detach().cpu().numpy())

    def _weights(self) -> Tensor:
        return (_WEIGHT_RATE * self.log_weights).exp()


def principal_directions(vectors: Float32, weights: Float32, dim: int) -> Float32:
    """Return (width, at most dim) orthogonal directions in which the weighted vectors differ most."""
    if vectors.shape[1] <= dim:
        return np.eye(vectors.shape[1], dtype=np.float32)
    _, directions = np.linalg.eigh((vectors.T @ (vectors * weights[:, None])).astype(np.float64))  # in rising order
    return np.ascontiguousarray(directions[:, : -dim - 1 : -1], np.float32)


# Vocabulary of the static encoder: words of sentences as rows of a table, and its initial vectors

_UNKNOWN = 0.3  # length of the random vector of a word, against that of a known one


def rows_of(distinct: Sequence[str], table: WordVectors) -> Index:
    """Return the (words,) row of each distinct word in ``table``, −1 for an unknown one."""
    return np.fromiter(map(table.row, distinct), np.int64, len(distinct))


def vocabulary_of(distinct: Sequence[str], words: NumberedTexts, most: int, least: int) -> tuple[list[str], Float32]:
    """Return at most ``most`` words that occur ``least`` times, and the (words,) share of each in the text.

    Words are in lower case, in the order of falling frequency. Raises ``DataError`` if there is none.
    """
    counts: dict[str, int] = {}
    for word, count in zip(distinct, np.bincount(words.ids, minlength=len(distinct)).tolist(), strict=True):
        counts[word.lower()] = counts.get(word.lower(), 0) + count
    frequent = sorted((-count, word) for word, count in counts.items() if count >= least)[:most]
    if not frequent:
        raise DataError(f"No word occurs {least:,} times in the training articles. Use more articles.")
    shares = -np.array([count for count, _ in frequent], np.float64) / len(words.ids)
    return [word for _, word in frequent], shares.astype(np.float32)


def initial_vectors(words: Sequence[str], tables: Sequence[WordVectors]) -> Float32:
    """Return (words, sum of dimensions) vectors of all tables, each with a mean length of 1.

    A word that a table lacks has short random coordinates, so that sentences that share it are a little more similar.
    """
    parts = []
    for table in tables:
        found, known = table.of_words(words)
        lengths = np.linalg.norm(found, axis=1)
        scale = max(float(lengths[known].mean()) if known.any() else float(lengths.mean()), 1e-12)
        parts.append(np.where(known[:, None], found, _UNKNOWN * found) / scale)
    return np.ascontiguousarray(np.concatenate(parts, axis=1), np.float32)


UNKNOWN = "[UNK]"
_MOST_SPELLINGS = 10_000  # of one pattern of digits
_MODIFIER = 0x2BC  # an apostrophe that is a letter: a word of letters is never divided
# The characters of words in Python, and the dot that İ becomes in lower case.
_WORD = r"[\p{L}\p{N}_" + "\u0307]"
_MARKS = r"['\-&@]"
_TOKENS = "|".join(
    [
        rf"\A(?:{'|'.join(map(re.escape, ABBREVIATIONS.split()))})\z",
        r"https?://\S+|www\.\S+",
        r"(?:[\p{L}\p{Nl}\p{No}]\.){2,}",
        rf"[\p{{L}}\p{{N}}](?:[.,:/](?=\p{{Nd}})|{_WORD}|{_MARKS})*",
        r"\.{2,}|-{2,}|''|``|\S",
    ]
)
_PARTS = "|".join(
    [
        r"\Acan(?=not\z)",
        rf"\A(?!.*://).*{_WORD}(?=(?:n't|'(?:s|m|d|ll|re|ve))\z)",
        # A word, and then each of the marks after it; \G continues at the end of the word.
        rf"\G(?:\A(?!.*://)[\p{{L}}\p{{N}}](?:.*[^'\-&@])?(?={_MARKS}+\z)|(?<!\A){_MARKS}(?={_MARKS}*\z))",
    ]
)


def spellings(words: Sequence[str]) -> dict[str, int]:
    """Return every spelling that is looked up as one of ``words``, in lower case, with the index of the word.

    Numbers that are not in the table are looked up with their digits replaced by "0" or "#".
    """
    found = {word: row for row, word in reversed([*enumerate(words)])}  # of duplicates the first counts
    for mark in "0#":
        for row, word in enumerate(words):
            if mark in word and not re.search(r"\d", word.replace(mark, "")):
                for spelling in islice(_with_digits(word, mark), _MOST_SPELLINGS):
                    found.setdefault(spelling, row)
    return found


def _with_digits(word: str, mark: str) -> Iterator[str]:
    """Yield ``word`` with every combination of digits in place of the marks."""
    parts = word.split(mark)
    for digits in product("0123456789", repeat=len(parts) - 1):
        yield parts[0] + "".join(digit + part for digit, part in zip(digits, parts[1:], strict=True))


def tokenizer_of(words: Sequence[str]) -> Any:
    """Return a tokenizer whose id i is ``words[i]``; the last id, ``len(words)``, is that of all other words.

    Raises ``MissingExtraError`` if the package is not installed.
    """
    try:
        from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers
    except ImportError:
        raise MissingExtraError("A folder for sentence-transformers", "tokenizers", "encoder") from None
    made = Tokenizer(models.WordLevel({word: id for id, word in enumerate([*words, UNKNOWN])}, UNKNOWN))
    made.normalizer = normalizers.Sequence(
        [
            normalizers.Replace(Regex(r"[\x1c-\x1f]"), " "),  # white space in Python, but not in Unicode
            *(normalizers.Replace(chr(q), chr(s)) for q, s in STRAIGHT_QUOTES.items() if q != _MODIFIER),
            normalizers.Lowercase(),
        ]
    )
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.WhitespaceSplit(),
            pre_tokenizers.Split(Regex(_TOKENS), "isolated"),
            pre_tokenizers.Split(Regex(_PARTS), "isolated"),
        ]
    )
    return made
