"""Languages of sentences: detection, names, and stop words.

Detection is that of py3langid (Lui and Baldwin 2012, langid.py): naive Bayes over byte n-grams, for 139 languages, from
a model of its wheel that is read without pickle. It works offline and reads about 19,000 short sentences per second.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any

import numpy as np

SAMPLE = 2_000
"""Maximum number of sentences of a text whose language is detected."""
OTHER = "other"
"""Key of the languages with a small share."""
_LEAST_SHARE = 0.02
_FREQUENT = 0.1
_SURE = 0.5
"""Probability from which a language counts as detected. Of short English lines without it, a third are missed."""
_SAME = {"nb": "no", "nn": "no", "wuu": "zh", "yue": "zh", "sdh": "ku", "arz": "ar", "ary": "ar", "zxx": ""}
"""Code of a variety → code of its language; "" for text that is in no language."""
UNSPACED = frozenset(("ja", "km", "lo", "my", "th", "zh"))
"""Languages that are written without spaces between words."""
_NAMES = {
    "af": "Afrikaans", "am": "Amharic", "ar": "Arabic", "az": "Azerbaijani", "be": "Belarusian", "bg": "Bulgarian",
    "bn": "Bengali", "bs": "Bosnian", "ca": "Catalan", "cs": "Czech", "cy": "Welsh", "da": "Danish", "de": "German",
    "el": "Greek", "en": "English", "eo": "Esperanto", "es": "Spanish", "et": "Estonian", "eu": "Basque",
    "fa": "Persian", "fi": "Finnish", "fr": "French", "ga": "Irish", "gl": "Galician", "gu": "Gujarati",
    "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian", "hy": "Armenian", "id": "Indonesian",
    "is": "Icelandic", "it": "Italian", "ja": "Japanese", "ka": "Georgian", "kk": "Kazakh", "km": "Khmer",
    "kn": "Kannada", "ko": "Korean", "la": "Latin", "lo": "Lao", "lt": "Lithuanian", "lv": "Latvian",
    "mk": "Macedonian", "ml": "Malayalam", "mn": "Mongolian", "mr": "Marathi", "ms": "Malay", "my": "Burmese",
    "ne": "Nepali", "nl": "Dutch", "no": "Norwegian", "pa": "Punjabi", "pl": "Polish", "ps": "Pashto",
    "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "si": "Sinhala", "sk": "Slovak", "sl": "Slovenian",
    "sq": "Albanian", "sr": "Serbian", "sv": "Swedish", "sw": "Swahili", "ta": "Tamil", "te": "Telugu", "th": "Thai",
    "tl": "Tagalog", "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu", "uz": "Uzbek", "vi": "Vietnamese",
    "zh": "Chinese", "zu": "Zulu", OTHER: "other languages",
}  # fmt: skip

Shares = Mapping[str, float]
"""Two-letter code of a language, or :data:`OTHER` → share of the sentences, largest first."""


def detect_language(text: str) -> str:
    """Return the two-letter code of the language of a sentence; "" if it is uncertain, as for "OK" or "1984"."""
    if not any(character.isalpha() for character in text):
        return ""
    code, probability = _identifier().classify(text)
    return _SAME.get(code, code) if probability > _SURE else ""


def language_shares(texts: Iterable[str]) -> dict[str, float]:
    """Return the share of each language among the sentences whose language is certain; empty without such sentences.

    Languages with less than 2 % are summed as :data:`OTHER`.
    """
    found = Counter(filter(None, map(detect_language, texts)))
    total = found.total()
    shares = {code: round(n / total, 4) for code, n in found.most_common() if n / total >= _LEAST_SHARE}
    rest = round(1 - sum(shares.values()), 4)
    return shares | ({OTHER: rest} if total and rest >= 0.005 else {})


def sampled(texts: Sequence[str], most: int = SAMPLE) -> list[str]:
    """Return at most ``most`` evenly spaced sentences of a text."""
    if len(texts) <= most:
        return list(texts)
    return [texts[i] for i in np.linspace(0, len(texts) - 1, most).astype(int).tolist()]


def frequent(shares: Shares) -> tuple[str, ...]:
    """Return the languages with at least a tenth of the sentences; English if none was detected."""
    return tuple(code for code, share in shares.items() if share >= _FREQUENT and code != OTHER) or ("en",)


def main_language(shares: Shares, otherwise: str = "en") -> str:
    """Return the language with the largest share; ``otherwise`` if none was detected."""
    return next((code for code in shares if code != OTHER), otherwise)


def language_name(code: str) -> str:
    """Return the English name of a language, such as "German"; its code if the name is not known."""
    return _NAMES.get(code, code)


def shares_text(shares: Shares, most: int = 3) -> str:
    """Return shares in words: "82 % German, 12 % English", or "German" for one language."""
    if len(shares) == 1:
        return language_name(next(iter(shares)))
    listed = [
        f"{share:.0%} {language_name(code)}".replace("%", " %", 1) for code, share in islice(shares.items(), most)
    ]
    return ", ".join(listed)


@cache
def stop_words(languages: Collection[str]) -> frozenset[str]:
    """Return the stop words, in small letters, of a frozen set of languages.

    For English the list of scikit-learn, for 56 others that of stopwords-iso; without a list, no words.
    """
    return frozenset().union(*map(_stop_words, languages))


@cache
def _stop_words(language: str) -> frozenset[str]:
    if language == "en":
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

        return frozenset(ENGLISH_STOP_WORDS)
    import stopwordsiso

    return frozenset(stopwordsiso.stopwords(language)) if language in stopwordsiso.langs() else frozenset()


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
