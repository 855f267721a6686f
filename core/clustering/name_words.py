"""Words of texts as names of clusters need them: no fragments of words, no function words, no remains of markup.

The convention differs from that of word vectors (:func:`themescope.core.text.tokens.tokenize`), which splits clitics:

- A contraction with "not" is a function word ("don't", also "do n't" and "dont"), and what follows an apostrophe as a
  clitic belongs to no word ("they've", "Europe's"); other words with an apostrophe are whole ("o'clock", "O'Brien").
  French, Italian and Catalan words count without the article before the apostrophe, Turkish ones without the case
  suffix after it.
- A word of two characters counts if the list writes it in capitals ("AI", "F1"), or if the list has no letter case;
  a word that begins with a digit only as "5G" and "3D" do. "U.S." is the word "US".
- HTML entities are decoded and tags are left out, as are addresses of pages, mail and accounts. Hashtags are words.
- Turkish texts have the small letters ı and i of I and İ.
- Japanese words are runs of kanji and of katakana, without the last kanji where hiragana inflect it. A run is two words
  where both occur on their own in the list. Chinese, Thai, Lao, Khmer and Burmese have no such boundaries: their words
  are found in the list (:mod:`themescope.core.clustering.unspaced_words`).
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import regex  # type: ignore[import-untyped]

from themescope.core.clustering.unspaced_words import split, unspaced_words
from themescope.core.text.languages import sampled
from themescope.core.text.tokens import SMART_STOP_WORDS, STRAIGHT_QUOTES

_LINKS = {
    "en": "of the in for to and a 's", "de": "der des und von", "fr": "de du des la le les et à", "ja": "の ・",
    "nl": "van de het en", "es": "de la del el los las y en", "it": "di del della dei e", "pt": "de da do das dos e",
}  # fmt: skip
"""Words that a phrase may have between two others, by language."""
_ELIDING = frozenset(("ca", "fr", "it"))
"""Languages that write short words before an apostrophe, as in "l'eau"."""
_REMAINS = frozenset(("ref", "rrb", "lrb", "nbsp", "quot"))
"""Words that are remains of markup in many data sets."""
_WRITTEN_AS_ONE = """
    dont doesnt didnt isnt arent wasnt werent hasnt havent hadnt wouldnt shouldnt couldnt cant wont aint mustnt neednt
    im ive youre youve theyre theyve weve thats whats theres hes shes lets let's c'mon y'all d'you
"""
_CONTRACTIONS = frozenset(_WRITTEN_AS_ONE.split())
"""English contractions as they are also written, and those that do not end in n't or a clitic."""
_ABBREVIATIONS = frozenset(("AI", "EU", "IT", "UN", "US", "WHO"))
"""Abbreviations that would be stop words of some language in small letters."""

_ENTITY = regex.compile(
    r"&(?:\w{2,8}|#\d{1,6}|#x[\da-f]{1,6})\s?;|(?:& ?|\b)(amp|quot|nbsp|lt|gt|apos)\s?;|&(amp|quot|nbsp)\b",
    regex.IGNORECASE,
)
"""HTML entities, also if tokenisation has taken signs from them."""
_TAG = regex.compile(r"""</?[a-z]{1,10}[1-6]?(?:\s+[\w:-]+(?:\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>]+))?)*\s*/?>""",
                     regex.IGNORECASE)  # fmt: skip
_APART = regex.compile(r"(?<=\w)(?: ' ?(?=(?:[smdt]|ll|re|ve)(?![\w-]))| (?=n't(?!\w)))", regex.IGNORECASE)
"""The space in "do n't", "it 's" and "don ' t", which tokenised texts have."""
_CLITIC = regex.compile(r"(?<=.)'(?:s|m|d|ll|re|ve)$", regex.IGNORECASE)
_ADDRESS = regex.compile(
    r"""
      (?:https?://|www\.)\S+ | (?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)* | (?<!\w)@\w+
    | (?<![\w.-])(?:[\w-]+\.)+(?:com|org|net|edu|gov)\b | (?<![\w.-])(?:[\w-]+\.){2,}[a-z]{2,}\b
    """,
    regex.VERBOSE,
)
_DOTTED = regex.compile(r"\w\.\w|@|://")
"""What every address has."""
_PIECE = regex.compile(
    r"""
      (?P<initials> (?<!\w)(?:\p{Lu}\.){2,} )
    | (?P<run> [\p{Han}\p{Hiragana}\p{Katakana}ー]+ )
    | (?P<unspaced> [\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]+ )
    | (?P<word> [\p{L}\p{N}--[\p{Han}\p{Hiragana}\p{Katakana}ー]]
                (?: [\p{L}\p{M}\p{N}\u200c\u200d--[\p{Han}\p{Hiragana}\p{Katakana}ー]] | [-'&_](?=[\p{L}\p{N}]) )* )
    | \S
    """,
    regex.VERBOSE | regex.V1,
)
_CAPITAL, _LETTER = regex.compile(r"\p{Lu}"), regex.compile(r"\p{L}")
_CAPITALS = regex.compile(
    r"(?<![^\W\p{Han}\p{Hiragana}\p{Katakana}ー]|')(\p{Lu}[\p{Lu}\d])s?(?![^\W\p{Han}\p{Hiragana}\p{Katakana}ー])"
)
_DIGITAL = regex.compile(r"[1-9]-?(?!ST|ND|RD|TH)(?:\p{Lu}{1,2}|[dg])(?:-\p{L}+)?")
"""Words that begin with a digit, as 5G, 3D and 3D-printed. Others are amounts, ordinals and years."""
_ONE_SYLLABLE = "\u1100"
"""Character from which on two letters may be a word of meaning: Hangul and ideographs."""
_TURKISH = regex.compile("[ıİğĞ]")
_SMALL = str.maketrans({"I": "ı", "İ": "i"})

