"""Settings of the static encoder.

This module imports no torch, so that a form can be drawn without it.
"""

from __future__ import annotations

from dataclasses import dataclass

from themescope.core.config import option
from themescope.core.errors import ConfigError
from themescope.core.models.contrastive.config import DistillationConfig
from themescope.core.text.word_vectors import STORAGES


@dataclass(frozen=True)
class StaticEncoderConfig(DistillationConfig):
    """Settings of ``static-encoder``."""

    word_vectors: tuple[str, ...] = option(
        ("glove-6b-50d",),
        "Tables of word vectors to start from, concatenated: the id of a table, a file, or distilled:FOLDER of a "
        "sentence encoder (distilled: alone uses the installed one).",
        file=True,
    )
    vocabulary_limit: int = option(0, "Read only the first words of each table, this many; 0 reads all.", low=0)
    vocabulary: int = option(
        40_000, "Maximum number of words: the most frequent ones of the training articles, in lower case.",
        low=1, high=1_000_000, unit="words",
    )  # fmt: skip
    least_count: int = option(5, "Ignore words that occur less often in the training articles.", low=1, high=1_000_000)
    dim: int = option(
        128, "Maximum number of dimensions of a vector; starts with the principal components of the tables.",
        low=2, high=4_096,
    )  # fmt: skip
    train_vectors: bool = option(
        True, "Train the vector of every word. Otherwise only the weights of words and one linear map of all vectors "
        "are trained, which is several times as fast.",
    )  # fmt: skip
    frequency: float = option(
        1e-3, "Parameter a of the initial weight a / (a + p) of a word, where p is its share of all words; the weights "
        "are learned.",
        low=1e-6, high=1e3,
    )  # fmt: skip
    word_dropout: float = option(0.1, "Share of words that is left out in training.", low=0.0, high=0.95)
    articles_per_batch: int = option(16, "Number of articles in a batch.", low=1, high=1_024)
    epochs: int = option(3, "Maximum number of visits to each article.", low=1, high=10_000)
    learning_rate: float = option(1e-3, "Highest learning rate of AdamW.", low=1e-7, high=1.0)
    weight_decay: float = option(0.0, "Weight decay of AdamW.", low=0.0, high=10.0)
    precision: str = option("fp32", "Number format of the vectors in training.", choices=("fp32",))
    storage: str = option(
        "fp16", "Number format of the vectors in the saved model; int8 needs half of fp16.", choices=STORAGES
    )

    def validate(self) -> None:
        """Refuse an empty list of tables."""
        if not self.word_vectors:
            raise ConfigError(f"{self.named('word_vectors')} is empty. Name at least one table.")
