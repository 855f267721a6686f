"""Settings of the triplet network and its training.

This module imports no torch, so that a form can be drawn without it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from themescope.core.config import PRECISION, THREADS, Config, option
from themescope.core.errors import ConfigError
from themescope.core.text.word_vectors import STORAGES, TABLE

DISTANCES = ("l1", "l2", "cosine", "mean-l1")


@dataclass(frozen=True)
class BiLstmConfig(Config):
    """Settings of the network and its word vectors."""

    hidden: int = option(
        300, "Units of the LSTM in each direction; a sentence vector has twice as many dimensions.", low=2, high=2_000
    )
    attention: int = option(200, "Units of the attention layer.", low=1, high=2_000)
    dropout_rate: float = option(0.2, "Share of dimensions that is masked in training.", low=0, high=0.95)
    dropout_sites: tuple[str, ...] = option(
        ("input", "states"),
        "Where dropout is applied: word vectors, LSTM states or the sentence vector.",
        choices=("input", "states", "output"),
    )
    mask: str = option(
        "per-token",
        "Sample a new mask for every token, or one for the whole sentence.",
        choices=("per-token", "per-sequence"),
    )
    word_vectors: str = option("glove-6b-50d", TABLE, file=True)
    vocabulary_limit: int = option(0, "Read only the first words of the table, this many; 0 reads all.", low=0)
    storage: str = option(
        "int8",
        "Number format of the word vectors in training and in the saved model; int8 needs half of fp16.",
        choices=STORAGES,
    )


@dataclass(frozen=True)
class TripletNetConfig(BiLstmConfig):
    """Settings of the triplet network methods."""

    removed: ClassVar[frozenset[str]] = frozenset({"devices"})

    loss: str = option(
        "section",
        "section: the log loss over all sentences of a batch that its triplets relate, the best one in our "
        "measurements; paper: 2σ(Δ/τ), robust to wrong labels, as published with temperature 1; log: softplus(Δ/τ), "
        "which also learns from triplets far on the wrong side; facenet: a margin between squared distances of unit "
        "vectors, which ignores distance and temperature.",
        choices=("paper", "log", "section", "facenet"),
    )
    margin: float = option(
        0.2, "With facenet: margin between the squared distances to the positive and to the negative.", low=0, high=4
    )
    norm_bound: float = option(
        0.0,
        "Maximum length of a sentence vector; longer vectors are scaled down, so that growing norms cannot "
        "saturate the loss. 0 sets no limit.",
        low=0,
        high=1e6,
    )
    distance: str = option("l1", "Distance between sentence vectors in training and evaluation.", choices=DISTANCES)
    temperature: float | None = option(
        None,
        "Temperature τ that divides Δ in the loss; 1 in the paper. Empty: the standard deviation of Δ before "
        "training, with which the loss paper learns little.",
        low=1e-4,
        high=1e4,
    )
    learned_scale: bool = option(False, "Learn the temperature, within a factor of 20.")
    batching: str = option(
        "by-article",
        "by-article: a batch consists of runs of triplets of a few articles and encodes shared sentences "
        "once; shuffled: triplets in random order.",
        choices=("by-article", "shuffled"),
    )
    batch_size: int = option(128, "Number of triplets in a batch.", low=1, high=65_536)
    run_length: int = option(16, "With by-article: number of neighbouring triplets kept together.", low=1, high=65_536)
    article_balance: float = option(
        0.0,
        "Weight of a triplet: 1 over the number of triplets of its article, to this power. 0 gives all triplets "
        "the same weight, 1 all articles.",
        low=0,
        high=1,
    )
    triplets_per_epoch: int = option(0, "Number of triplets sampled in each epoch; 0 uses all.", low=0)
    training_limit: int = option(
        0,
        "Train on at most this many triplets of whole articles, sampled with the seed; 0 uses all. For learning "
        "curves.",
        low=0,
    )
    validation_limit: int = option(5_000, "Maximum number of validation triplets; 0 uses all.", low=0)
    epochs: int = option(10, "Maximum number of passes over the triplets.", low=1, high=1_000)
    learning_rate: float = option(1e-3, "Initial learning rate of Adam.", low=1e-6, high=1.0)
    gradient_clip: float = option(5.0, "Maximum norm of the gradient of a batch.", low=1e-3, high=1e6)
    evaluations_per_epoch: int = option(4, "Number of validations in each epoch.", low=1, high=100)
    schedule: str = option(
        "plateau",
        "plateau: halve the learning rate when validation accuracy stops rising; linear: decrease it "
        "linearly to 0 over the epochs, which is better when the number of epochs is known.",
        choices=("plateau", "linear"),
    )
    patience_rate: int = option(
        2, "With plateau: number of validations without a gain before the learning rate is halved.", low=1, high=1_000
    )
    patience_stop: int = option(5, "Number of validations without a gain before training stops.", low=1, high=1_000)
    precision: str = option("auto", PRECISION, choices=("auto", "fp32", "bf16"))
    device: str = option("auto", "auto uses a CUDA GPU if there is one.", choices=("auto", "cpu", "cuda"))
    threads: int = option(0, THREADS, low=0, high=256)
    checkpoint_seconds: float = option(15.0, "Interval between checkpoints.", low=0, high=30, unit="s")

    @property
    def measured(self) -> str:
        """The distance the model is evaluated with: cosine with facenet, whose loss uses unit vectors."""
        return "cosine" if self.loss == "facenet" else self.distance

    def validate(self) -> None:
        """Refuse combinations that cannot learn."""
        fixed = None if self.learned_scale else self.temperature
        if self.distance == "mean-l1" and fixed is not None and fixed > 0.1:
            raise ConfigError(
                f"With distance mean-l1, temperature {self.temperature:g} makes the loss almost constant. Leave the "
                "temperature empty, switch learned scale on, or choose a temperature near 0.002."
            )
