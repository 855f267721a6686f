"""Rules of triplet sampling (Ein Dor et al. 2018, section 3), and their application to the sections of an article.

The settings cover the cases that the paper leaves open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from themescope.core.config import Config, option
from themescope.core.errors import ConfigError
from themescope.core.types import Article, SectionRecord, Sentence, Split, split_of_bucket, title_bucket

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

    def dropped_titles(self) -> frozenset[str]:
        """Return the folded titles of rule (iv)."""
        return BACK_MATTER | EXTENDED_BACK_MATTER if self.extended_drop else BACK_MATTER


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

    def append(self, sentences: Sequence[Sentence]) -> None:
        """Append the sentences of one original section, whose paragraphs follow the existing ones."""
        offset = self.paragraphs[-1] + 1 if self.paragraphs else 0
        self.sentences.extend(sentences)
        self.paragraphs.extend(offset + s.paragraph for s in sentences)


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
        kept[-1].append(own[record.position])
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


def is_lead(section: SectionRecord) -> bool:
    """Return whether a section is the text before the first heading."""
    return section.position == 0 and not section.title.strip()


def _admitted(sections: Sequence[SectionRecord], rules: SectionRules, dropped: Counter[str]) -> list[SectionRecord]:
    """Return the sections that pass rules (iii) and (iv); subsections of a dropped section are dropped too."""
    admitted: list[SectionRecord] = []
    back_matter = rules.dropped_titles()
    below: int | None = None  # level of the current dropped section
    first_titled = rules.drop_first == "lead+first_titled"
    for record in sections:
        if is_lead(record):
            dropped["lead"] += 1
            continue
        if below is not None and record.level > below:
            dropped["inside_dropped"] += 1
            continue
        reason = _title_rule(record, back_matter, first_titled)
        first_titled = False
        below = record.level if reason else None
        if reason:
            dropped[reason] += 1
        else:
            admitted.append(record)
    return admitted


def _title_rule(record: SectionRecord, back_matter: frozenset[str], first_titled: bool) -> str:
    title = fold(record.title)
    if first_titled:
        return "first_titled"
    if title in BACKGROUND:
        return "background"
    return "back_matter" if title in back_matter else ""


def section_sentences(article: ArticleSentences, rules: SectionRules) -> list[Sentence]:
    """Return the sentences of all lengths that rule (ii) allows, of the sections that rules (iii) and (iv) keep.

    The section of a sentence is the number of the kept section it belongs to, so that merged sections are one. The
    caller checks whether enough sections remain (rule v).
    """
    kept = kept_sections(article, rules, Counter())
    return [
        replace(sentence, section=number)
        for number, section in enumerate(kept)
        for sentence in section.sentences
        if not length_rule(sentence, rules)
    ]
