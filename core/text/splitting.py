"""Sentence splitting with the rules of the ``sentence-splitter`` package, implemented faster.

The package (Koehn and Schroeder's splitter of the Europarl tools) matches patterns against every word of a text. Here
the same rules are applied only where they can match: at a full stop, question or exclamation mark before a space. The
lists of abbreviations are those of the package. Some languages without a list are split at their own marks, too, such
as the Chinese full stop, which no space follows.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from importlib.resources import files

import regex  # type: ignore[import-untyped]

from themescope.core.errors import ConfigError, UnknownNameError
from themescope.core.types import Article, Paragraph, Section

_PREFIXES = files("sentence_splitter") / "non_breaking_prefixes"

_LISTED = frozenset(f.name.removesuffix(".txt") for f in _PREFIXES.iterdir() if f.is_file())
_OWN_MARKS = {
    "ar": "؟۔", "bn": "।", "fa": "؟۔", "hi": "।॥", "ja": "。！？", "mr": "।॥", "ne": "।॥", "ur": "؟۔", "zh": "。！？",
}  # fmt: skip
"""Sentence marks of languages without a list of abbreviations, besides . ? and !."""
_UNLISTED = frozenset((*_OWN_MARKS, "bg", "et", "he", "hr", "id", "ko", "sr", "uk", "vi"))
LANGUAGES: tuple[str, ...] = tuple(sorted(_LISTED | _UNLISTED))
"""Two-letter codes of the languages that sentences can be split in. Not among them: Thai, which has no full stop."""

_OPENERS = r"""'"(\[\u00bf\u00a1\p{Initial_Punctuation}"""
_CLOSERS = r"""'")\]\p{Final_Punctuation}"""
_CAPITAL = r"[\p{Uppercase_Letter}\p{Other_Letter}]"

# The four rewriting rules of the package, in its order. Possessive quantifiers and "(?<!\.)" only skip attempts that
# cannot match, so that a long run of dots or spaces does not take quadratic time.
_QUESTION = regex.compile(rf"([?!]) ++([{_OPENERS}]*+{_CAPITAL})")
_ELLIPSIS = regex.compile(rf"((?<!\.)\.\.++) ++([{_OPENERS}]*+{_CAPITAL})")
_CLOSED = regex.compile(rf"([?!.] *+[{_CLOSERS}]++) ++([{_OPENERS}]*+ *+{_CAPITAL})")
_OPENED = regex.compile(rf"([?!.]) ++([{_OPENERS.replace('(', '')}]++ *+{_CAPITAL})")

# Cheap tests before the rules; they fail for most paragraphs.
_INITIAL = "".join(regex.findall(r"\p{Initial_Punctuation}", "".join(map(chr, range(0x3000)))))
_FINAL = "".join(regex.findall(r"\p{Final_Punctuation}", "".join(map(chr, range(0x3000)))))
_MAY_CLOSE = re.compile(rf"""[?!.] *['")\]{_FINAL}]""")
_MAY_OPEN = re.compile(rf"""[?!.] +['"\[\u00bf\u00a1{_INITIAL}]""")
_STOP = re.compile(r"\.\n? +")
_SPACES = re.compile(r"  +")

_STARTS_SENTENCE = regex.compile(rf"[{_OPENERS}]*[\p{{Uppercase_Letter}}\p{{Other_Letter}}0-9]")
_ACRONYM = regex.compile(r"[\p{Uppercase_Letter}\p{Other_Letter}\-]+")
_BEFORE_STOP = regex.compile(rf"([\w.\-]*)([{_CLOSERS}%]*)(\.+)$")
_DIGITS = frozenset("0123456789")


@cache
def _prefixes(language: str) -> tuple[frozenset[str], frozenset[str], int]:
    """Return the abbreviations of a language: those of any position, those before numbers, and the maximum length."""
    if language not in _LISTED:
        return frozenset(), frozenset(), 0
    always: set[str] = set()
    numeric: set[str] = set()
    for line in (_PREFIXES / f"{language}.txt").read_text(encoding="utf-8").splitlines():
        word = line.partition("#")[0].strip()
        if word:
            # As in the package, the last line about a word decides.
            (numeric if "#NUMERIC_ONLY#" in line else always).add(word)
            (always if "#NUMERIC_ONLY#" in line else numeric).discard(word)
    return frozenset(always), frozenset(numeric), max(map(len, always | numeric), default=0)


