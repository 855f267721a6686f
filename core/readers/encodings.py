"""Encodings of texts without a mark: found by the letters and the stop words of languages.

A text in an encoding of one or two bytes can be decoded by most others too, into letters of another language. The right
one gives a text whose letters all belong to the alphabet of a language, and whose words are words of that language.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from themescope.core.text.languages import stop_words

_CYRILLIC = "абвгдежзийклмнопрстуфхцчшщьюя"
_LETTERS = {
    "en": "éèêëïöôñçáü", "de": "äöüß", "fr": "àâæçéèêëîïôœùûüÿ", "es": "áéíñóúü", "pt": "áâãàçéêíóôõúü",
    "it": "àèéìíîòóùú", "ca": "àçèéíïòóúü", "nl": "áéëïóöüèê", "sv": "åäöé", "da": "æøåé", "no": "æøåéòô", "fi": "äöå",
    "et": "äõöüšž", "pl": "ąćęłńóśźż", "cs": "áčďéěíňóřšťúůýž", "sk": "áäčďéíĺľňóôŕšťúýž", "hu": "áéíóöőúüű",
    "ro": "ăâîșțşţ", "hr": "čćđšž", "sl": "čšž", "tr": "çğıi̇öşüâî", "lt": "ąčęėįšųūž", "lv": "āčēģīķļņōŗšūž",
    "vi": "àáâãèéêìíòóôõùúýăđĩũơư\u0300\u0301\u0303\u0309\u0323",
    "ru": _CYRILLIC + "ыэъё", "uk": _CYRILLIC + "єіїґ", "bg": _CYRILLIC + "ъ",
    "sr": "абвгдђежзијклљмнњопрстћуфхцчџш", "mk": "абвгдѓежзѕијклљмнњопрстќуфхцчџш", "be": _CYRILLIC + "ыэёіў",
    "el": "αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊϋΐΰ", "he": "אבגדהוזחטיךכלםמןנסעףפץצקרשת",
    "ar": "ءآأؤإئابةتثجحخدذرزسشصضطظعغفقكلمنهوىيًٌٍَُِّْ،؛؟", "fa": "ءآأؤئابتثجحخدذرزسشصضطظعغفقلمنهوپچژکگیي،؛؟",
    "th": "".join(map(chr, range(0x0E01, 0x0E5C))),
}  # fmt: skip
"""Language → its letters, in lower case, besides those of ASCII."""
_NEUTRAL = frozenset("“”„‘’‚«»‹›–—…•·°§©®™€£¢½¼¾²³×±\u00a0\u00ad¿¡№º")
"""Signs that say nothing about the language."""
_WIDE = {"zh": ("gb18030", "big5"), "ja": ("cp932", "euc-jp"), "ko": ("cp949",)}
"""Languages whose characters take two bytes, and their encodings."""
_NARROW = {
    "cp1252": 1.0, "cp1250": 0.9, "cp1251": 0.9, "cp1253": 0.9, "cp1254": 0.9, "cp1255": 0.9, "cp1256": 0.9,
    "cp1257": 0.9, "cp1258": 0.8, "cp874": 0.9, "iso-8859-15": 0.8, "iso-8859-2": 0.8, "iso-8859-5": 0.8,
    "iso-8859-6": 0.8, "iso-8859-7": 0.8, "iso-8859-8": 0.8, "koi8-r": 0.8, "koi8-u": 0.7, "mac-roman": 0.6,
    "cp850": 0.6, "cp852": 0.6, "cp866": 0.6, "mac-cyrillic": 0.6, "mac-latin2": 0.5,
}  # fmt: skip
"""Encoding of one byte per character → how common it is."""
ENCODINGS = ("utf-8", "utf-16", "utf-32", *_NARROW, *(name for names in _WIDE.values() for name in names))
"""Encodings that can be chosen."""
_WORD = re.compile(r"[^\W\d_]+")
_MISPLACED = re.compile(r"(?<=[^\W\d_])(?:[‚„«‹¿¡£¢€§©®°]|[–“”»›•…¼½¾²³×±¹™º](?=[^\W\d_]))")
"""Signs that never follow a letter, or never stand between two: there they are letters of another encoding."""
_TWO_SCRIPTS = re.compile(r"[a-z][\u0370-\u1dff\u2c00-\uffff]|[\u0370-\u1dff\u2c00-\uffff][a-z]")
_ADVANTAGE = 1.3
"""Ratio of the scores of the best two readings from which the first counts as certain."""
_LEAST = 0.04


class Guess(NamedTuple):
    """A possible encoding of some bytes."""

    encoding: str
    score: float
    text: str


def guesses(data: bytes, among: Sequence[str] = ENCODINGS[3:]) -> list[Guess]:
    """Return the different readings of bytes that are not UTF-8 in some encodings, the likeliest first."""
    found: dict[str, Guess] = {}
    for encoding in among:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        guess = Guess(encoding, _score(text, encoding), text)
        if text not in found or found[text].score < guess.score:
            found[text] = guess
    return sorted(found.values(), key=lambda guess: -guess.score)


def is_certain(found: list[Guess], least: float = _LEAST) -> bool:
    """Return whether the first of several readings is clearly the right one; ``least`` is the score it must have."""
    if not found or found[0].score < least:
        return False
    return len(found) == 1 or found[0].score > _ADVANTAGE * found[1].score


def _score(text: str, encoding: str) -> float:
    if any((ch < " " and ch not in "\t\n\r\f\v") or "\x7f" <= ch < "\xa0" for ch in text):
        return 0.0
    for language, encodings in _WIDE.items():
        if encoding in encodings:
            return _wide_score(text, language)
    signs = Counter(ch for ch in text.lower() if ch > "\x7f" and ch not in _NEUTRAL)
    signs.update(_MISPLACED.findall(text))
    words = [word.lower() for word in _WORD.findall(text)]
    # Capital letters inside of words come from an encoding with the same letters in another order.
    mixed = sum(word[1:] != word[1:].lower() and not word.isupper() for word in _WORD.findall(text))
    if not words:
        return 0.0
    total = signs.total()
    case = max(1 - mixed / len(words), 0.0)
    beyond_ascii = sum(not word.isascii() for word in words) or 1
    case *= max(1 - len(_TWO_SCRIPTS.findall(text.lower())) / beyond_ascii, 0.0)
    best = 0.0
    for language, letters in _LETTERS.items():
        inside = sum(n for sign, n in signs.items() if sign in letters) / total if total else 1.0
        if inside > 0.8:
            known = sum(word in _words(language) for word in words) / len(words)
            best = max(best, inside**12 * (0.05 + known))
    return float(best * case**2 * _NARROW[encoding])


def _wide_score(text: str, language: str) -> float:
    wide = [ch for ch in text if ch > "\x7f" and ch not in _NEUTRAL]
    common = _characters(language)
    return max(sum(ch in common for ch in wide) / len(wide) - 0.2, 0.0) if wide else 0.0


@cache
def _words(language: str) -> frozenset[str]:
    letters = _LETTERS.get(language)
    found = stop_words(frozenset((language,)))
    if letters is None:
        return found
    # Some of the lists contain words in a wrong encoding.
    return frozenset(word for word in found if all(ch < "\x80" or ch in letters for ch in word))


@cache
def _characters(language: str) -> frozenset[str]:
    return frozenset("，。！？、；：「」（）").union(ch for word in _words(language) for ch in word if ch > "\x7f")
