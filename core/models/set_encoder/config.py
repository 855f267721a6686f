"""Settings of the set encoder.

This module imports no torch, so that a form can be drawn without it.
"""

from __future__ import annotations

from dataclasses import dataclass

from themescope.core.config import option
from themescope.core.errors import ConfigError
from themescope.core.models.contrastive.config import ContrastiveConfig


@dataclass(frozen=True)
class SetEncoderConfig(ContrastiveConfig):
    """Settings of ``set-encoder``."""

    width: int = option(256, "Dimensions of the states of the transformer.", low=2, high=4_096)
    layers: int = option(3, "Number of transformer blocks.", low=1, high=48)
    heads: int = option(4, "Number of attention heads of a block; must divide the width.", low=1, high=64)
    dropout_rate: float = option(
        0.1, "Share of input dimensions, states and attention weights that is masked in training.", low=0, high=0.95
    )
    words: float = option(
        0.5, "Initial weight λ of the tf-idf similarity, against 1 for the cosine of the vectors; λ is learned.",
        low=0.0, high=1_000.0,
    )  # fmt: skip
    word_bias: bool = option(
        True, "Add the tf-idf similarity to the attention logits, with a learned weight for each head."
    )
    set_limit: int = option(
        3_000, "Maximum number of sentences that attend to each other. A longer article is divided into parts of equal "
        "size by a hash of the text of its sentences.",
        low=2, high=100_000, unit="sentences",
    )  # fmt: skip
    articles_per_batch: int = option(8, "Number of articles in a batch.", low=1, high=1_024)
    sections_per_article: int = option(
        0, "Maximum number of sections drawn from an article at each visit; 0 draws all.", low=0, high=10_000
    )
    sentences_per_section: int = option(
        0, "Maximum number of sentences drawn from a section at each visit; 0 draws all.", low=0, high=100_000
    )
    sentences_per_article: int = option(
        72, "Maximum number of sentences drawn from an article at each visit; 0 sets no limit.", low=0, high=100_000
    )
    embedded_per_article: int = option(
        100, "Maximum number of sentences of a training article that are embedded, sampled with the seed; the others "
        "are never drawn. 0 embeds all.",
        low=0, high=100_000,
    )  # fmt: skip
    least_share: float = option(
        0.6, "Smallest share of an article's sentences that is kept at a visit: the share is drawn anew between this "
        "and 1, which is a form of augmentation.",
        low=0.05, high=1.0,
    )  # fmt: skip
    epochs: int = option(20, "Maximum number of visits to each article.", low=1, high=10_000)
    learning_rate: float = option(4e-4, "Highest learning rate of AdamW.", low=1e-7, high=1.0)
    weight_decay: float = option(0.05, "Weight decay of AdamW.", low=0.0, high=10.0)
    precision: str = option("fp32", "Number format of matrix products.", choices=("fp32",))

    def validate(self) -> None:
        """Refuse a width that the heads do not divide."""
        if self.width % self.heads:
            raise ConfigError(
                f"{self.named('width')} is {self.width} and {self.named('heads')} is {self.heads}. Choose a width that "
                "is a multiple of the number of heads."
            )
