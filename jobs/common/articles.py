"""Stored articles as input of samplers, benchmark builders and training."""

from __future__ import annotations

import hashlib
import subprocess
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property
from importlib import metadata
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from themescope.core.config import digest_of
from themescope.core.errors import ConfigError, DataError
from themescope.core.records.stored import ArticleRecord, CorpusRecord, RunRecord, ScoreRecord
from themescope.core.registry import Card
from themescope.core.triplets.rules import ArticleSentences, SectionRules, section_sentences
from themescope.core.types import Article, Estimate, Ids, Sentence, Split, fold_title
from themescope.db.store import Store
from themescope.jobs.common.import_shards import article_digest

_SAMPLE_SEED = 0


def ready_corpus(store: Store, name: str) -> CorpusRecord:
    """Return the corpus called ``name``; raise ``DataError`` while it is being imported."""
    with store.reading() as r:
        corpus = r.corpora.by_name(name)
    if not corpus.ready:
        raise DataError(f"Project {name!r} is still being imported. Wait for its import to end.")
    return corpus


def splits_of(names: Sequence[str]) -> tuple[Split, ...]:
    """Return splits by name, in the order train, validation, test."""
    unknown = sorted(set(names) - {s.value for s in Split})
    if unknown or not names:
        what = f"not {unknown[0]!r}" if unknown else "and at least one is needed"
        raise ConfigError(f"Splits are train, validation and test, {what}.")
    return tuple(split for split in Split if split.value in names)


def titles_of(store: Store, corpora: Sequence[str]) -> frozenset[str]:
    """Return the titles of all articles of the named corpora, folded as for splitting."""
    folded: set[str] = set()
    for name in corpora:
        corpus = ready_corpus(store, name)
        with store.reading() as r:
            titles = (article.title for article in r.corpora.articles(corpus.id, limit=corpus.articles))
            folded.update(map(fold_title, titles))
    return frozenset(folded)


def sampled_articles(articles: Sequence[ArticleRecord], most: int) -> list[ArticleRecord]:
    """Return whole articles, drawn at random, with at most ``most`` sentences, in the given order; 0 for all articles.

    The same articles are drawn every time, so that vectors, themes and map of a large corpus are of the same
    sentences. At least one article is returned, also if it is longer.
    """
    if not most or sum(a.sentences for a in articles) <= most:
        return list(articles)
    order = np.random.default_rng(_SAMPLE_SEED).permutation(len(articles))
    sizes = np.cumsum([articles[i].sentences for i in order])
    return [articles[i] for i in sorted(order[: max(int(np.searchsorted(sizes, most, "right")), 1)])]


class StoredArticles:
    """The articles of a corpus in store order, a few hundred in memory at a time; can be iterated again.

    Articles whose folded title is in ``without`` are skipped.
    """

    def __init__(
        self,
        store: Store,
        corpus: CorpusRecord,
        splits: Sequence[Split] | None = None,
        without: frozenset[str] = frozenset(),
    ) -> None:
        self._store, self._corpus, self._splits, self._without = store, corpus, splits, without
        self.titles: list[str] = []
        """Titles read in the last iteration."""

    def __length_hint__(self) -> int:
        return self._corpus.articles

    def __iter__(self) -> Iterator[ArticleSentences]:
        self.titles = []
        with self._store.reading() as r:
            for article, sections, sentences in r.corpora.iterate(self._corpus.id, splits=self._splits):
                if fold_title(article.title) in self._without:
                    continue
                self.titles.append(article.title)
                yield ArticleSentences(article.id, article.title, article.bucket, tuple(sections), tuple(sentences))


class StoredSentences(Sequence[Sentence]):
    """Sentences of the articles of a corpus for training, read on first access. Subclasses select them."""

    def __init__(self, articles: StoredArticles, corpus: CorpusRecord) -> None:
        self._articles, self._corpus = articles, corpus

    @abstractmethod
    def _of(self, article: ArticleSentences) -> Iterable[Sentence]:
        """Return the sentences of an article to learn from."""

    @abstractmethod
    def _missing(self) -> str:
        """Return the message of the error that no sentences are found."""

    @cached_property
    def _sentences(self) -> list[Sentence]:
        found = [sentence for article in self._articles for sentence in self._of(article)]
        if not found:
            raise DataError(self._missing())
        return found

    @property
    def titles(self) -> list[str]:
        """Titles of the articles that were read; empty if the method read none."""
        return self._articles.titles

    def __len__(self) -> int:
        return len(self._sentences)

    @overload
    def __getitem__(self, index: int) -> Sentence: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Sentence]: ...
    def __getitem__(self, index: int | slice) -> Sentence | Sequence[Sentence]:
        return self._sentences[index]