_KANA = regex.compile(r"[\p{Hiragana}\p{Katakana}]")
_KANJI, _HIRAGANA = regex.compile(r"\p{Han}"), regex.compile(r"\p{Hiragana}")
_SEGMENT = regex.compile(r"\p{Han}+|\p{Hiragana}+|[\p{Katakana}ー]+")
_INFLECTED = regex.compile("[いうえきくけぎぐげちつてぶべびみむめりるれ]")
"""Hiragana that, after kanji, mostly continue a verb or adjective; particles and forms of する begin with others."""
_BEFORE_NOUN, _AFTER_NOUN = frozenset("はがをにのともでへやなるた"), frozenset("はがをにのともでへや")
"""Hiragana beside a single kanji that is a word, as in "新鮮な水は"."""
_PARTICLE = regex.compile(r"([的了在是和与與也很这這那不就都而及或之其被把吧呢吗嗎啊])")
"""Chinese characters that hardly belong to a noun of two."""
_UNSPACED = regex.compile(r"\p{Han}+|[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]+")
_READ = 20_000
"""Maximum number of texts in which words without spaces are found."""


@dataclass(frozen=True, slots=True)
class NameWord:
    """A word of a text, or a mark between words.

    ``key`` is the same for the forms of a word, and empty for what names leave out. ``spaced`` says whether a space is
    written before it.
    """

    written: str
    key: str = ""
    spaced: bool = True


