"""Rules of triplet sampling (Ein Dor et al. 2018, section 3), and their application to the sections of an article.

The settings cover the cases that the paper leaves open.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from themescope.core.compute import GOLDEN, mix
from themescope.core.config import Config, option
from themescope.core.errors import ConfigError
from themescope.core.types import Article, SectionRecord, Sentence, Split, fold_title, split_of_bucket, title_bucket

BACKGROUND = frozenset({"background"})
BACK_MATTER = frozenset(
    {"external links", "further reading", "references", "see also", "notes", "citations", "authored books"}
)
EXTENDED_BACK_MATTER = frozenset(
    {"bibliography", "sources", "footnotes", "gallery", "publications", "discography", "filmography"}
)
PROFILES: dict[str, tuple[int | None, int | None]] = {
    "paper-like": (1, 4),
    "max-signal": (3, None),
    "all": (None, None),
}
"""Caps of a profile: (pairs per section, triplets per article); None is no cap."""


@dataclass(frozen=True, slots=True)
class ArticleSentences:
    """A stored article split into sentences, the input of samplers and benchmark builders.

    ``sections`` are in page order and ``sections[i].position`` is i; ``sentences`` are in article order and
    refer to sections by that position.
    """

    article_id: int
    title: str
    bucket: int
    sections: tuple[SectionRecord, ...]
    sentences: tuple[Sentence, ...]

    @property
    def split(self) -> Split:
        """Split of the article, by the hash of its title."""
        return split_of_bucket(self.bucket)


def fold(text: str) -> str:
    """Return ``text`` case-folded and with single spaces, for comparing titles and sentences."""
    return " ".join(text.casefold().split())


def token_count(text: str) -> int:
    """Return the number of whitespace-separated tokens, as counted by rule (ii); networks tokenise differently."""
    return len(text.split())


def positioned(
    article: Article, article_id: int = 0, first_sentence_id: int = 0, first_section_id: int = 0
) -> ArticleSentences:
    """Return a split article with consecutive ids from the given ones, for use without a store."""
    sections = tuple(
        SectionRecord(first_section_id + i, article_id, i, s.level, s.title, s.path)
        for i, s in enumerate(article.sections)
    )
    sentences: list[Sentence] = []
    for i, section in enumerate(article.sections):
        for j, paragraph in enumerate(section.paragraphs):
            for k, text in enumerate(paragraph.sentences):
                at = len(sentences)
                sentences.append(Sentence(text, first_sentence_id + at, article_id, i, j, at, k == 0))
    return ArticleSentences(article_id, article.title, title_bucket(article.title), sections, tuple(sentences))


@dataclass(frozen=True)
class SectionRules(Config):
    """Rules for eligible sections and sentences, shared by triplets and the clustering benchmark."""

    sections: str = option(
        "flattened",
        "flattened: every heading starts a section. top: subsections are merged into the top-level section above them.",
        choices=("flattened", "top"),
    )
    drop_first: str = option(
        "lead",
        "First section that rule (iii) drops: the text before the first heading, or also the first titled section.",
        choices=("lead", "lead+first_titled"),
    )
    extended_drop: bool = option(
        False,
        "Also drop Bibliography, Sources, Footnotes, Gallery, Publications, Discography and Filmography (not in the "
        "paper).",
    )
    min_tokens: int = option(5, "Minimum length of a sentence, rule (ii).", low=1, unit="tokens")
    max_tokens: int = option(50, "Maximum length of a sentence, rule (ii).", low=1, unit="tokens")
    min_sections: int = option(5, "Minimum number of remaining sections of an article, rule (v).", low=2)

    def validate(self) -> None:
        """Reject a maximum length below the minimum length."""
        if self.max_tokens < self.min_tokens:
            raise ConfigError(
                f"{self.named('max_tokens')} is {self.max_tokens} and {self.named('min_tokens')} is {self.min_tokens}: "
                "no sentence would remain."
            )


@dataclass(frozen=True)
class TripletRules(SectionRules):
    """Settings of a triplet set. The defaults are the paper's rules with about the paper's number of triplets."""

    renamed: ClassVar[Mapping[str, str]] = {"third": "negative"}

    max_paragraph_distance: int = option(
        3, "Maximum distance between the paragraphs of a pair, rule (i).", low=1, high=100, unit="paragraphs"
    )
    negative: str = option(
        "adjacent",
        "Source of negatives: the previous and next section, any other section of the same article, or another article "
        "of the same split.",
        choices=("adjacent", "same_article", "random_article"),
    )
    openers_only: bool = option(
        True,
        "Use only sentences that open a paragraph, rule (i) of the paper. Otherwise use every sentence, so that "
        "training data resemble the clustered sentences; a cap on pairs is then advisable.",
    )
    title_pivots: str = option(
        "first",
        "Pivots of title triplets. first: the sentence that opens the section, as in the paper; all: every sentence "
        "of rule (i), which gives about three times as many triplets.",
        choices=("first", "all"),
    )
    profile: str = option(
        "paper-like",
        "Caps: paper-like allows 1 pair per section and 4 triplets per article, max-signal 3 pairs per section, all "
        "has no caps.",
        choices=tuple(PROFILES),
    )
    pairs_per_section: int | None = option(
        None, "Maximum number of pairs per section; empty uses the profile.", low=1, unit="pairs"
    )
    triplets_per_article: int | None = option(
        None, "Maximum number of triplets per article; empty uses the profile.", low=1, unit="triplets"
    )

    def caps(self) -> tuple[int | None, int | None]:
        """Return the caps in effect, (pairs per section, triplets per article); None is no cap."""
        pairs, triplets = PROFILES[self.profile]
        return (
            pairs if self.pairs_per_section is None else self.pairs_per_section,
            triplets if self.triplets_per_article is None else self.triplets_per_article,
        )


TOP_LEVEL = 2


@dataclass(frozen=True, slots=True)
class KeptSection:
    """A remaining section, with the sentences of the subsections that were merged into it.

    ``paragraphs[i]`` is the index of the paragraph of ``sentences[i]``, counted through all merged parts.
    """

    record: SectionRecord
    sentences: list[Sentence] = field(default_factory=list)
    paragraphs: list[int] = field(default_factory=list)


def kept_sections(article: ArticleSentences, rules: SectionRules, dropped: Counter[str]) -> list[KeptSection]:
    """Return the non-empty sections after rules (iii) and (iv), merged if configured; ``dropped`` counts by rule.

    The caller checks whether enough sections remain (rule v).
    """
    own: list[list[Sentence]] = [[] for _ in article.sections]
    for sentence in article.sentences:
        own[sentence.section].append(sentence)
    kept: list[KeptSection] = []
    for record in _admitted(article.sections, rules, dropped):
        # A subsection without a top-level heading above it is a section of its own.
        if rules.sections == "top" and kept and record.level > max(TOP_LEVEL, kept[-1].record.level):
            dropped["merged"] += 1
        else:
            kept.append(KeptSection(record))
        section = kept[-1]
        offset = section.paragraphs[-1] + 1 if section.paragraphs else 0
        section.sentences.extend(own[record.position])
        section.paragraphs.extend(offset + s.paragraph for s in own[record.position])
    filled = [section for section in kept if section.sentences]
    dropped["empty"] += len(kept) - len(filled)
    return filled


def length_rule(sentence: Sentence, rules: SectionRules) -> str:
    """Return the name of the violated length limit of rule (ii), or ""."""
    tokens = token_count(sentence.text)
    if tokens < rules.min_tokens:
        return "too_short"
    return "too_long" if tokens > rules.max_tokens else ""


def eligible(
    section: KeptSection, rules: SectionRules, dropped: Counter[str], *, openers_only: bool = True
) -> list[tuple[Sentence, int]]:
    """Return the sentences that pass rules (i) and (ii), each with the index of its paragraph.

    With ``openers_only`` a paragraph whose first sentence fails has no eligible sentence.
    """
    found: list[tuple[Sentence, int]] = []
    for sentence, paragraph in zip(section.sentences, section.paragraphs, strict=True):
        reason = length_rule(sentence, rules) if sentence.opens_paragraph or not openers_only else "not_opening"
        if reason:
            dropped[reason] += 1
        else:
            found.append((sentence, paragraph))
    return found


def _admitted(sections: Sequence[SectionRecord], rules: SectionRules, dropped: Counter[str]) -> list[SectionRecord]:
    """Return the sections that pass rules (iii) and (iv); subsections of a dropped section are dropped too."""
    admitted: list[SectionRecord] = []
    back_matter = BACK_MATTER | EXTENDED_BACK_MATTER if rules.extended_drop else BACK_MATTER
    below: int | None = None  # level of the current dropped section
    first_titled = rules.drop_first == "lead+first_titled"
    for record in sections:
        if record.position == 0 and not record.title.strip():  # the text before the first heading
            dropped["lead"] += 1
            continue
        if below is not None and record.level > below:
            dropped["inside_dropped"] += 1
            continue
        title = fold(record.title)
        if first_titled or title in BACKGROUND:
            reason = "first_titled" if first_titled else "background"
        else:
            reason = "back_matter" if title in back_matter else ""
        first_titled = False
        below = record.level if reason else None
        if reason:
            dropped[reason] += 1
        else:
            admitted.append(record)
    return admitted


def section_sentences(article: ArticleSentences, rules: SectionRules) -> list[Sentence]:
    """Return the sentences of all lengths that rule (ii) allows, of the sections that rules (iii) and (iv) keep.

    The section of a sentence is the number of the kept section it belongs to, so that merged sections are one. The
    caller checks whether enough sections remain (rule v).
    """
    return [
        replace(sentence, section=number)
        for number, section in enumerate(kept_sections(article, rules, Counter()))
        for sentence in section.sentences
        if not length_rule(sentence, rules)
    ]


# Triplets of a single article, drawn by hashes

Keys = npt.NDArray[np.uint64]
Indices = npt.NDArray[np.int64]


def text_key(text: str) -> int:
    """Return the 64-bit hash of a text."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")


