"""Rules of triplet sampling (Ein Dor et al. 2018, section 3), with options where the paper is silent."""

from __future__ import annotations

from dataclasses import dataclass

from core.config import Config, option
from core.errors import ConfigError
from core.types import Article, SectionRecord, Sentence, Split, split_of_bucket, title_bucket

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
    """Count whitespace-separated tokens: the measure of rule (ii), not the network's tokeniser."""
    return len(text.split())


def positioned(
    article: Article, article_id: int = 0, first_sentence_id: int = 0, first_section_id: int = 0
) -> ArticleSentences:
    """Give a split article ids counted up from the given ones, for use without a store."""
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
        "flattened: every heading opens a section of its own. top: text of subsections is merged into the "
        "top-level section above it.",
        choices=("flattened", "top"),
    )
    drop_first: str = option(
        "lead",
        "What rule (iii) drops as first section: the text before the first heading, or also the first titled section.",
        choices=("lead", "lead+first_titled"),
    )
    extended_drop: bool = option(
        False,
        "Drop also Bibliography, Sources, Footnotes, Gallery, Publications, Discography and Filmography "
        "(not in the paper).",
    )
    min_tokens: int = option(5, "Shortest sentence, rule (ii).", low=1, unit="tokens")
    max_tokens: int = option(50, "Longest sentence, rule (ii).", low=1, unit="tokens")
    min_sections: int = option(5, "Sections an article must keep, rule (v).", low=2)

    def validate(self) -> None:
        """Reject a maximum length below the minimum length."""
        if self.max_tokens < self.min_tokens:
            raise ConfigError(
                f"{self.named('max_tokens')} is {self.max_tokens} and {self.named('min_tokens')} is {self.min_tokens}: "
                "no sentence would be left."
            )

    def dropped_titles(self) -> frozenset[str]:
        """Folded titles of rule (iv)."""
        return BACK_MATTER | EXTENDED_BACK_MATTER if self.extended_drop else BACK_MATTER


@dataclass(frozen=True)
class TripletRules(SectionRules):
    """Settings of a triplet set. The defaults are the paper's rules with volume close to the paper's."""

    max_paragraph_distance: int = option(
        3, "Largest distance between the paragraphs of a pair, rule (i).", low=1, high=100, unit="paragraphs"
    )
    third: str = option(
        "adjacent",
        "Where the third sentence comes from: the previous and next section, any other section of the same "
        "article, or another article of the same split.",
        choices=("adjacent", "same_article", "random_article"),
    )
    openers_only: bool = option(
        True,
        "Take only sentences that open a paragraph, rule (i) of the paper. Off: every sentence, so that what is "
        "learned from looks like what is clustered; then a cap on pairs is wise.",
    )
    title_pivots: str = option(
        "first",
        "With titles, which sentences are compared with them. first: the one that opens the section, as in the paper; "
        "all: every sentence that rule (i) admits, about three times as many triplets.",
        choices=("first", "all"),
    )
    profile: str = option(
        "paper-like",
        "How much is taken: paper-like has 1 pair a section and 4 triplets an article, max-signal 3 pairs a "
        "section, all has no caps.",
        choices=tuple(PROFILES),
    )
    pairs_per_section: int | None = option(
        None, "Most pairs a section gives; empty: as the profile says.", low=1, unit="pairs"
    )
    triplets_per_article: int | None = option(
        None, "Most triplets an article gives; empty: as the profile says.", low=1, unit="triplets"
    )

    def caps(self) -> tuple[int | None, int | None]:
        """(pairs per section, triplets per article) in force; None is no cap."""
        pairs, triplets = PROFILES[self.profile]
        return (
            pairs if self.pairs_per_section is None else self.pairs_per_section,
            triplets if self.triplets_per_article is None else self.triplets_per_article,
        )
