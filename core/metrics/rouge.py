"""ROUGE-1 of a summary against reference summaries, with the options of version 1.5.5 (Lin 2004).

Unlike the Perl script, stemming does not use its list of irregular forms from WordNet, and there is no jackknifing over
references, because scores are averaged over them. Neither changes the scores of this project.
"""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from themescope.core.config import Config, option
from themescope.core.text.tokens import STOP_WORDS

_TOKEN = re.compile(r"[a-z0-9]+")
_SHORT = 3  # tokens of at most so many letters are not stemmed
_LOCAL = threading.local()  # a stemmer has state, so threads cannot share one


@dataclass(frozen=True)
class RougeSettings(Config):
    """Options of ROUGE; the defaults are those of Saha et al. 2017 (-l 100 -m -s -f A)."""

    words: int = option(100, "Number of words at the start of summary and reference to compare; 0 uses all.", low=0)
    stemming: bool = option(True, "Compare words of more than three letters by their Porter stem.")
    remove_stop_words: bool = option(True, "Ignore stop words (the SMART list).")


@dataclass(frozen=True, slots=True)
class RougeCounts:
    """Word counts shared by summary and references, summed over the references (model-average scoring)."""

    hits: int
    """Number of tokens of the references that are also in the summary."""
    total: int
    """Number of tokens of all references."""
    compared: int
    """Number of tokens of the summary, counted for each reference."""

    @property
    def recall(self) -> float:
        """Share of the references' tokens that are in the summary; 0 without tokens."""
        return self.hits / self.total if self.total else 0.0

    @property
    def precision(self) -> float:
        """Share of the summary's tokens that are in the references; 0 without tokens."""
        return self.hits / self.compared if self.compared else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of recall and precision."""
        both = self.total + self.compared
        return 2 * self.hits / both if both else 0.0


def rouge_1(system: str, references: Sequence[str], settings: RougeSettings) -> RougeCounts:
    """Count the single words that ``system`` shares with each of the ``references``."""
    own = rouge_tokens(system, settings)
    hits = total = 0
    for reference in references:
        theirs = rouge_tokens(reference, settings)
        hits += (own & theirs).total()
        total += theirs.total()
    return RougeCounts(hits, total, own.total() * len(references))


def rouge_tokens(text: str, settings: RougeSettings) -> Counter[str]:
    """Return the tokens: lower case, split at non-alphanumeric ASCII characters, as in ROUGE 1.5.5."""
    if settings.words:
        text = " ".join(text.split()[: settings.words])
    tokens = _TOKEN.findall(text.lower())
    if settings.remove_stop_words:
        tokens = [token for token in tokens if token not in STOP_WORDS]
    return Counter(map(_stem, tokens) if settings.stemming else tokens)


@lru_cache(maxsize=200_000)
def _stem(token: str) -> str:
    if len(token) <= _SHORT:
        return token
    stemmer = getattr(_LOCAL, "stemmer", None)
    if stemmer is None:
        import snowballstemmer

        stemmer = _LOCAL.stemmer = snowballstemmer.stemmer("porter")
    return str(stemmer.stemWord(token))