def article_key(title: str, seed: int) -> int:
    """Return the 64-bit seed of an article, from its title."""
    return text_key(f"{seed}\n{fold_title(title)}")


def keys(base: int, purpose: str, *columns: Indices) -> Keys:
    """Return (n,) hashes of the rows of the (n,) columns; different purposes give independent hashes."""
    mixed = np.full(columns[0].shape, np.uint64(base ^ text_key(purpose)), dtype=np.uint64)
    for column in columns:
        mixed = mix(mixed + GOLDEN + column.astype(np.uint64))
    return mixed


def below(drawn: Keys, bound: Indices) -> Indices:
    """Return (n,) whole numbers 0…bound-1 from hashes; ``bound`` must be positive."""
    return (drawn % bound.astype(np.uint64)).astype(np.int64)


def two_below(first: Keys, second: Keys, which: Indices, bound: Indices) -> Indices:
    """Return the ``which``-th (0 or 1) of two different numbers below ``bound``; with a bound of 1 both are 0."""
    start = below(first, bound)
    return (start + which * (1 + below(second, np.maximum(bound - 1, 1)))) % bound


def smallest_per_group(drawn: Keys, groups: Indices, most: int) -> Indices:
    """Return the sorted indices of a uniform sample of at most ``most`` rows of every group."""
    order = np.lexsort((drawn, groups))
    ordered = groups[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]]) if len(ordered) else np.empty(0, np.int64)
    sizes = np.diff(np.r_[starts, len(ordered)])
    rank = np.arange(len(ordered)) - np.repeat(starts, sizes)
    return np.sort(order[rank < most])