class SentenceSplitter:
    """Splitter of paragraphs of one language into sentences. Cheap to build and to send to another process.

    Raises :class:`themescope.core.errors.ConfigError` for a language that is not one of :data:`LANGUAGES`.
    """

    __slots__ = ("_always", "_marks", "_numeric", "_reach", "language")

    def __init__(self, language: str) -> None:
        if language not in LANGUAGES:
            raise ConfigError(str(UnknownNameError("language to split sentences in", language, LANGUAGES)))
        self.language = language
        self._always, self._numeric, longest = _prefixes(language)
        self._marks = _mark_rule(language)
        self._reach = longest + 3  # a longer word than this cannot be an abbreviation

    def __reduce__(self) -> tuple[type[SentenceSplitter], tuple[str]]:
        return SentenceSplitter, (self.language,)

    def split(self, text: str) -> list[str]:
        """Return the sentences of ``text`` in order, without blank ones; line breaks in ``text`` also end sentences."""
        text = _at_marks(text)
        if self._marks is not None:
            text = self._marks.sub("\\1\n", text)
        pieces, start = [], 0
        for stop in _STOP.finditer(text):
            if self._ends_sentence(text, stop.start() + 1, stop.end()):
                pieces.append(text[start : stop.end() - 1])
                start = stop.end()
        if pieces:
            pieces.append(text[start:])
            text = "\n".join(pieces)
        if "  " in text:
            text = _SPACES.sub(" ", text)
        text = text.replace("\n ", "\n").replace(" \n", "\n").strip()
        return [sentence for sentence in text.split("\n") if sentence]

    def _ends_sentence(self, text: str, end: int, following: int) -> bool:
        """Return whether the word whose dots end at ``end`` ends a sentence before the word at ``following``."""
        if not _STARTS_SENTENCE.match(text, following):
            return False
        word = text[max(text.rfind(" ", 0, end) + 1, end - self._reach) : end]
        found = _BEFORE_STOP.search(word)
        if found is None:
            return False
        prefix, closers = found.group(1), found.group(2)
        if not closers and prefix in self._always:
            return False
        body = text[text.rfind(" ", 0, end) + 1 : end].rstrip(".")
        _, dot, letters = body.rpartition(".")
        if dot and _ACRONYM.fullmatch(letters):
            return False
        return bool(closers) or prefix not in self._numeric or text[following] not in _DIGITS


@cache
def _mark_rule(language: str) -> re.Pattern[str] | None:
    """Return the pattern of the ends of sentences at marks of the language, which may stand before no space."""
    marks = _OWN_MARKS.get(language)
    return re.compile(rf"""([{marks}]+['"”’」』）)]*) *""") if marks else None


def _at_marks(text: str) -> str:
    """Apply rules one to four: breaks after question and exclamation marks, ellipses, and around quotes, brackets."""
    if "? " in text or "! " in text:
        text = _QUESTION.sub("\\1\n\\2", text)
    if ".. " in text:
        text = _ELLIPSIS.sub("\\1\n\\2", text)
    if _MAY_CLOSE.search(text):
        text = _CLOSED.sub("\\1\n\\2", text)
    if _MAY_OPEN.search(text):
        text = _OPENED.sub("\\1\n\\2", text)
    return text


def split_article(article: Article, splitter: SentenceSplitter) -> Article:
    """Split every paragraph into sentences. Sentences given by the source are kept; empty paragraphs are dropped.

    A paragraph that is split gives its values to each of its sentences.
    """
    sections = []
    counts: list[int] = []
    for section in article.sections:
        paragraphs = []
        for paragraph in section.paragraphs:
            sentences = paragraph.sentences or tuple(splitter.split(paragraph.text))
            counts += [1] * len(sentences) if paragraph.sentences else [len(sentences)]
            if sentences:
                paragraphs.append(Paragraph(paragraph.text, sentences))
        sections.append(Section(section.title, section.level, tuple(paragraphs), section.path))
    values = {
        name: [value for value, count in zip(column, counts, strict=True) for _ in range(count)]
        for name, column in article.sentence_values.items()
    }
    return replace(article, sections=tuple(sections), sentence_values=values)
