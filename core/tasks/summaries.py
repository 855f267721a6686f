"""Extractive summaries: sentences by falling score up to a word limit. Cards only; see ``themescope.core.registry``.

Tags: ``vectors`` needs the vectors of the document's sentences; ``baseline`` ignores the content; ``seeded`` depends on
a seed; ``paper`` is a row of the paper's table.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from themescope.core.config import Config, option
from themescope.core.errors import DataError, ReadError
from themescope.core.metrics.statistics import RougeSettings, bootstrap_mean, rouge_1
from themescope.core.readers.jsonl import summary_records
from themescope.core.readers.streams import whole_text
from themescope.core.registry import Card, Registry
from themescope.core.text.languages import content_words
from themescope.core.text.splitting import SentenceSplitter, split_article
from themescope.core.types import SILENT, Estimate, Floats, Ids, Matrix, Model, Report, Sentence

_SJH17 = "Saha et al. 2017, section 4.3"

REGISTRY = Registry(
    "summarizer",
    [
        Card(
            id="lexrank",
            title="LexRank on a model's vectors",
            summary="Extracts the sentences that are most central in the graph of cosines between their vectors.",
            source=f"Erkan and Radev 2004; {_SJH17}",
            factory="themescope.core.tasks.summaries:Lexrank",
            config="themescope.core.tasks.summaries:LexrankConfig",
            tags=frozenset({"vectors", "paper"}),
        ),
        Card(
            id="lexrank-tfidf",
            title="LexRank on Tf-Idf",
            summary="Extracts the sentences that are most central by their shared words.",
            source=f"Erkan and Radev 2004; {_SJH17}",
            factory="themescope.core.tasks.summaries:TfidfLexrank",
            config="themescope.core.tasks.summaries:LexrankConfig",
            tags=frozenset({"paper"}),
        ),
        Card(
            id="lead",
            title="Lead",
            summary="Extracts the first sentences of the document.",
            source="Common baseline; Nenkova 2005",
            factory="themescope.core.tasks.summaries:Lead",
            config="themescope.core.config:Config",
            tags=frozenset({"baseline"}),
        ),
        Card(
            id="random",
            title="Random sentences",
            summary="Extracts sentences in random order.",
            source="Baseline",
            factory="themescope.core.tasks.summaries:RandomOrder",
            config="themescope.core.config:Config",
            tags=frozenset({"baseline", "seeded"}),
        ),
    ],
)


# Extractive summaries: documents, scores of sentences, extraction up to a word limit, and ROUGE-1 over documents

_TEXT = re.compile(r"<TEXT[^>]*>(.*?)</TEXT>", re.S | re.I)
_SUM = re.compile(r"<SUM\b([^>]*)>(.*?)</SUM>", re.S | re.I)
_DOCREF = re.compile(r"""\bDOCREF\s*=\s*["']?([^"'\s>]+)""", re.I)
_TAG = re.compile(r"<[^>]{1,200}>")
_BLANK = re.compile(r"\n\s*\n|</P>", re.I)


@dataclass(frozen=True, slots=True)
class SummaryDocument:
    """Sentences of a document, and its reference summaries."""

    id: str
    title: str
    sentences: tuple[str, ...]
    references: tuple[str, ...]


def read_summary_documents(path: Path, language: str = "en", report: Report = SILENT) -> list[SummaryDocument]:
    """Read a file of JSON lines (``themescope.core.readers.jsonl``) or a folder with documents/ and references/, by id.

    A document without references is kept, because it can be summarised, although not scored. Raises
    :class:`ReadError` for invalid files, and :class:`DataError` if no document has a sentence.
    """
    found = list((_folder if path.is_dir() else _file)(path, SentenceSplitter(language), report))
    if not found:
        raise DataError(f"No document in {path.name!r} has a sentence.")
    return sorted(found, key=lambda document: document.id)


def _file(path: Path, splitter: SentenceSplitter, report: Report) -> Iterator[SummaryDocument]:
    for record in summary_records(path, report):
        if record.article is not None:
            sections = split_article(record.article, splitter).sections
            sentences = tuple(s for section in sections for p in section.paragraphs for s in p.sentences)
            yield SummaryDocument(record.id, record.article.title, sentences, record.references)


def _folder(path: Path, splitter: SentenceSplitter, report: Report) -> Iterator[SummaryDocument]:
    for name in ("documents", "references"):
        if not (path / name).is_dir():
            advice = "Put the documents into documents/ and their summaries into references/."
            raise ReadError(path, f"the folder does not contain a folder {name!r}.", advice=advice)
    files = _files(path / "documents")
    references = _references(path / "references", {_id(file) for file in files})
    for number, file in enumerate(files):
        report.progress(number, len(files), f"{number:,} documents read")
        text = whole_text(file, SILENT, "latin-1")
        inside = " \n\n ".join(_TEXT.findall(text)) or text
        blocks = (" ".join(_TAG.sub(" ", block).split()) for block in _BLANK.split(inside))
        sentences = tuple(sentence for block in blocks for sentence in splitter.split(block))
        if sentences:
            yield SummaryDocument(_id(file), file.name, sentences, tuple(references.get(_id(file), ())))


def _files(folder: Path) -> list[Path]:
    return sorted(f for f in folder.rglob("*") if f.is_file() and not f.name.startswith(".") and f.stat().st_size)


def _id(file: Path) -> str:
    return file.stem if file.suffix.lower() in (".txt", ".sgm", ".sgml", ".xml", ".html") else file.name


def _references(folder: Path, ids: set[str]) -> dict[str, list[str]]:
    """Return document id → summaries. Raises :class:`ReadError` for a file that belongs to no document."""
    found: dict[str, list[str]] = {}
    for file in _files(folder):
        text = whole_text(file, SILENT, "latin-1")
        elements = _SUM.findall(text)
        for attributes, inner in elements:
            named = _DOCREF.search(attributes)
            if named:
                found.setdefault(named.group(1), []).append(" ".join(_TAG.sub(" ", inner).split()))
        if not elements:
            id = next((i for i in sorted(ids, key=len, reverse=True) if f"{_id(file)}.".startswith(f"{i}.")), None)
            if id is None:
                advice = "Name it after its document, such as d061j.txt or d061j.A.txt."
                raise ReadError(file, "this summary belongs to no document.", advice=advice)
            found.setdefault(id, []).append(" ".join(text.split()))
    return found


@dataclass(frozen=True)
class LexrankConfig(Config):
    """Settings of LexRank; the defaults are those of Saha et al. 2017."""

    threshold: float = option(0.1, "Minimum cosine of connected sentences.", low=-1.0, high=1.0)
    damping: float = option(0.85, "Probability that the random walk follows an edge.", low=0.0, high=0.999)


class Summarizer:
    """Base of the summarizers."""

    def __init__(self, config: Any) -> None:
        self.config = config


class Lexrank(Summarizer):
    """Centrality by the cosines of given vectors."""

    def scores(self, sentences: Sequence[str], vectors: Matrix | None, seed: int) -> Floats:
        """Return (n,) scores of n sentences with (n, dim) vectors."""
        if vectors is None or vectors.shape[0] != len(sentences):
            raise DataError("LexRank needs one vector for every sentence of the document.")
        return lexrank(vectors, self.config.threshold, self.config.damping)


class TfidfLexrank(Summarizer):
    """Centrality by shared words, with inverse document frequency within the document."""

    def scores(self, sentences: Sequence[str], vectors: Matrix | None, seed: int) -> Floats:
        """Return (n,) scores; ``vectors`` are ignored."""
        return lexrank(tfidf_lexrank_vectors(sentences), self.config.threshold, self.config.damping)


class Lead(Summarizer):
    """The first sentences of a document."""

    def scores(self, sentences: Sequence[str], vectors: Matrix | None, seed: int) -> Floats:
        """Return (n,) scores that fall from the first sentence to the last; they sum to 1."""
        falling = np.arange(len(sentences), 0, -1, dtype=np.float64)
        return np.asarray(falling / max(falling.sum(), 1.0), np.float64)


class RandomOrder(Summarizer):
    """Sentences in random order, as a baseline."""

    def scores(self, sentences: Sequence[str], vectors: Matrix | None, seed: int) -> Floats:
        """Return (n,) random scores; they sum to 1."""
        drawn = np.random.default_rng(seed).permutation(len(sentences)) + 1.0
        return np.asarray(drawn / max(drawn.sum(), 1.0), np.float64)


MEASURES = ("recall", "precision", "f1")


@dataclass(frozen=True, slots=True)
class Summary:
    """An extract: its text, and the positions of its sentences, best first (the last one may be cut)."""

    text: str
    positions: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SummaryScores:
    """ROUGE-1 of many summaries; row i of each (n,) array is document ``ids[i]``."""

    ids: tuple[str, ...]
    values: dict[str, Floats]
    """Values by name of :data:`MEASURES`."""
    means: dict[str, Estimate]
    """With 95 % intervals over documents."""


def extract(sentences: Sequence[str], scores: Floats, words: int = 100) -> Summary:
    """Concatenate sentences by falling score (ties by position) up to ``words`` whitespace words; 0 sets no limit.

    Raises :class:`DataError` if sentences and scores differ in number.
    """
    if len(sentences) != len(scores):
        raise DataError(f"There are {len(sentences)} sentences but {len(scores)} scores.")
    text: list[str] = []
    positions: list[int] = []
    for position in ranked(scores):
        if words and len(text) >= words:
            break
        own = sentences[position].split()
        text += own[: words - len(text)] if words else own
        positions.append(int(position))
    return Summary(" ".join(text), tuple(positions))


def score_summaries(
    documents: Sequence[SummaryDocument], summaries: Sequence[str], settings: RougeSettings, seed: int = 0
) -> SummaryScores:
    """Return ROUGE-1 of the ``summaries`` of ``documents``, without documents that have no references.

    Raises :class:`DataError` if no document has references.
    """
    judged = [(d, text) for d, text in zip(documents, summaries, strict=True) if d.references]
    if not judged:
        raise DataError("No document has a reference summary to compare with.")
    counts = [rouge_1(text, document.references, settings) for document, text in judged]
    values = {name: np.array([getattr(c, name) for c in counts], np.float64) for name in MEASURES}
    means = {name: bootstrap_mean(column, seed=seed) for name, column in values.items()}
    return SummaryScores(tuple(d.id for d, _ in judged), values, means)


_BLOCK = 4_096  # sentences embedded at once
Numbered = tuple[int, SummaryDocument]
"""A document with its position among all documents."""


def document_groups(documents: Sequence[SummaryDocument]) -> Iterator[list[Numbered]]:
    """Yield groups of documents with about 4,096 sentences, which are embedded at once."""
    group: list[Numbered] = []
    sentences = 0
    for number, document in enumerate(documents):
        group.append((number, document))
        sentences += len(document.sentences)
        if sentences >= _BLOCK:
            yield group
            group, sentences = [], 0
    if group:
        yield group


@dataclass(frozen=True)
class Summarize:
    """Function from a model, or None for a ranker without vectors, and a group of documents to their extracts.

    An extract has at most ``words`` words. Document i is ranked with seed ``seed + i``.
    """

    ranker: Any
    words: int
    seed: int

    def __call__(self, model: Model | None, group: Sequence[Numbered]) -> list[Summary]:
        """Return the extracts."""
        vectors: Any = None
        if model is not None:
            # Each document is an article of its own, which is in no store.
            listed = ((i, text, -2 - number) for number, document in group for i, text in enumerate(document.sentences))
            vectors = model.embed([Sentence(text, article_id=id, position=i) for i, text, id in listed])
        found, start = [], 0
        for number, document in group:
            own = None if vectors is None else vectors[start : start + len(document.sentences)]
            start += len(document.sentences)
            scores: Floats = np.asarray(self.ranker.scores(document.sentences, own, self.seed + number), np.float64)
            found.append(extract(document.sentences, scores, self.words))
        return found


# LexRank: centrality of the sentences of a document (Erkan and Radev 2004)

MOST_SENTENCES = 5_000
"""Most sentences of a document: their cosines take 200 MB, and four times as much while they are counted."""
_ITERATIONS = 1_000  # a damping of .85 reduces the change by this factor, so that 1e-6 takes 85 iterations
_DIGITS = 9  # scores that are equal to this precision are tied, because rounding errors are larger


def lexrank(vectors: Matrix, threshold: float = 0.1, damping: float = 0.85, tolerance: float = 1e-6) -> Floats:
    """Return (n,) scores of the sentences with (n, dim) ``vectors``; they sum to 1.

    The weight of an edge is the cosine, if it is at least ``threshold``; sentences are connected to themselves as well.
    From a sentence without other edges the walk continues anywhere, so that it gets the teleport score; otherwise it
    would keep the mean 1/n. The iteration ends when the sum of changes is below ``tolerance``. Raises
    :class:`DataError` for numbers that are not finite, and for more than :data:`MOST_SENTENCES` sentences.
    """
    if vectors.shape[0] > MOST_SENTENCES:
        raise DataError(
            f"LexRank compares every sentence with every other one: {vectors.shape[0]:,} sentences are too many, the "
            f"most are {MOST_SENTENCES:,}. Give it the documents one by one, or a sample."
        )
    weights = _cosines(vectors)
    n = len(weights)
    if n == 0:
        return np.empty(0)
    weights[weights < threshold] = 0.0
    loose = np.count_nonzero(weights, axis=1) <= np.count_nonzero(weights.diagonal()[:, None], axis=1)
    weights[loose] = 0.0
    steps = (weights / np.where(loose, 1.0, weights.sum(axis=1))[:, None]).T
    scores = np.full(n, 1.0 / n)
    for _ in range(_ITERATIONS):
        moved = damping * (steps @ scores + scores[loose].sum() / n) + (1.0 - damping) / n
        change = np.abs(moved - scores).sum()
        scores = moved
        if change < tolerance:
            break
    return np.asarray(scores / scores.sum(), np.float64)


def ranked(scores: Floats) -> Ids:
    """Return the (n,) positions of the sentences, most central first; ties by position."""
    return np.argsort(-np.round(np.asarray(scores, np.float64), _DIGITS), kind="stable").astype(np.int64)


def tfidf_lexrank_vectors(sentences: Sequence[str]) -> sparse.csr_array:
    """Return (n, words) weights of the stemmed words of a document's sentences, for the Tf-Idf LexRank of Saha et al.

    The count of a word is divided by the largest count in its sentence and multiplied by ln(n / (1 + df)), with df
    counted within the document, so that the weight of a word in n - 1 or n sentences is 0 or less.
    """
    counts = [Counter(content_words(sentence)) for sentence in sentences]
    found = Counter(word for words in counts for word in words)
    columns = {word: column for column, word in enumerate(found)}
    idf = {word: math.log(len(sentences) / (1 + df)) for word, df in found.items()}
    data = [count / max(words.values()) * idf[word] for words in counts for word, count in words.items()]
    places = [columns[word] for words in counts for word in words]
    starts = np.cumsum([0, *(len(words) for words in counts)])
    return sparse.csr_array((data, places, starts), shape=(len(sentences), len(columns)), dtype=np.float64)


def _cosines(vectors: Matrix) -> Floats:
    """Return the (n, n) cosines in float64; those of zero rows are 0."""
    if sparse.issparse(vectors):
        rows = sparse.csr_array(vectors, dtype=np.float64)
        dense = np.asarray((rows @ rows.T).todense(), np.float64)
    else:
        given = np.asarray(vectors, np.float64)
        dense = given @ given.T
    if not np.isfinite(dense).all():
        raise DataError("A vector contains a value that is not finite. Embed the sentences again.")
    norms = np.sqrt(np.maximum(dense.diagonal(), 0.0))
    norms[norms == 0.0] = 1.0
    return np.asarray(dense / norms[:, None] / norms[None, :], np.float64)