Mask: TypeAlias = npt.NDArray[np.bool_]
_NEGATIVE = "third"  # part of the hash of a negative; another string would change every triplet set


@dataclass(frozen=True, slots=True)
class TextColumns:
    """Columns of texts: (n,) store ids, hashes of the exact text, hashes of the folded text."""

    ids: Indices
    exact: Keys
    folded: Keys

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: Indices) -> TextColumns:
        """Return rows in the given order."""
        return TextColumns(self.ids[rows], self.exact[rows], self.folded[rows])


@dataclass(frozen=True, slots=True)
class Drawn:
    """Triplets of one article. ``negatives`` is None if they are sampled from other articles.

    ``pool`` are its eligible sentences; ``slots`` is (u, v, which): the positions of the pair and the number of the
    triplet within the pair, (n,) each.
    """

    title: str
    article_id: int
    split: Split
    pool: TextColumns
    pivots: TextColumns
    positives: TextColumns
    negatives: TextColumns | None
    slots: tuple[Indices, Indices, Indices]

    def order(self) -> tuple[str, bytes]:
        """Return the sort key of the canonical order: title, then content."""
        return self.title, self.pool.exact.tobytes()


@dataclass(frozen=True, slots=True)
class _Eligible:
    """Columns of eligible sentences, (n,) each; ``starts`` and ``counts`` are (m,), one entry per kept section."""

    texts: TextColumns
    positions: Indices
    sections: Indices
    paragraphs: Indices
    opens: Mask
    starts: Indices
    counts: Indices


