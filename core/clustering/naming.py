"""Names of clusters: the words and phrases that are frequent in one cluster and rare in the others.

Words are ranked by class-based tf-idf (Grootendorst 2022, BERTopic): weight = n(word, cluster) · ln(1 + A / f(word)),
where n counts sentences of the cluster, A is the mean number of words in a cluster and f the number of sentences in
all. Singular and plural count as one word. A word is shown within a phrase, such as "freedom of speech", if the phrase
accounts for enough of the weight of its words, and if it occurs in different contexts: repeated sentences would make
anything in them a phrase. Words and phrases are shown as they are mostly written.

What a word is, and which words are left out, is in :mod:`themescope.core.clustering.name_words`.

Nested groups, such as the regions of a map at several levels of zoom, have short names (:func:`level_names`). All
levels are named from one pass over the texts: the counts of a group are the sums of those of its parts. A word in many
sentences of the sample is a function word of whatever language the sentences are in, so it is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import sparse

from themescope.core.clustering.name_words import NameWord, WordReader, joined
from themescope.core.text.languages import frequent, language_shares, sampled, stop_words
from themescope.core.text.tokens import SMART_STOP_WORDS
from themescope.core.types import Labels

Phrase = tuple[str, ...]
"""Keys of the words of a phrase, without the words that link them."""

_MOST_LINKS, _LONGEST = 2, 3
_DETECTED = 500
"""Maximum number of texts whose languages are detected."""
_NEAR = 12
"""Number of ranked words for each one that is shown: those before may belong to phrases, or be related to others."""
_COVERED = 0.3
"""Weight of a phrase, as a share of the weight of its first-ranked word, from which it is shown instead of the word."""
_CONTEXTS = 3
"""Minimum number of different words before and after a phrase, counted together."""


@dataclass(slots=True)
class _Occurrences:
    sentences: int = 0
    before: set[str] = field(default_factory=set)
    after: set[str] = field(default_factory=set)


def theme_words(texts: Sequence[str], labels: Labels, k: int, words: int = 3) -> list[tuple[str, ...]]:
    """Return up to ``words`` words or phrases for each of ``k`` clusters of ``texts``, best first.

    Stop words are those of English and of the languages that are detected in the texts.
    """
    languages = frozenset(("en", *frequent(language_shares(sampled(texts, _DETECTED)))))
    reader = WordReader.of(texts, stop_words(languages), languages)
    counts: list[Counter[str]] = [Counter() for _ in range(k)]
    for text, label in zip(texts, labels.tolist(), strict=True):
        counts[label].update({word.key for word in reader.words(text) if word.key})
    everywhere = sum(counts, Counter())
    mean = everywhere.total() / k
    weights = [
        {word: count * float(np.log1p(mean / everywhere[word])) for word, count in found.items()} for found in counts
    ]
    ranked = [sorted(of, key=lambda word: (-of[word], word))[: _NEAR * words] for of in weights]
    phrases, forms = _phrases(texts, labels, [frozenset(near) for near in ranked], reader)
    return [
        tuple(_form(forms[name]) for name in _picked(ranked[c], counts[c], weights[c], phrases[c], words))
        for c in range(k)
    ]


def theme_names(words: Sequence[Sequence[str]]) -> list[str]:
    """Return a unique name for each cluster, made of its words."""
    names: list[str] = []
    for number, found in enumerate(words):
        wanted = " · ".join(found) or f"theme {number + 1}"
        names.append(wanted if wanted not in names else f"{wanted} ({number + 1})")
    return names


def _phrases(
    texts: Sequence[str], labels: Labels, near: Sequence[frozenset[str]], reader: WordReader
) -> tuple[list[dict[Phrase, _Occurrences]], dict[Phrase, Counter[str]]]:
    """Return the phrases of each cluster with one of its ``near`` words, and how phrases are written anywhere."""
    found: list[dict[Phrase, _Occurrences]] = [{} for _ in near]
    forms: dict[Phrase, Counter[str]] = {}
    for text, label in zip(texts, labels.tolist(), strict=True):
        tokens, seen = reader.words(text), set[Phrase]()
        for phrase, start, end in _spans(tokens, reader.links):
            if near[label].isdisjoint(phrase):
                continue
            written = joined(tokens[start:end])
            # A first word has lost its capital letter, so it counts less.
            forms.setdefault(phrase, Counter())[written] += 2 if start else 1
            occurrences = found[label].setdefault(phrase, _Occurrences())
            occurrences.sentences += phrase not in seen
            occurrences.before.add(tokens[start - 1].written.lower() if start else "")
            occurrences.after.add(tokens[end].written.lower() if end < len(tokens) else "")
            seen.add(phrase)
    return found, forms


def _spans(tokens: Sequence[NameWord], linking: frozenset[str]) -> Iterator[tuple[Phrase, int, int]]:
    """Yield every phrase of up to three words with its first token and the one after its last; words are phrases."""
    for start, first in enumerate(tokens):
        if not first.key:
            continue
        phrase: Phrase = (first.key,)
        links = 0
        yield phrase, start, start + 1
        for at in range(start + 1, len(tokens)):
            token = tokens[at]
            if token.key:
                phrase, links = (*phrase, token.key), 0
                yield phrase, start, at + 1
                if len(phrase) == _LONGEST:
                    break
            else:
                links += 1
                if links > _MOST_LINKS or token.written not in linking:
                    break


def _picked(
    ranked: Sequence[str],
    counts: Counter[str],
    weights: dict[str, float],
    phrases: dict[Phrase, _Occurrences],
    words: int,
) -> list[Phrase]:
    """Return words or phrases without related words, in order of their first-ranked word."""
    usual = {
        phrase: sum(weights[word] * found.sentences / counts[word] for word in phrase)
        for phrase, found in phrases.items()
        if len(phrase) > 1 and found.sentences > 1 and len(found.before) + len(found.after) >= _CONTEXTS
        if not any(related(a, b) for i, a in enumerate(phrase) for b in phrase[:i])
    }
    names: list[Phrase] = []
    for word in ranked:
        if len(names) == words:
            break
        used = [other for name in names for other in name]
        if any(related(word, other) for other in used):
            continue
        fitting = [
            (weight, len(phrase), phrase)
            for phrase, weight in usual.items()
            if word in phrase and not any(related(own, other) for own in phrase for other in used)
        ]
        weight, _, phrase = max(fitting, default=(0.0, 1, (word,)))
        names.append(phrase if weight >= _COVERED * weights[word] else (word,))
    return names


def related(one: str, other: str) -> bool:
    """Return whether two words differ in their last letters only, as monarch and monarchy do."""
    shorter = min(len(one), len(other))
    common = next((i for i in range(shorter) if one[i] != other[i]), shorter)
    return one == other or (common >= 5 and common >= shorter - 3)


def _form(written: Counter[str]) -> str:
    return min(written, key=lambda form: (-written[form], form.islower(), form))


# --- level names ------------------------------------------------------------------------------------------------------


_COMMON = 0.2
"""Share of the sentences from which a word is left out."""
_COMMON_FROM = 50
"""Number of sentences from which that share means something."""
_NEAR_TERMS = 12
"""Number of ranked terms for each one that is shown."""
_PAIR = 0.6
"""Weight of a pair of words, as a share of that of one of its words, from which it is shown instead of the word."""
_LEAST = 2
"""Sentences of a group that a term must occur in, unless no term occurs in so many."""


def level_names(
    texts: Sequence[str], levels: Sequence[Labels], words: int = 2, given: Mapping[int, Sequence[str]] | None = None
) -> list[list[str]]:
    """Return the names of the groups of each level, finest level first as in ``levels``.

    Parameters
    ----------
    levels
        (n,) group of each text, 0 … k - 1, for each level. Each group of a level is part of one group of the next.
    words
        Maximum number of words or pairs of words of a name.
    given
        Known names of the groups of some levels, by position of the level; they are kept.

    Returns
    -------
    list of lists of str
        The name of each group. A group has no word of the group that it is part of; "" where nothing is left.
    """
    reader = WordReader.of(texts, SMART_STOP_WORDS, frozenset(("en",)))
    counts, terms, frequencies, forms = _counted(texts, levels[0], reader)
    names: list[list[str]] = []
    above: list[str] = []
    for level in reversed(range(len(levels))):
        # The counts of the groups of this level from those of the finest one.
        owner = np.array(_owners(levels[0], levels[level]), dtype=np.intp)
        sizes = int(levels[level].max(initial=-1)) + 1
        joined = sparse.csr_array((np.ones(len(owner)), (owner, np.arange(len(owner)))), shape=(sizes, len(owner)))
        parts = (joined @ counts).tocsr()
        used = [above[owner] for owner in _owners(levels[level], levels[level + 1])] if above else [""] * sizes
        known = (given or {}).get(level)
        above = list(known) if known else [
            " · ".join(
                forms.get(term, term)
                for term in _picked_terms(weights, terms, [word.key for word in reader.words(taken) if word.key], words)
            )
            for weights, taken in zip(_weighted(parts, frequencies), used, strict=True)
        ]  # fmt: skip
        names.insert(0, above)
    return names


def _terms(words: Sequence[NameWord]) -> Iterator[tuple[str, str]]:
    """Yield the words of a sentence and its pairs of neighbouring words, and how they are written.

    "" for the first word in small letters, which may have lost a capital.
    """
    for i, word in enumerate(words):
        lost = not i and word.written == word.written.lower()
        if word.key:
            yield word.key, "" if lost else word.written
        if word.key and i and words[i - 1].key and not related(words[i - 1].key, word.key):
            yield f"{words[i - 1].key} {word.key}", joined(words[i - 1 : i + 1])


def _counted(
    texts: Sequence[str], groups: Labels, reader: WordReader
) -> tuple[sparse.csr_array, list[str], npt.NDArray[np.float64], dict[str, str]]:
    """Return (k, t) sentences of each group with each term, the terms, the (t,) sentences with each, and forms.

    The forms are how terms are written most often.
    """
    index: dict[str, int] = {}
    rows: list[int] = []
    columns: list[int] = []
    written: Counter[tuple[str, str]] = Counter()
    for group, text in zip(groups.tolist(), texts, strict=True):
        found = list(_terms(reader.words(text)))
        there = {index.setdefault(term, len(index)) for term, _ in found}
        rows += [group] * len(there)
        columns += there
        written.update((term, form) for term, form in found if form)
    forms: dict[str, str] = {}
    for (term, form), _ in sorted(written.items(), key=lambda item: (-item[1], item[0])):
        forms.setdefault(term, form)
    shape = (int(groups.max(initial=-1)) + 1, len(index))
    counts = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
    frequencies = np.bincount(np.array(columns, dtype=np.intp), minlength=len(index)).astype(np.float64)
    if len(texts) >= _COMMON_FROM:
        common = {term for term, column in index.items() if frequencies[column] > _COMMON * len(texts)}
        kept = np.array([common.isdisjoint(term.split()) for term in index], dtype=bool)
        counts = counts.multiply(kept).tocsr()
        counts.eliminate_zeros()
    return counts, list(index), frequencies, forms


def _owners(fine: Labels, coarse: Labels) -> list[int]:
    """Return the group of the coarse level of each group of the fine one."""
    owner = np.zeros(int(fine.max(initial=-1)) + 1, dtype=np.int64)
    owner[fine] = coarse
    return [int(value) for value in owner]


def _weighted(parts: sparse.csr_array, frequencies: npt.NDArray[np.float64]) -> Iterator[dict[int, float]]:
    """Yield the class-based tf-idf of the terms of each group, without those of a single sentence of many."""
    mean = float(parts.sum()) / max(parts.shape[0], 1)
    for start, end in pairwise(parts.indptr.tolist()):
        columns, counts = parts.indices[start:end], parts.data[start:end]
        keep = counts >= _LEAST if (counts >= _LEAST).any() else counts > 0
        weights = counts[keep] * np.log1p(mean / frequencies[columns[keep]])
        yield dict(zip(columns[keep].tolist(), weights.tolist(), strict=True))


def _picked_terms(weights: Mapping[int, float], terms: Sequence[str], taken: Sequence[str], words: int) -> list[str]:
    """Return the best terms of a group, without words that are related to ``taken`` ones or to each other."""
    ranked = sorted(weights, key=lambda column: (-weights[column], terms[column]))[: _NEAR_TERMS * words]
    named: list[str] = []
    for column in ranked:
        used = [*taken, *(word for name in named for word in name.split())]
        fitting = (
            term
            for term in (_with_pair(column, ranked, weights, terms), terms[column])
            if not any(related(word, other) for word in term.split() for other in used)
        )
        if len(named) < words and (term := next(fitting, "")):
            named.append(term)
    return named


def _with_pair(column: int, ranked: Sequence[int], weights: Mapping[int, float], terms: Sequence[str]) -> str:
    """Return a term, or the first pair of words that contains it and weighs enough."""
    term = terms[column]
    for other in ranked:
        pair = terms[other].split()
        if len(pair) > 1 and term in pair and weights[other] >= _PAIR * weights[column]:
            return terms[other]
    return term