class TrainingSentences(StoredSentences):
    """All sentences of the training split, or of ``everything``."""

    def __init__(self, store: Store, corpus: CorpusRecord, everything: bool = False) -> None:
        super().__init__(StoredArticles(store, corpus, None if everything else (Split.TRAIN,)), corpus)

    def _of(self, article: ArticleSentences) -> Iterable[Sentence]:
        return article.sentences

    def _missing(self) -> str:
        return (
            f"Corpus {self._corpus.name!r} has no article in the training split, which titles decide (80 % of them). "
            "Import more articles."
        )


class SectionSentences(StoredSentences):
    """Sentences of the sections of one split that triplets may come from, see :class:`SectionRules`."""

    def __init__(self, store: Store, corpus: CorpusRecord, split: Split, without: frozenset[str] = frozenset()) -> None:
        super().__init__(StoredArticles(store, corpus, (split,), without), corpus)
        self._split = split

    def _of(self, article: ArticleSentences) -> Iterable[Sentence]:
        return section_sentences(article, SectionRules())

    def _missing(self) -> str:
        return (
            f"Corpus {self._corpus.name!r} has no article with sections in the {self._split} split, which titles "
            "decide. Import more articles."
        )


# Digests that identify stored results, and runs as the results of jobs


@cache
def code_version() -> str:
    """Return the version of the installed package, or "source"."""
    try:
        return metadata.version("themescope")
    except metadata.PackageNotFoundError:
        return "source"


def code_revision() -> str:
    """Return the commit of the checkout that this code is, or ""."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return ""
    command = ["git", "-C", str(root), "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def work_digest(kind: Card, /, *parts: Card, **inputs: Any) -> str:
    """Return the digest of the result of a job.

    ``kind`` is the card of the job kind and ``parts`` are those of the implementations it uses (models, clusterers,
    metrics …): a new revision of any of them gives a new digest. ``inputs`` are JSON values.
    """
    cards = [[card.id, card.revision] for card in (kind, *parts)]
    return digest_of({"cards": cards, **inputs})


def file_digest(path: Path) -> str:
    """Return the digest of the bytes of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def folder_digest(path: Path) -> str:
    """Return the digest of the files in a folder, independent of its name; of a file, that of its bytes."""
    if not path.is_dir():
        return file_digest(path)
    return digest_of([[file.name, file_digest(file)] for file in sorted(path.iterdir()) if file.is_file()])


def tree_digest(path: Path) -> str:
    """Return the digest of all files below a folder with their relative paths; of a file, that of its bytes."""
    if not path.is_dir():
        return file_digest(path)
    files = sorted(file for file in path.rglob("*") if file.is_file())
    return digest_of([[file.relative_to(path).as_posix(), file_digest(file)] for file in files])


class TextDigest:
    """Digest of the text of a corpus, independent of the order of its articles."""

    def __init__(self, language: str) -> None:
        self._language = language
        self._articles: list[bytes] = []

    def add(self, article: Article) -> None:
        """Add an article, of which 16 bytes are stored."""
        self.extend([article_digest(article)])

    def extend(self, digests: Iterable[bytes]) -> None:
        """Add articles by their digests."""
        self._articles.extend(digests)

    def __str__(self) -> str:
        total = hashlib.blake2b(self._language.encode("utf-8"), digest_size=8)
        for article in sorted(self._articles):
            total.update(article)
        return total.hexdigest()


def find_run(store: Store, digest: str) -> RunRecord | None:
    """Return the stored run with that digest, if any."""
    with store.reading() as r:
        return r.runs.by_digest(digest)


def run_result(store: Store, run: RunRecord, cached: bool, **about: Any) -> dict[str, Any]:
    """Return the result of a job that made or found a run: its id, ``about``, digest, duration and scores."""
    return {
        "run_id": run.id,
        **about,
        "digest": run.digest,
        "cached": cached,
        "seconds": round(run.seconds, 3),
        "scores": estimates(store, run.id),
    }


def estimates(store: Store, run_id: int) -> dict[str, dict[str, Any]]:
    """Return the means of a run by metric as JSON values."""
    with store.reading() as r:
        rows = r.runs.scores([run_id])
    return {row.metric: {"value": row.value, "low": row.low, "high": row.high, "n": row.n} for row in rows}


def total(metric: str, estimate: Estimate) -> ScoreRecord:
    """Return the score row of a mean with its interval."""
    return ScoreRecord(0, None, metric, estimate.value, estimate.low, estimate.high, estimate.n)


def article_means(metric: str, articles: Ids, values: npt.ArrayLike) -> Iterator[ScoreRecord]:
    """Yield the score row of each article: the mean of ``values`` (n,) over its items; ``articles`` is (n,)."""
    ids, places, counts = np.unique(articles, return_inverse=True, return_counts=True)
    means = np.bincount(places, weights=np.asarray(values, dtype=np.float64)) / counts
    for article, mean, n in zip(ids, means, counts, strict=True):
        yield ScoreRecord(0, int(article), metric, float(mean), n=int(n))