def draw_sentences(
    article: ArticleSentences, kept: list[KeptSection], rules: TripletRules, seed: int, counts: Counter[str]
) -> Drawn:
    """Draw triplets of sentences (``triplets-sen``): pairs of one section by rule (i) with a negative."""
    pool = _eligible(kept, rules, counts)
    base = article_key(article.title, seed)
    u, v = _pairs(pool, rules.max_paragraph_distance)
    counts["pairs_possible"] += len(u)
    per_section, per_article = rules.caps()
    if per_section is not None:
        hashes = keys(base, "pair", pool.positions[u], pool.positions[v])
        chosen = smallest_per_group(hashes, pool.sections[u], per_section)
        u, v = u[chosen], v[chosen]
    counts["pairs_used"] += len(u)
    pair, which, neighbour = _slots(pool.sections[u], pool.counts)
    counts["triplets_possible"] += len(pair)
    chosen = _capped(keys(base, "triplet", pool.positions[u[pair]], pool.positions[v[pair]], which), per_article)
    u, v, which, neighbour = u[pair[chosen]], v[pair[chosen]], which[chosen], neighbour[chosen]
    slots = (pool.positions[u], pool.positions[v], which)
    swap = (keys(base, "pivot", slots[0], slots[1]) & np.uint64(1)).astype(bool)
    pivots, positives = (pool.texts.take(np.where(second, v, u)) for second in (swap, ~swap))
    negatives = _negatives(pool, pool.sections[u], neighbour, rules.negative, base, slots)
    return Drawn(article.title, article.article_id, article.split, pool.texts, pivots, positives, negatives, slots)


def _negatives(
    pool: _Eligible, own: Indices, neighbour: Indices, source: str, base: int, slots: tuple[Indices, Indices, Indices]
) -> TextColumns | None:
    """Draw a sentence of the neighbouring or another section; None if it comes from another article."""
    if source == "random_article":
        return None
    section = neighbour
    if source == "same_article":  # another section with eligible sentences, different for the two triplets of a pair
        filled = np.flatnonzero(pool.counts)
        others = np.full(len(own), len(filled) - 1, dtype=np.int64)
        first, second = keys(base, "section", *slots[:2]), keys(base, "second section", *slots[:2])
        drawn = two_below(first, second, slots[2], others)
        section = filled[drawn + (drawn >= np.searchsorted(filled, own))]
    return pool.texts.take(pool.starts[section] + below(keys(base, _NEGATIVE, *slots), pool.counts[section]))


