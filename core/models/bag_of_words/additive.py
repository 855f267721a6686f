"""``c-phrase``: published word vectors made to be added up; a sentence is their sum at unit length (SJH17, section 4).

Any table of additive word vectors serves; SJH17 took the 300-d vectors of C-PHRASE (Pham et al. 2015). Words are read
in lower case without punctuation, unstemmed (algorithms F.7). Cosine distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from core.config import Config, option
from core.models.bag_of_words.word_table import WordTable
from core.models.con_s2v.word_sums import summed
from core.models.distances import unit_length
from core.text.stems import content_words
from core.text.word_vectors import STORAGES
from core.types import Sentence, Vectors


@dataclass(frozen=True)
class AdditiveConfig(Config):
    """Settings of ``c-phrase``."""

    word_vectors: str = option(
        "glove-6b-50d", "Table of word vectors: a file of the C-PHRASE vectors, or any other table.", file=True
    )
    vocabulary_limit: int = option(0, "Keep only this many words of the table, from its start; 0 keeps all.", low=0)
    storage: str = option("fp16", "How the saved model keeps its vectors.", choices=STORAGES)


class Additive(WordTable):
    """Sums of word vectors at unit length; nothing is learned, :meth:`fit` reads the table."""

    config_class: ClassVar[type[Config]] = AdditiveConfig

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """(n, dim) rows of unit length; a sentence without a known word is the zero vector."""
        words = [content_words(s.text, stemmed=False) for s in sentences]
        return unit_length(summed(words, self._fitted(), mean=False))
