"""Settings of contrastive training that its methods share.

This module imports no torch, so that a form can be drawn without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from themescope.core.config import Config, option
from themescope.core.models.contrastive.sampling import SampleSize


@dataclass(frozen=True)
class ContrastiveConfig(Config):
    """Batches, loss and optimisation; a method changes defaults and adds the settings of its network."""

    temperature: float = option(0.1, "Temperature τ that similarities are divided by in the loss.", low=1e-3, high=10.0)
    articles_per_batch: int = option(4, "Number of articles in a batch.", low=1, high=1_024)
    sections_per_article: int = option(
        8, "Maximum number of sections drawn from an article at each visit; 0 draws all.", low=0, high=10_000
    )
    sentences_per_section: int = option(
        4, "Maximum number of sentences drawn from a section at each visit; 0 draws all.", low=0, high=100_000
    )
    sentences_per_article: int = option(
        0, "Maximum number of sentences drawn from an article at each visit; 0 sets no limit.", low=0, high=100_000
    )
    least_share: float = option(
        1.0, "Smallest share of an article's sentences that is kept at a visit: the share is drawn anew between this "
        "and 1, which is a form of augmentation.",
        low=0.05, high=1.0,
    )  # fmt: skip
    epochs: int = option(10, "Maximum number of visits to each article.", low=1, high=10_000)
    learning_rate: float = option(1e-3, "Highest learning rate of AdamW.", low=1e-7, high=1.0)
    warmup: float = option(
        0.05, "Share of the steps in which the learning rate rises; afterwards it decreases linearly to 0.",
        low=0.0, high=0.9,
    )  # fmt: skip
    weight_decay: float = option(0.01, "Weight decay of AdamW.", low=0.0, high=10.0)
    gradient_clip: float = option(1.0, "Maximum norm of the gradient of a batch.", low=1e-3, high=1e6)
    evaluations_per_epoch: int = option(1, "Number of validations in each epoch.", low=1, high=100)
    patience_stop: int = option(5, "Number of validations without a gain before training stops.", low=1, high=1_000)
    training_limit: int = option(
        0, "Train on at most this many articles, sampled with the seed; 0 uses all. For learning curves.",
        low=0, unit="articles",
    )  # fmt: skip
    validation_limit: int = option(
        150, "Maximum number of validation articles, sampled with the seed; 0 uses all.", low=0, unit="articles"
    )
    precision: str = option(
        "auto", "auto: bfloat16 on a GPU and on a processor that computes it natively, otherwise float32.",
        choices=("auto", "fp32", "bf16"),
    )  # fmt: skip
    device: str = option("auto", "auto uses a CUDA GPU if there is one.", choices=("auto", "cpu", "cuda"))
    threads: int = option(
        0, "Number of processor threads; 0 uses all. With 1, results are reproducible.", low=0, high=256
    )
    checkpoint_seconds: float = option(15.0, "Interval between checkpoints.", low=0, high=30, unit="s")

    @classmethod
    def current_names(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return stored settings as today; ``devices`` of version 0.2 had no effect on results."""
        return {name: value for name, value in super().current_names(values).items() if name != "devices"}

    def sample_size(self) -> SampleSize:
        """Return the limits of what is drawn from an article at a visit."""
        return SampleSize(
            self.sections_per_article, self.sentences_per_section, self.sentences_per_article, self.least_share
        )


@dataclass(frozen=True)
class DistillationConfig(ContrastiveConfig):
    """Settings of a method that learns from sections and, if the corpus has a fitted model, from that teacher."""

    distillation: float = option(
        0.5, "Weight α of the teacher in the loss, (1 − α)·contrastive + α·Kullback–Leibler divergence. Without a "
        "teacher, the loss is the contrastive one.",
        low=0.0, high=1.0,
    )  # fmt: skip
    distillation_temperature: float = option(
        0.1, "Temperature that the cosines of teacher and student are divided by before they are compared.",
        low=1e-3, high=10.0,
    )  # fmt: skip
    teacher_limit: int = option(
        0, "Embed at most this many training articles with the teacher, sampled with the seed; 0 embeds all. The "
        "others have the contrastive loss alone.",
        low=0, unit="articles",
    )  # fmt: skip