def draw_titles(
    article: ArticleSentences, kept: list[KeptSection], rules: TripletRules, seed: int, counts: Counter[str]
) -> Drawn:
    """Draw triplets of a sentence, the title of its section and that of a neighbour (``triplets-titles``).

    The pivot is the sentence that opens the section; if it fails rule (ii), the section has no triplets. With
    ``title_pivots="all"`` (not in the paper) its other eligible sentences are pivots too.
    """
    pool = _eligible(kept, rules, counts)
    base = article_key(article.title, seed)
    titles = _texts([(section.record.id, f"{article.title} {section.record.title}") for section in kept])
    titled = np.array([bool(section.record.title.strip()) for section in kept], dtype=bool)
    wanted = titled[pool.sections]
    if rules.title_pivots == "first":
        wanted &= pool.opens & (pool.paragraphs == 0)
    pivots = np.flatnonzero(wanted)
    counts["pairs_possible"] += len(pivots)
    counts["pairs_used"] += len(pivots)
    pair, which, neighbour = _slots(pool.sections[pivots], titled.astype(np.int64))
    counts["triplets_possible"] += len(pair)
    own = pool.positions[pivots[pair]]
    chosen = _capped(keys(base, "title", own, which), rules.caps()[1])
    pair, which, neighbour, own = pair[chosen], which[chosen], neighbour[chosen], own[chosen]
    rows = pivots[pair]
    texts = pool.texts.take(rows), titles.take(pool.sections[rows]), titles.take(neighbour)
    return Drawn(article.title, article.article_id, article.split, pool.texts, *texts, (own, own, which))


def _texts(rows: list[tuple[int, str]]) -> TextColumns:
    return TextColumns(
        np.array([id for id, _ in rows], dtype=np.int64),
        np.array([text_key(text) for _, text in rows], dtype=np.uint64),
        np.array([text_key(fold(text)) for _, text in rows], dtype=np.uint64),
    )


def _eligible(kept: list[KeptSection], rules: TripletRules, dropped: Counter[str]) -> _Eligible:
    found = [eligible(section, rules, dropped, openers_only=rules.openers_only) for section in kept]
    rows = [(sentence, paragraph, j) for j, section in enumerate(found) for sentence, paragraph in section]
    sizes = np.array([len(section) for section in found], dtype=np.int64)
    dropped["eligible"] += len(rows)
    return _Eligible(
        _texts([(sentence.id, sentence.text) for sentence, _, _ in rows]),
        np.array([sentence.position for sentence, _, _ in rows], dtype=np.int64),
        np.array([j for _, _, j in rows], dtype=np.int64),
        np.array([paragraph for _, paragraph, _ in rows], dtype=np.int64),
        np.array([sentence.opens_paragraph for sentence, _, _ in rows], dtype=bool),
        np.cumsum(sizes) - sizes,
        sizes,
    )


def _pairs(pool: _Eligible, farthest: int) -> tuple[Indices, Indices]:
    """Return the pairs of rule (i): indices u < v of one section whose paragraphs are 1…farthest apart, in order."""
    firsts, seconds = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    near = np.arange(len(pool.sections))
    for step in range(1, len(pool.sections)):
        near = near[near + step < len(pool.sections)]
        distance = pool.paragraphs[near + step] - pool.paragraphs[near]
        inside = (pool.sections[near] == pool.sections[near + step]) & (distance <= farthest)
        if not inside.any():  # paragraphs ascend, so pairs further apart in the list are not eligible either
            break
        near, distance = near[inside], distance[inside]
        firsts.append(near[distance >= 1])
        seconds.append(near[distance >= 1] + step)
    u, v = np.concatenate(firsts), np.concatenate(seconds)
    order = np.lexsort((v, u))
    return u[order], v[order]


def _slots(own: Indices, available: Indices) -> tuple[Indices, Indices, Indices]:
    """Return (pair, which, neighbour) of every triplet, one for each neighbouring section with eligible items.

    ``own`` (n,) is the section of each pair, ``available`` (m,) the number of items of each section.
    """
    padded = np.concatenate([[0], available, [0]])
    before, after = padded[own] > 0, padded[own + 2] > 0
    pair = np.concatenate([np.flatnonzero(before), np.flatnonzero(after)])
    neighbour = np.concatenate([own[before] - 1, own[after] + 1])
    which = np.concatenate([np.zeros(before.sum(), np.int64), before[after].astype(np.int64)])
    order = np.lexsort((which, pair))
    return pair[order], which[order], neighbour[order]


def _capped(drawn: Keys, most: int | None) -> Indices:
    return np.arange(len(drawn)) if most is None else smallest_per_group(drawn, np.zeros(len(drawn), np.int64), most)
