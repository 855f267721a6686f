"""The topic task of Saha et al. 2017 (section 4.1): sentences labelled with the topic of their document.

LexRank selects the most central fifth of each document's sentences, which are labelled with the document's topic. A
fifth of the training documents is held out for validation, also when the final classifiers are trained.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from themescope.core.config import Config, option
from themescope.core.errors import DataError
from themescope.core.protocols import SILENT, Report
from themescope.core.tasks.lexrank import lexrank, ranked
from themescope.core.text.tokens import content_words
from themescope.core.types import Ids, Labels, Matrix, Sentence, fold_title


@dataclass(frozen=True)
class TopicSettings(Config):
    """Settings for labelling sentences and holding out documents; the defaults are the paper's."""

    share: float = option(0.2, "Share of a document's sentences to label, rounded up.", low=0.0, high=1.0)
    min_words: int = option(3, "Minimum number of words, without punctuation, of a sentence.", low=0, high=100)
    threshold: float = option(0.1, "Minimum cosine of connected sentences in LexRank.", low=-1.0, high=1.0)
    centred: bool = option(
        False,
        "Subtract the mean of all vectors before LexRank; otherwise short sentences are central, because they are "
        "closest to the mean.",
    )
    validation: float = option(0.2, "Share of the training documents held out for tuning.", low=0.0, high=0.9)
    seed: int = option(0, "Seed of the choice of held-out documents.", low=0)


@dataclass(frozen=True, slots=True)
class TopicDocument:
    """A document with its topic, its sentences in page order, and its part according to the source."""

    title: str
    topic: str
    part: str
    """"train", "test" or ""; documents without part or topic are ignored."""
    sentences: Sequence[Sentence]


@dataclass(frozen=True, slots=True)
class TopicItems:
    """Labelled sentences; row i of every (n,) array is one of them, in document order."""

    sentences: Ids
    """Ids of the store."""
    articles: Ids
    positions: Ids
    """Index of the sentence in its article."""
    labels: Labels
    """Index into :attr:`TopicTask.topics`."""

    def __len__(self) -> int:
        return len(self.sentences)


@dataclass(frozen=True, slots=True)
class TopicCounts:
    """Sizes of a topic task, in the paper's terms."""

    documents: int
    sentences: int
    """Number of sentences that are long enough, labelled or not."""
    annotated: int
    train: int
    validation: int
    test: int


PUBLISHED: Mapping[str, TopicCounts] = {
    "reuters": TopicCounts(9_001, 42_192, 13_305, 7_738, 1_949, 3_618),
    "newsgroups": TopicCounts(7_781, 95_809, 22_374, 10_594, 2_705, 9_075),
}
"""Table 2 of Saha et al. 2017; validation is the difference there between annotated and train + test."""


@dataclass(frozen=True, slots=True)
class TopicTask:
    """Labelled sentences in three parts, with their topics and counts."""

    topics: tuple[str, ...]
    train: TopicItems
    validation: TopicItems
    test: TopicItems
    counts: TopicCounts

    def clustered(self) -> TopicItems:
        """Return the sentences to cluster: training and test, without the validation documents."""
        return joined([self.train, self.test])


def joined(parts: Sequence[TopicItems]) -> TopicItems:
    """Return the concatenated items of several parts."""
    names = ("sentences", "articles", "positions", "labels")
    return TopicItems(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def topic_task(
    documents: Iterable[tuple[TopicDocument, Matrix]], settings: TopicSettings, report: Report | None = None
) -> TopicTask:
    """Label the sentences of ``documents``, each given with the (n, dim) vectors of its n sentences.

    The vectors only determine the central sentences; the paper uses those of Sen2Vec. Raises :class:`DataError` without
    labelled sentences for training or test, or with fewer than two topics.
    """
    report = report or SILENT
    labelled = []
    for number, (document, vectors) in enumerate(documents, 1):
        report.progress(number, number + 1, f"{number:,} documents labelled")
        labelled.append((document, central(document.sentences, vectors, settings)))
    return assemble(labelled, settings)


def assemble(documents: Iterable[tuple[TopicDocument, Sequence[int]]], settings: TopicSettings) -> TopicTask:
    """Build the task from documents with the indices of their labelled sentences, see :func:`central`.

    Raises the errors of :func:`topic_task`.
    """
    kept = [(document, chosen) for document, chosen in documents if document.topic and document.part]
    topics = tuple(sorted({document.topic for document, _ in kept}))
    held_out = _held_out([document.title for document, _ in kept if document.part == "train"], settings)
    parts: dict[str, list[tuple[TopicDocument, Sequence[int]]]] = {"train": [], "validation": [], "test": []}
    for document, chosen in kept:
        held = document.part == "train" and fold_title(document.title) in held_out
        parts["validation" if held else document.part].append((document, chosen))
    train, validation, test = (_items(parts[name], topics) for name in ("train", "validation", "test"))
    if len(topics) < 2:
        raise DataError(
            f"The documents have {len(topics)} topics, but at least two are needed. Import a corpus whose documents "
            "have topics, such as Reuters-21578 or 20 Newsgroups."
        )
    for items, name in ((train, "training"), (test, "test")):
        if not len(items):
            raise DataError(
                f"No sentence in the {name} part has a topic. The source must mark documents train or test."
            )
    sentences = sum(len(long_enough(document.sentences, settings.min_words)) for document, _ in kept)
    sizes = len(train), len(validation), len(test)
    return TopicTask(topics, train, validation, test, TopicCounts(len(kept), sentences, sum(sizes), *sizes))


def long_enough(sentences: Sequence[Sentence], min_words: int) -> list[int]:
    """Return the indices of the sentences with at least ``min_words`` words."""
    return [i for i, s in enumerate(sentences) if len(content_words(s.text, stemmed=False)) >= min_words]


def central(sentences: Sequence[Sentence], vectors: Matrix, settings: TopicSettings) -> list[int]:
    """Return the indices of the sentences to label, by LexRank among those that are long enough, ascending."""
    if vectors.shape[0] != len(sentences):
        raise DataError(f"A document has {len(sentences)} sentences but {vectors.shape[0]} vectors.")
    usable = long_enough(sentences, settings.min_words)
    number = math.ceil(round(settings.share * len(usable), 9))
    if not number:
        return []
    order = ranked(lexrank(vectors[np.asarray(usable)], threshold=settings.threshold))[:number]
    return sorted(usable[i] for i in order)


def _held_out(titles: Sequence[str], settings: TopicSettings) -> set[str]:
    """Return the folded titles of the share ``settings.validation`` of the documents.

    Titles are ordered by a hash, so that adding or removing a document moves few others.
    """

    def order(title: str) -> bytes:
        return hashlib.blake2b(f"{settings.seed}\0{title}".encode(), digest_size=8).digest()

    return {fold_title(title) for title in sorted(titles, key=order)[: round(settings.validation * len(titles))]}


def _items(documents: Sequence[tuple[TopicDocument, Sequence[int]]], topics: Sequence[str]) -> TopicItems:
    rows = [(document.sentences[i], topics.index(document.topic)) for document, chosen in documents for i in chosen]
    return TopicItems(
        np.array([s.id for s, _ in rows], np.int64),
        np.array([s.article_id for s, _ in rows], np.int64),
        np.array([s.position for s, _ in rows], np.int64),
        np.array([label for _, label in rows], np.int32),
    )