@dataclass(frozen=True, slots=True)
class WordReader:
    """Rules for the words of a list of texts; :meth:`of` chooses them."""

    stop: frozenset[str]
    links: frozenset[str]
    elides: bool
    turkish: bool
    short: frozenset[str] | None
    """Words of two characters that are written in capitals; None if the list says nothing about case."""
    japanese: bool
    """Whether texts without kana are Japanese, not Chinese."""
    runs: frozenset[str]
    """Runs of one script in Japanese texts."""
    unspaced: Mapping[str, int]
    """Words of scripts without spaces, and how often they occur."""

    @classmethod
    def of(cls, texts: Sequence[str], stop: frozenset[str], languages: frozenset[str]) -> WordReader:
        """Return the rules for ``texts``, without the words ``stop``, in two-letter codes of ``languages``."""
        cased = [text for text in texts if _cased(text)]
        turkish = sum(1 for text in texts if _TURKISH.search(text))
        kana = [text for text in texts if _KANA.search(text)]
        others = sorted({text for text in texts if _UNSPACED.search(text) and not _KANA.search(text)})
        runs = (run for text in sampled(others, _READ) for run in _UNSPACED.findall(_plain(text)))
        return cls(
            stop,
            frozenset(chain.from_iterable(_LINKS.get(language, "").split() for language in languages)),
            not _ELIDING.isdisjoint(languages),
            2 * turkish > len(texts),
            frozenset(short.lower() for text in cased for short in _CAPITALS.findall(text)) if cased else None,
            2 * len(kana) > sum(1 for text in texts if _KANJI.search(text)),
            frozenset(run for text in kana for run in _SEGMENT.findall(text)),
            unspaced_words(part for run in runs for part in _PARTICLE.split(run) if not _PARTICLE.match(part)),
        )

    def words(self, text: str) -> list[NameWord]:
        """Return words and marks in order; the first word is in small letters, unless it has other capitals."""
        text = _plain(text)
        cased, turkish = _cased(text), self.turkish or bool(_TURKISH.search(text))
        found: list[NameWord] = []
        for match in _PIECE.finditer(text):
            piece, kind = match.group(), match.lastgroup
            spaced = not match.start() or text[match.start() - 1].isspace()
            if kind == "run":
                found += self._run(piece, text, spaced)
            elif kind == "unspaced":
                found += self._pieces(piece, spaced)
            elif kind == "initials":
                key = piece.replace(".", "")
                found.append(NameWord(piece, self._key(key, key.lower(), cased=True) or key.lower(), spaced))
            elif kind == "word":
                found += self._word(piece, cased, turkish, spaced, first=not found)
            else:
                found.append(NameWord(piece, spaced=spaced))
        return found

    def _word(self, piece: str, cased: bool, turkish: bool, spaced: bool, first: bool) -> Iterator[NameWord]:
        """Yield a word in letters, and its clitic."""
        clitic = _CLITIC.search(piece)
        if clitic and piece.lower() not in _CONTRACTIONS:
            yield from self._word(piece[: clitic.start()], cased, turkish, spaced, first)
            yield NameWord(clitic.group(), spaced=False)
            return
        if "'" in piece and piece.lower() not in self.stop and not piece.lower().endswith("n't"):
            if turkish:
                piece = piece.partition("'")[0]
            elif self.elides:
                piece = piece.rpartition("'")[2]
        small = (piece.translate(_SMALL) if turkish else piece).lower()
        keeps = not first or any(map(str.isupper, piece[1:]))
        yield NameWord(piece if keeps else small, self._key(piece, small, cased), spaced)

    def _key(self, piece: str, word: str, cased: bool) -> str:
        abbreviation = piece if cased and piece in _ABBREVIATIONS else ""
        if word in self.stop or word in _REMAINS or word in _CONTRACTIONS or word.endswith("n't"):
            return abbreviation
        if word[0].isdigit():
            return word if _DIGITAL.fullmatch(piece) else ""
        if cased and piece[-1] == "s" and len(piece) > 2 and piece[:-1].isupper():
            word = word[:-1]  # plural of an abbreviation, as TVs
        if len(word) > 2:
            return _singular(word)
        capitals = self.short is None or word in self.short
        usable = len(word) == 2 and (word[0] >= _ONE_SYLLABLE or (capitals and word not in SMART_STOP_WORDS))
        return word if usable else abbreviation

    def _run(self, run: str, text: str, spaced: bool) -> Iterator[NameWord]:
        """Yield the words of a run of kanji and kana, which has no spaces."""
        if not self.japanese and not _KANA.search(text):
            yield from self._pieces(run, spaced)
            return
        for match in _SEGMENT.finditer(run):
            part, start, end = match.group(), match.start(), match.end()
            apart = spaced and not start
            before, after = run[start - 1 : start], run[end : end + 1]
            if not _KANJI.match(part):
                usable = len(part) > 1 and not _HIRAGANA.match(part) and part not in self.stop
                yield NameWord(part, part if usable else "", apart)
            elif len(part) == 1:
                alone = (not before or before in _BEFORE_NOUN) and (not after or after in _AFTER_NOUN)
                yield NameWord(part, part if alone and part not in self.stop else "", apart)
            else:
                inflected = bool(_INFLECTED.match(after))
                body = part[:-1] if inflected else part
                for i, word in enumerate(self._compound(body)):
                    usable = len(word) > 1 and word not in self.stop
                    yield NameWord(word, word if usable else "", apart and not i)
                if inflected:
                    yield NameWord(part[-1], spaced=False)

    def _compound(self, run: str) -> list[str]:
        """Return the words of a run of kanji: parts of at least two that are runs elsewhere in the list."""
        for cut in range(2, len(run) - 1):
            if run[:cut] in self.runs:
                rest = self._compound(run[cut:])
                if len(rest) > 1 or rest[0] in self.runs:
                    return [run[:cut], *rest]
        return [run]

    def _pieces(self, run: str, spaced: bool) -> Iterator[NameWord]:
        """Yield the words of a run without spaces, and the characters between them."""
        for part in filter(None, _PARTICLE.split(run)):
            for word, usable in split(part, self.unspaced):
                yield NameWord(word, word if usable and word not in self.stop else "", spaced)
                spaced = False


def joined(words: Sequence[NameWord]) -> str:
    """Return a phrase as it is written."""
    return "".join(f" {word.written}" if word.spaced and i else word.written for i, word in enumerate(words))


def _plain(text: str) -> str:
    """Return a text without entities, tags and curly quotes, and with contractions in one piece."""
    if not text.isascii():
        text = text.translate(STRAIGHT_QUOTES)
    if "&" in text or ";" in text:
        for _ in range(2):  # "&amp;nbsp;" was escaped twice
            text = _ENTITY.sub(_decoded, text)
    if "<" in text:
        text = _TAG.sub(" | ", text)
    if _DOTTED.search(text):
        text = _ADDRESS.sub(" | ", text)
    return _APART.sub(lambda found: found.group().strip(), text) if "'" in text else text


def _decoded(entity: regex.Match[str]) -> str:
    name = entity.group(1) or entity.group(2)
    return html.unescape(f"&{name.lower()};" if name else entity.group().replace(" ", ""))


def _cased(text: str) -> bool:
    """Return whether a text has capitals, and other letters mostly."""
    return 0 < 2 * len(_CAPITAL.findall(text)) <= len(_LETTER.findall(text))


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3 else word
