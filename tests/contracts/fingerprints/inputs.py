"""Tiny fixed inputs: vectors by integer arithmetic, and articles of invented sentences."""

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from themescope.core.text.splitting import SentenceSplitter, split_article
from themescope.core.triplets.rules import ArticleSentences, positioned
from themescope.core.types import Article, Corpus, Labels, Paragraph, Section, Sentence, Split, TripletTexts

Floats = npt.NDArray[np.float64]

NOUNS = ("river", "market", "king", "engine", "song", "island", "army", "school")
VERBS = ("was built", "was lost", "grew", "was sold", "came back", "was seen")


def fixed(rows: int, columns: int, seed: int = 0) -> Floats:
    """Return (rows, columns) numbers of -0.5…0.5.

    They are made by integer arithmetic alone, so that they are the same on every processor and with every numpy.
    """
    i, j = np.indices((rows, columns)).astype(np.uint64)
    mixed = (i * np.uint64(7919) + j * np.uint64(104_729) + np.uint64(seed * 1_299_709 + 12_345)) * np.uint64(
        2_654_435_761
    )
    mixed ^= mixed >> np.uint64(15)
    return ((mixed * np.uint64(2_246_822_519)) % np.uint64(1 << 32)).astype(np.float64) / 2**32 - 0.5


def partition(labels: Labels) -> str:
    """Return the labels as text, clusters numbered in order of first appearance."""
    numbers: dict[int, int] = {}
    return " ".join(str(numbers.setdefault(label, len(numbers))) for label in labels.tolist())


def upper(square: Any) -> list[float]:
    dense = np.asarray(square.toarray() if hasattr(square, "toarray") else square, dtype=np.float64)
    return [float(value) for value in dense[np.triu_indices(len(dense))]]


def numbers(values: Iterable[Any]) -> list[float]:
    return [float(value) for value in values]


def article(number: int) -> Article:
    """An article of a lead and six sections with three paragraphs of two sentences each."""

    def text(section: int, paragraph: int, sentence: int) -> str:
        noun, other = NOUNS[(number + section) % 8], NOUNS[(number * 3 + section + paragraph) % 8]
        verb = VERBS[(number + paragraph + sentence) % 6]
        return f"The {noun} of year {number * 7 + section} {verb} near the old {other} in part {paragraph}."

    def paragraph(section: int, number_: int) -> Paragraph:
        return Paragraph(" ".join(text(section, number_, sentence) for sentence in range(2)))

    sections = [Section("", 1, (paragraph(0, 0),))]
    for s in range(1, 7):
        title = f"{NOUNS[s]} and {NOUNS[(s + number) % 8]}".capitalize()
        sections.append(Section(title, 2, tuple(paragraph(s, p) for p in range(3)), (title,)))
    return Article(f"Article {number}", tuple(sections))


@cache
def articles() -> tuple[ArticleSentences, ...]:
    """Twelve split articles of all three splits, with ids."""
    splitter = SentenceSplitter("en")
    return tuple(positioned(split_article(article(i), splitter), i + 1, i * 1_000, i * 100) for i in range(12))


def sentences() -> list[Sentence]:
    """Ten sentences of two articles, one without words and one of unknown words."""
    texts = [s.text for found in articles()[:2] for s in found.sentences[:4]]
    texts[2:2] = ["", "Zyxwv qrst."]
    return [Sentence(t, id=i, article_id=1 + i // 6, section=i % 3, position=i % 6) for i, t in enumerate(texts)]


def corpus() -> Corpus:
    """The ten sentences, triplets of them, and the sections of four articles."""
    texts = [s.text for s in sentences() if s.text]
    rows = [(a, b, c) for a in range(4) for b in range(4) if a != b for c in (5, 6 + (a + b) % 3)]
    pivots, positives, negatives = ([texts[row[part]] for row in rows] for part in range(3))
    triplets = TripletTexts(pivots, positives, negatives, np.arange(len(rows)) // 5)
    splits = (Split.TRAIN, Split.VALIDATION)
    sections = [s for found in articles()[:4] for s in found.sentences]
    return Corpus("tiny", "en", sentences(), dict.fromkeys(splits, triplets), dict.fromkeys(splits, sections))
