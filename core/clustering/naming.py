"""Names of clusters: the words that are frequent in one cluster and rare in the others.

Class-based tf-idf (Grootendorst 2022, BERTopic): weight = tf(word, cluster) · ln(1 + A / f(word)), where A is the mean
number of words in a cluster and f the word's frequency in all. Singular and plural count as one word, and two words
that are usually adjacent are shown as a pair.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from core.text.tokens import tokenize
from core.types import Labels

_WORD = re.compile(r"[^\W\d_][\w'-]+")
_MARKS = {"ref", "rrb", "lrb", "nbsp"}  # remains of markup in many data sets


def theme_words(texts: Sequence[str], labels: Labels, k: int, words: int = 3) -> list[tuple[str, ...]]:
    """Return up to ``words`` words or word pairs for each of ``k`` clusters of ``texts``, best first."""
    terms = [_terms(text) for text in texts]
    forms: dict[str, Counter[str]] = {}
    for written in (pair for line in terms for pair in line):
        forms.setdefault(written[0], Counter())[written[1]] += 1
    shown = {key: min(counted, key=lambda form: (-counted[form], form)) for key, counted in forms.items()}
    keys = [[key for key, _ in line] for line in terms]
    in_cluster: list[Counter[str]] = [Counter() for _ in range(k)]
    adjacent: list[Counter[tuple[str, str]]] = [Counter() for _ in range(k)]
    for line, label in zip(keys, labels.tolist(), strict=True):
        in_cluster[label].update(line)
        adjacent[label].update(pairwise(line))
    everywhere = sum(in_cluster, Counter())
    mean = everywhere.total() / k
    return [
        _picked(_ranked(counts, everywhere, mean), counts, pairs, shown, words)
        for counts, pairs in zip(in_cluster, adjacent, strict=True)
    ]


def theme_names(words: Sequence[Sequence[str]]) -> list[str]:
    """Return a unique name for each cluster, made of its words."""
    names: list[str] = []
    for number, found in enumerate(words):
        wanted = " · ".join(found) or f"theme {number + 1}"
        names.append(wanted if wanted not in names else f"{wanted} ({number + 1})")
    return names


def _terms(text: str) -> list[tuple[str, str]]:
    """Return the (key, written form) of words suitable for names."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    found = []
    for token in tokenize(text):
        word = token.lower()
        if len(word) > 2 and _WORD.fullmatch(word) and word not in ENGLISH_STOP_WORDS and word not in _MARKS:
            found.append((_singular(word), word))
    return found


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3 else word


def _ranked(counts: Counter[str], everywhere: Counter[str], mean: float) -> list[str]:
    weights = {word: count * float(np.log1p(mean / everywhere[word])) for word, count in counts.items()}
    return sorted(weights, key=lambda word: (-weights[word], word))


def _picked(
    ranked: Sequence[str], counts: Counter[str], pairs: Counter[tuple[str, str]], shown: dict[str, str], words: int
) -> tuple[str, ...]:
    near, names, used = ranked[: 4 * words], list[str](), set[str]()
    for word in near:
        if word in used or len(names) == words:
            continue
        fitting = [(pairs[p], p) for o in near if o != word and o not in used for p in ((word, o), (o, word))]
        count, pair = max(fitting, default=(0, (word, word)), key=lambda entry: entry[0])
        joined = count > 1 and 2 * count >= min(counts[pair[0]], counts[pair[1]])
        parts = pair if joined else (word,)
        used.update(parts)
        names.append(" ".join(shown[part] for part in parts))
    return tuple(names)
