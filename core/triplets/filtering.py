"""Rules (ii)–(v) applied to one article: which sections remain, and which sentences of them are eligible."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from core.triplets.rules import BACKGROUND, ArticleSentences, SectionRules, fold, token_count
from core.types import SectionRecord, Sentence

TOP_LEVEL = 2


@dataclass(frozen=True, slots=True)
class KeptSection:
    """A section that remains, with the sentences of the subsections that were merged into it.

    ``paragraphs[i]`` is the index of the paragraph of ``sentences[i]``, counted through all merged parts.
    """

    record: SectionRecord
    sentences: list[Sentence] = field(default_factory=list)
    paragraphs: list[int] = field(default_factory=list)

    def append(self, sentences: Sequence[Sentence]) -> None:
        """Add the sentences of one original section, its paragraphs following those already here."""
        offset = self.paragraphs[-1] + 1 if self.paragraphs else 0
        self.sentences.extend(sentences)
        self.paragraphs.extend(offset + s.paragraph for s in sentences)


def kept_sections(article: ArticleSentences, rules: SectionRules, dropped: Counter[str]) -> list[KeptSection]:
    """Sections left after rules (iii) and (iv), merged if asked, without empty ones; ``dropped`` counts by rule.

    Whether enough of them are left (rule v) is for the caller to ask.
    """
    own: list[list[Sentence]] = [[] for _ in article.sections]
    for sentence in article.sentences:
        own[sentence.section].append(sentence)
    kept: list[KeptSection] = []
    for record in _admitted(article.sections, rules, dropped):
        if rules.sections == "top" and kept and _belongs_to(record, kept[-1].record):
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
    """Find the sentences that pass rules (i) and (ii), each with the index of its paragraph.

    With ``openers_only`` a paragraph whose first sentence fails contributes nothing; its second sentence is not tried.
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
    """Text before the first heading."""
    return section.position == 0 and not section.title.strip()


def _admitted(sections: Sequence[SectionRecord], rules: SectionRules, dropped: Counter[str]) -> list[SectionRecord]:
    """Sections that rules (iii) and (iv) let through; a dropped one takes its subsections with it."""
    admitted: list[SectionRecord] = []
    back_matter = rules.dropped_titles()
    below: int | None = None  # level of the dropped section that we are inside of
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


def _belongs_to(record: SectionRecord, above: SectionRecord) -> bool:
    """Whether a section is a subsection; one without a top-level heading starts its own section."""
    return record.level > TOP_LEVEL and record.level > above.level
