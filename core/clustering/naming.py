"""Names of clusters: the words and phrases that are frequent in one cluster and rare in the others.

Words are ranked by class-based tf-idf (Grootendorst 2022, BERTopic): weight = n(word, cluster) · ln(1 + A / f(word)),
where n counts sentences of the cluster, A is the mean number of words in a cluster and f the number of sentences in
all. Singular and plural count as one word. A word is shown within a phrase, such as "freedom of speech", if the phrase
accounts for enough of the weight of its words, and if it occurs in different contexts: repeated sentences would make
anything in them a phrase. Words and phrases are shown as they are mostly written.

Nested groups, such as the regions of a map at several levels of zoom, have short names without words of the group that
they are part of (:func:`level_names`).
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise

import numpy as np
import regex  # type: ignore[import-untyped]

from themescope.core.text.languages import (
    COMPOUNDING,
    GENERIC_NOUNS,
    NAMING_WORDS,
    SMART_STOP_WORDS,
    STRAIGHT_QUOTES,
    UNSPACED,
    WordKinds,
    frequent,
    language_shares,
    sampled,
    split,
    stem,
    stop_words,
    unspaced_words,
    whole_words,
)
from themescope.core.types import Floats, Labels

Phrase = tuple[str, ...]
"""Keys of the words of a phrase, without the words that link them."""

_MOST_LINKS, _LONGEST = 2, 3
_DETECTED = 500  # maximum number of texts whose languages are detected
_NEAR = 12  # ranked words for each one that is shown: those before may belong to phrases, or be related to others
_COVERED = 0.3  # weight of a phrase as a share of that of its first-ranked word, from which it replaces the word
_WHOLE = 0.7  # share of the sentences with words, or a part of one, that are in a longer one, which is the name then
_SHARES = 0.25, 0.12
"""Share of the sentences with its most frequent word that a phrase is in, at least: one of three words, of two."""
_CONTEXTS = 3  # minimum number of different words before and after a phrase, counted together
_LIFT = 1.5  # how much more frequent a word is in a cluster than in the others, at least, to tell it from them
_WEAK = 0.4, 0.5, 0.25
"""Least weight of the second word, of further ones, and where the name is thin, as a share of that of the first."""
_THIN = 0.5  # share of the sentences with words of a name, counted one by one, below which it is thin
_SHORT, _FEW_WORDS = 60, 12  # most bytes, and number of words that are too many, of a text that is a name
_OFTEN = 0.15  # share of the sentences of a cluster that a further word is in, at least, unless the first is in few
_FEW, _SINGLE = 3, 2  # size of a cluster above which a further word of its name is in more than a single sentence
_CENTRAL, _TYPICAL = (4, 8), (0.3, 0.25)
"""First texts that may be the name, and share of the texts that each of its words is in: of others, of questions."""
_CLIPPED = 0.25, 1.9  # least and most that a sentence counts, so that a single one is never as much as two
_SAYS_LITTLE = SMART_STOP_WORDS | GENERIC_NOUNS | NAMING_WORDS
_GENERIC = 0.3  # factor of the weights of nouns without a subject, as "way"


@dataclass(slots=True)
class _Occurrences:
    sentences: float = 0.0
    before: set[str] = field(default_factory=set)
    after: set[str] = field(default_factory=set)
    proper: float = 0.0
    """How often each of its words has a capital letter and small ones, not at the start of a text."""
    plural: bool = False
    """Whether a word before the last one, and before no link, ends in -s, as verbs do and parts of nouns rarely."""


def theme_words(
    texts: Sequence[str], labels: Labels, k: int, words: int = 3, central: Floats | None = None
) -> list[tuple[str, ...]]:
    """Return up to ``words`` phrases for each of ``k`` clusters of ``texts``, best first.

    They are noun phrases that tell a cluster from the others. Where one or none does, verbs and adjectives may follow
    it, or follow the best noun that the clusters share. Stop words are those of English and of the languages that are
    detected in the texts. Texts count by the square of their mean similarities ``central`` (n,) to their cluster.
    """
    reader = WordReader.of_list(texts)
    return _named([*map(reader.words, texts)], labels, k, words, reader, central=central)


def _named(
    read: Sequence[Sequence[NameWord]],
    labels: Labels,
    k: int,
    words: int,
    reader: WordReader,
    above: Sequence[Sequence[str]] = (),
    central: Floats | None = None,
) -> list[tuple[str, ...]]:
    """Return the phrases of each cluster; ``above`` are keys of words that each must not have."""
    counts: list[Counter[str]] = [Counter() for _ in range(k)]
    whole: list[Counter[str]] = [Counter() for _ in range(k)]
    kinds = WordKinds(reader.language)
    sizes = np.bincount(labels, minlength=k)
    squares = np.ones(len(labels)) if central is None else np.maximum(central, 0.01) ** 2
    shares = np.clip(squares * sizes[labels] / np.bincount(labels, squares, k)[labels], *_CLIPPED).tolist()
    rows = [*zip(read, labels.tolist(), shares, strict=True)]
    inside = _parts({word.key for tokens in read for word in tokens}, reader.language)
    for tokens, label, share in rows:
        keys = {word.key for word in tokens if word.key}
        whole[label].update(dict.fromkeys(keys, share))
        counts[label].update(dict.fromkeys(keys.union(*(inside.get(key, ()) for key in keys)), share))
        kinds.read([t.written for t in tokens], [t.key for t in tokens], [t.elided for t in tokens])
    everywhere = sum(counts, Counter())
    generic = GENERIC_NOUNS - {"kind"} if reader.language == "de" else GENERIC_NOUNS  # the stem of "Kinder"
    longer = inside if reader.language in UNSPACED else {}
    weights = [_weights(own, everywhere, k, generic, longer) for own in counts]
    ranked = [sorted(of, key=lambda word: (-of[word], word))[: _NEAR * words] for of in weights]
    found, forms = _phrases(rows, [frozenset(near) for near in ranked], reader)
    shouted = 2 * sum(all(word.written.isupper() for word in tokens if word.key) for tokens in read) > len(read)
    english, taken = reader.language == "en", list[list[Phrase]]()

    def named(c: int) -> list[Phrase]:
        """Return words and phrases of a cluster without related words, in order of their first-ranked word.

        Words that do not tell it from the others, that are in few of its sentences, or a second phrase of a name that
        is taken, are used where nothing else is left, and a further word where the whole name is taken.
        """
        own, heavy, size = counts[c], weights[c], int(sizes[c])
        rest = (len(labels) - size + 1) / (_LIFT * size) if size else 0.0
        telling = [word for word in ranked[c] if own[word] * rest >= everywhere[word] - own[word] + 0.5]
        phrases, used = _noun_phrases(found[c], whole[c], heavy, kinds), above[c] if above else ()
        names: list[Phrase] = []

        def fill(given: Iterable[str], most: int, alone: Callable[[str], bool], longer: Mapping[Phrase, float]) -> None:
            for word in given:
                known = [*used, *chain.from_iterable(names)]
                if len(names) >= most or any(related(word, other) for other in known):
                    continue
                fitting = [
                    (weight, len(phrase), phrase)
                    for phrase, weight in longer.items()
                    if word in phrase and weight >= _COVERED * heavy[word]
                    if not any(related(part, other) for part in phrase for other in known)
                ]
                *_, phrase = max(fitting, default=(0.0, 1, (word,)))
                if len(phrase) == 1 and not alone(word):
                    continue
                if names and names not in taken:
                    lead = max(names[0], key=heavy.__getitem__)
                    seen = sum(max(own[part] for part in name) for name in names)
                    thin = len(names) < 2 and seen < _THIN * size and word not in GENERIC_NOUNS
                    weak = heavy[word] < (_WEAK[2] if thin else _WEAK[len(names) > 1]) * heavy[lead]
                    twin = any(phrase in other and not set(names).isdisjoint(other) for other in taken)
                    single = own[word] < _SINGLE and size > _FEW and names[:1] not in [other[:1] for other in taken]
                    if weak or twin or single or (not thin and own[word] < min(_OFTEN * size, own[lead] / 2)):
                        continue
                names.append(phrase)

        fill(telling, words, kinds.noun, phrases)
        # What one does with a thing, as in "new card · activate".
        verb = ranked[c][0] if english and telling[:1] == ranked[c][:1] != [] and kinds.action(ranked[c][0]) else ""
        if names and verb and not any(related(verb, word) for word in chain(used, *names)):
            names[1:] = [(verb,), *names[1 : words - 1]]
        fill(ranked[c], 1, kinds.noun, phrases)
        if english and sum(map(len, names)) < 2:
            fill(telling, 2, lambda word: word not in _SAYS_LITTLE, {})
        fill(ranked[c], 1, lambda word: True, {})
        return names

    for c in range(k):
        taken.append(named(c))
    german = reader.language == "de"
    return [tuple(_form(forms, name, shouted, german) for name in own) for own in taken]


def level_names(
    texts: Sequence[str], levels: Sequence[Labels], words: int = 2, given: Mapping[int, Sequence[str]] | None = None
) -> list[list[str]]:
    """Return the names of the groups of each level, finest level first as in ``levels``.

    ``levels`` are the (n,) groups of the texts, 0 … k - 1; each group is part of one group of the next level. A name
    has at most ``words`` words or phrases, and none of the group that it is part of; "" where nothing is left. Names
    in ``given``, by position of the level, are kept.
    """
    reader = WordReader.of_list(texts)
    read = [reader.words(text) for text in texts]
    names: list[list[str]] = []
    for level in reversed(range(len(levels))):
        labels, known = levels[level], (given or {}).get(level)
        k = int(labels.max(initial=-1)) + 1
        owner = np.zeros(k, np.int64)
        if names:
            owner[labels] = levels[level + 1]
        above = [[word.key for word in reader.words(names[0][of]) if word.key] for of in owner] if names else []
        names.insert(0, list(known or [" · ".join(own) for own in _named(read, labels, k, words, reader, above)]))
    return names


def theme_names(words: Sequence[Sequence[str]], texts: Sequence[Sequence[str]] = ()) -> list[str]:
    """Return a unique name for each cluster, made of its words.

    Given the ``texts`` of each cluster, most central first, one of the first is its name if it is short and says what
    many say, such as "How do I change my address?". The first one is, if it is short and the words alone say nothing,
    such as "Don't know", or no two texts of several share the first word.
    """
    names: list[str] = []
    for number, found in enumerate(words):
        wanted = " · ".join(found) or f"theme {number + 1}"
        own = list(dict.fromkeys(texts[number])) if texts else []
        read = [text.casefold().translate(_ALIKE) for text in own]

        def number_with(word: str, read: Sequence[str] = read) -> int:
            begins = word[: max(len(word) - 3, 3)]  # as in every form of the word
            return sum(begins in text for text in read)

        short = [text for text in own[: _CENTRAL[1]] if len(text.encode()) <= _SHORT and len(text.split()) < _FEW_WORDS]
        asked = [text.rstrip().endswith(("?", "？")) for text in short]
        said = [{*_SAID.findall(_plain(text).casefold())} - SMART_STOP_WORDS for text in short]
        several = _SINGLE if len(own) > _FEW else 1
        shared = [
            len(of) > 1
            and text in own[: _CENTRAL[ask]]
            and min(map(number_with, of)) >= max(several, _TYPICAL[ask] * len(own))
            for text, of, ask in zip(short, said, asked, strict=True)
        ]
        first = " ".join(found[:1]).casefold().translate(_ALIKE).split() or [""]
        silent = _SAYS_LITTLE.issuperset(" ".join(found).casefold().split())
        typical = shared.index(True) if True in shared else -1
        if typical >= 0 and (len(found) > 1 or not said[typical] <= {*_SAID.findall(wanted.casefold())}):
            wanted = " ".join(short[typical].split())
        elif short[:1] == own[:1] != [""] and own and (silent or (number_with(first[0]) < 2 and len(own) > _FEW)):
            wanted = own[0]
        names.append(wanted if wanted not in names else f"{wanted} ({number + 1})")
    return names


def _phrases(
    rows: Sequence[tuple[Sequence[NameWord], int, float]], near: Sequence[frozenset[str]], reader: WordReader
) -> tuple[list[dict[Phrase, _Occurrences]], dict[Phrase, Counter[str]]]:
    """Return the phrases of each cluster with one of its ``near`` words, and how phrases are written anywhere."""
    found: list[dict[Phrase, _Occurrences]] = [{} for _ in near]
    forms: dict[Phrase, Counter[str]] = {}
    anywhere = frozenset().union(*near)
    for tokens, label, share in rows:
        seen = set[Phrase]()
        for phrase, start, end in _spans(tokens, reader.links):
            elsewhere = near[label].isdisjoint(phrase)
            if elsewhere and (len(phrase) > 1 or phrase[0] not in anywhere):
                continue
            inside = tokens[start:end]
            # A first word has lost its capital letter, so it counts less. The form of a word of other clusters is
            # for those that have it only as part of longer ones.
            weight = 0.001 if elsewhere else 2 if start else 1
            forms.setdefault(phrase, Counter())[joined(inside)] += weight  # type: ignore[assignment]
            if elsewhere:
                continue
            occurrences = found[label].setdefault(phrase, _Occurrences())
            occurrences.sentences += share * (phrase not in seen)
            if start and all(_CAPITALISED.match(one.written) for one in inside if one.key):
                occurrences.proper += share
            occurrences.plural |= any(
                one.key and other.key and one.written.islower() and one.key != one.written
                for one, other in pairwise(inside)
            )
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
                after_link = links > 1 or token.written != "the"
                if links > _MOST_LINKS or token.written not in linking or not after_link:
                    break


def _noun_phrases(
    found: Mapping[Phrase, _Occurrences], counts: Counter[str], weights: Mapping[str, float], kinds: WordKinds
) -> dict[Phrase, float]:
    """Return the weights of phrases that are nouns with what describes them, and no fragments of longer ones."""
    usual = {
        phrase
        for phrase, own in found.items()
        if len(phrase) > 1 and own.sentences > _CLIPPED[1]
        # Two words of a name that are always together, as in "Buenos Aires", may be in the same context.
        if len(own.before) + len(own.after) >= _CONTEXTS
        or (len(phrase) == 2 and own.proper >= own.sentences >= max(counts[word] for word in phrase))
        if not any(related(a, b) for i, a in enumerate(phrase) for b in phrase[:i])
    }
    fragments = {
        piece
        for phrase in usual
        if len(phrase) > 2
        for piece in (phrase[:-1], phrase[1:])
        if piece in usual and found[phrase].sentences >= _WHOLE * found[piece].sentences
    }

    def accepted(phrase: Phrase, own: _Occurrences) -> bool:
        short = len(phrase) == 2 or {phrase[:-1], phrase[1:]} <= fragments
        often = own.sentences >= _SHARES[short] * max(counts[word] for word in phrase)
        return often and (2 * own.proper > own.sentences or (not own.plural and kinds.nominal(phrase, own.before)))

    return {
        phrase: sum(weights[word] * found[phrase].sentences / counts[word] for word in phrase)
        for phrase in usual - fragments
        if accepted(phrase, found[phrase])
    }


def _weights(
    own: Counter[str], everywhere: Counter[str], k: int, generic: Set[str], inside: Mapping[str, Sequence[str]]
) -> dict[str, float]:
    """Return the weights of the words of a cluster, less for ``generic`` ones, and 0 for most parts of longer ones.

    ``inside`` are the parts of each word.
    """
    mean = everywhere.total() / max(k, 1)
    found = {
        word: count * float(np.log1p(mean / everywhere[word])) * (_GENERIC if word in generic else 1.0)
        for word, count in own.items()
    }
    whole = {part for word in own for part in inside.get(word, ()) if own[word] >= _WHOLE * own[part]}
    return found | dict.fromkeys(whole, 0.0)


def _parts(words: Collection[str], language: str) -> dict[str, list[str]]:
    """Return the words that are parts of longer ones: of compounds, and anywhere in words of scripts without spaces."""
    if language in UNSPACED:
        return {
            word: [
                part
                for start in range(len(word))
                for end in range(start + 2 + (word[start] < _KANJI_FROM), len(word) + 1)
                if (part := word[start:end]) in words and part != word
            ]
            for word in words
            if len(word) > 2
        }
    if language not in COMPOUNDING:
        return {}
    return {
        word: [
            part for at in range(3, len(word) - 2) for part in (word[:at], word[at:]) if len(part) > 3 and part in words
        ]
        for word in words
        if len(word) > 6
    }


def related(one: str, other: str) -> bool:
    """Return whether two words differ in their last letters only, as monarch and monarchy do."""
    if one[:1] >= _NO_SPACES:
        return one in other or other in one or (one[0] >= _KANJI_FROM and one[:2] == other[:2])
    shorter = min(len(one), len(other))
    common = next((i for i in range(shorter) if one[i] != other[i]), shorter)
    return one == other or common >= max(4, shorter - 3, min(shorter, 5))


def _form(forms: Mapping[Phrase, Counter[str]], name: Phrase, shouted: bool, german: bool = False) -> str:
    """Return a phrase as it is mostly written, but not in capitals if the whole list is.

    In German it has a capital, and no end of dative or genitive if it is also written without.
    """
    of, first_of = forms[name], forms.get(name[:1], Counter[str]())
    written = min(of, key=lambda form: (-of[form], form.islower(), form))
    if german:
        short = [form for form in of if _without_case(written, form)]
        written = min(short, key=len, default=written)
        return written[:1].upper() + written[1:]
    first = min(first_of, key=lambda form: (-first_of[form], form.islower(), form), default="")
    if shouted:
        return str(_SHOUTED.sub(lambda word: word[0].capitalize(), written))
    # The first word of a text has lost its capital letter.
    return first + written[len(first) :] if written.startswith(first.lower()) and name[1:] else written


def _without_case(written: str, form: str) -> bool:
    """Return whether a German phrase is another one without ends of dative and genitive."""
    pairs = [*zip(written.split(), form.split(), strict=False)]
    ends = [one[len(other) :] for one, other in pairs if one.casefold().startswith(other.casefold())]
    return len(ends) == len(written.split()) == len(form.split()) and {"", "n", "s", "en", "es"}.issuperset(ends)


# Words of texts as names of clusters need them: no fragments of words, no function words, no remains of markup

_LINKS = {
    "en": "of the and 's",
    "de": "der des von und",
    "fr": "de du des d' la le les à",
    "ja": "の ・",
    "nl": "van de het en",
    "es": "de la del los las y",
    "it": "di del della dei e",
    "pt": "de da do das dos e",
}
"""Words that a phrase may have between two others, by language."""
_CAPITALISED = regex.compile(r"\p{Lu}(?:.*\p{Ll}|\p{Lu}{1,2}$)")  # a name or a short abbreviation
_ELIDING = frozenset(("ca", "fr", "it"))  # languages that write short words before an apostrophe, as in "l'eau"
_REMAINS = frozenset(("ref", "rrb", "lrb", "nbsp", "quot"))  # words that are remains of markup in many data sets
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
_TAG = regex.compile(
    r"""</?[a-z]{1,10}[1-6]?(?:\s+[\w:-]+(?:\s*=\s*(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>]+))?)*\s*/?>""", regex.IGNORECASE
)
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
_SAID = regex.compile(r"(?<!')\b\w+\b(?!')")  # words that have no apostrophe
_DOTTED = regex.compile(r"\w\.\w|@|://")  # what every address has
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
_SHOUTED = regex.compile(r"\b\p{Lu}+[AEIOU](?![AEIOU])\p{Lu}+")  # a word in capitals that looks like no abbreviation
_DIGITAL = regex.compile(r"[1-9]-?(?!ST|ND|RD|TH)(?:\p{Lu}{1,2}|[dg])(?:-\p{L}+)?")
"""Words that begin with a digit, as 5G, 3D and 3D-printed. Others are amounts, ordinals and years."""
_NO_SPACES, _KANJI_FROM = "\u3040", "\u3400"  # first characters of kana, and of ideographs
_ONE_SYLLABLE = "\u1100"  # character from which on two letters may be a word of meaning: Hangul and ideographs
_TURKISH = regex.compile("[ıİğĞ]")
_SMALL = str.maketrans({"I": "ı", "İ": "i"})
_ALIKE = str.maketrans({"ı": "i", "\u0307": None, "'": " "})
"""For small letters: what names and texts may write differently, the Turkish i and what stands at an apostrophe."""

_KANA = regex.compile(r"[\p{Hiragana}\p{Katakana}]")
_KANJI, _HIRAGANA = regex.compile(r"\p{Han}"), regex.compile(r"\p{Hiragana}")
_SEGMENT = regex.compile(r"\p{Han}+|\p{Hiragana}+|[\p{Katakana}ー]+")
_INFLECTED = regex.compile("[いうえきくけぎぐげちつてぶべびみむめりるれ]")
"""Hiragana that, after kanji, mostly continue a verb or adjective; particles and forms of する begin with others."""
_BEFORE_NOUN, _AFTER_NOUN = frozenset("はがをにのともでへやなるた"), frozenset("はがをにのともでへや")
"""Hiragana beside a single kanji that is a word, as in "新鮮な水は"."""
_PARTICLE = regex.compile(
    r"((?<!目)的(?!士)|了(?!解)|(?<![存潜])在|是|(?<!共)和(?![平谐])|(?<!参)[与與]|也(?!门)|[很这那這不]|(?<!成)就(?!业)"
    r"|(?<![首成古])都(?!市)|而|(?<![埃普])及(?!格)|或|之|(?<!土耳)其|被(?!告)|[把吧呢吗嗎啊你我她它]|(?<![其吉])他)"
)
"""Chinese characters that hardly belong to a noun of two."""
_UNSPACED = regex.compile(r"\p{Han}+|[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]+")
_READ = 20_000  # maximum number of texts in which words without spaces are found


@dataclass(frozen=True, slots=True)
class NameWord:
    """A word of a text, or a mark between words.

    ``key`` is the same for the forms of a word, and empty for what names leave out. ``spaced`` says whether a space is
    written before it, ``elided`` is what was joined to it by an apostrophe, as l in "l'eau".
    """

    written: str
    key: str = ""
    spaced: bool = True
    elided: str = ""


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
    language: str = "en"
    """The most frequent language."""
    known: dict[tuple[str | bool, ...], list[NameWord]] = field(default_factory=dict, compare=False)
    """Words that were read, which texts share, so that they need little memory."""

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
            whole_words(
                unspaced_words(part for run in runs for part in _PARTICLE.split(run) if not _PARTICLE.match(part)), stop
            ),
        )

    @classmethod
    def of_list(cls, texts: Sequence[str]) -> WordReader:
        """Return the rules for a list in the languages that are detected in it, and in English."""
        found = frequent(language_shares(sampled(texts, _DETECTED)))
        languages = frozenset(("en", *found))
        return replace(cls.of(texts, stop_words(languages) - NAMING_WORDS, languages), language=found[0])

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
                continue
            about = kind or "", piece, cased, turkish, spaced, not found
            if about not in self.known:
                self.known[about] = [*self._read(*about)]
            found += self.known[about]
        return found

    def _read(self, kind: str, piece: str, cased: bool, turkish: bool, spaced: bool, first: bool) -> Iterator[NameWord]:
        if kind == "unspaced":
            yield from self._pieces(piece, spaced)
        elif kind == "initials":
            key = piece.replace(".", "")
            yield NameWord(piece, self._key(key, key.lower(), cased=True) or key.lower(), spaced)
        elif kind == "word":
            yield from self._word(piece, cased, turkish, spaced, first)
        else:
            yield NameWord(piece, spaced=spaced)

    def _word(self, piece: str, cased: bool, turkish: bool, spaced: bool, first: bool) -> Iterator[NameWord]:
        """Yield a word in letters, and its clitic."""
        clitic = _CLITIC.search(piece)
        if clitic and piece.lower() not in _CONTRACTIONS:
            yield from self._word(piece[: clitic.start()], cased, turkish, spaced, first)
            yield NameWord(clitic.group(), spaced=False)
            return
        elided = ""
        if "'" in piece and piece.lower() not in self.stop and not piece.lower().endswith("n't"):
            if turkish:
                piece = piece.partition("'")[0]
            elif self.elides:
                elided, _, piece = piece.rpartition("'")
        small = (piece.translate(_SMALL) if turkish else piece).lower()
        keeps = not first or any(map(str.isupper, piece[1:]))
        yield NameWord(piece if keeps else small, self._key(piece, small, cased), spaced, elided.lower())

    def _key(self, piece: str, word: str, cased: bool) -> str:
        abbreviation = piece if cased and piece in _ABBREVIATIONS else ""
        if word in self.stop or word in _REMAINS or word in _CONTRACTIONS or word.endswith("n't"):
            return abbreviation
        if word[0].isdigit():
            return word if _DIGITAL.fullmatch(piece) else ""
        if cased and piece[-1] == "s" and len(piece) > 2 and piece[:-1].isupper():
            word = word[:-1]  # plural of an abbreviation, as TVs
        if len(word) > 2:
            if self.language == "de":
                return stem(word, "german")
            if word.endswith("ies") and len(word) > 4:
                return word[:-3] + "y"
            return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3 else word
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
