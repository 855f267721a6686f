"""Articles with their true sections and vectors, the input of simulations of labellers."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from themescope.core.paths import DEFAULT
from themescope.core.sentence_model import load
from themescope.core.tasks.scb import ScbRules, build_scb
from themescope.core.text.splitting import SentenceSplitter
from themescope.core.triplets.rules import ArticleSentences, positioned
from themescope.core.types import Article, Paragraph, Section, Split, split_of_title

_APART = 100_000
"""Distance of the first sentence ids of consecutive articles."""


@dataclass(frozen=True, slots=True, eq=False)
class SectionArticle:
    """One article: (n, dim) float32 ``vectors`` of its n ``texts``, and the (n,) ``truth``, their sections."""

    title: str
    vectors: npt.NDArray[np.float32]
    truth: npt.NDArray[np.int32]
    texts: tuple[str, ...]


def section_articles(
    files: Sequence[Path], split: Split, count: int, model: str = DEFAULT, cache: Path | None = None, seed: int = 0
) -> list[SectionArticle]:
    """Return ``count`` articles of a split that qualify for the clustering benchmark, from compressed JSON lines.

    With ``cache`` (a .npz file), they are read from there if it exists, and written to it otherwise.
    """
    if cache is not None and cache.exists():
        return _read(cache)
    splitter, encoder = SentenceSplitter("en"), load(model).fitted
    records = (record for record in _lines(files) if split_of_title(record["title"]) is split)
    known = {article.article_id: article for article in _positioned(records, splitter)}
    items, _ = build_scb(known.values(), ScbRules(max_articles=count), seed, (split,))
    found = []
    for item in items:
        article = known[item.article_id]
        rows = item.sentence_ids - article.sentences[0].id
        # Whole articles, because some models use the sentences around.
        x = np.asarray(encoder.embed(article.sentences), np.float32)[rows]
        texts = tuple(article.sentences[row].text for row in rows.tolist())
        found.append(SectionArticle(article.title, x, item.truth, texts))
    if cache is not None:
        _write(cache, found)
    return found


def _lines(files: Iterable[Path]) -> Iterator[dict[str, Any]]:
    for file in files:
        with lzma.open(file, "rt", encoding="utf-8") as lines:
            yield from map(json.loads, lines)


def _positioned(records: Iterable[dict[str, Any]], splitter: SentenceSplitter) -> Iterator[ArticleSentences]:
    for number, record in enumerate(records):
        sections = tuple(
            Section(s["title"], s["level"], tuple(Paragraph(p, tuple(splitter.split(p))) for p in s["paragraphs"]))
            for s in record["sections"]
        )
        yield positioned(Article(record["title"], sections), number, number * _APART)


def _write(cache: Path, articles: Sequence[SectionArticle]) -> None:
    sizes = np.array([len(a.truth) for a in articles])
    titles = np.array([a.title for a in articles])
    np.savez(cache, titles=titles, sizes=sizes, vectors=np.concatenate([a.vectors for a in articles]),
             truth=np.concatenate([a.truth for a in articles]),
             texts=np.array([text for a in articles for text in a.texts]))  # fmt: skip


def _read(cache: Path) -> list[SectionArticle]:
    with np.load(cache, allow_pickle=False) as file:
        ends = np.cumsum(file["sizes"])[:-1]
        columns = (np.split(file[name], ends) for name in ("vectors", "truth", "texts"))
        parts = zip(file["titles"], *columns, strict=True)
        return [SectionArticle(str(title), x, truth, tuple(texts.tolist())) for title, x, truth, texts in parts]
