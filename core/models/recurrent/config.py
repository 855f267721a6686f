"""Settings of the recurrent encoders ``skip-thought``, ``sae`` and ``sdae``.

This module imports no torch, so that a form can be drawn without it.
"""

from __future__ import annotations

from dataclasses import dataclass

from themescope.core.config import Config, option
from themescope.core.text.word_vectors import STORAGES


@dataclass(frozen=True)
class RecurrentTrainingConfig(Config):
    """Sizes and training of a GRU encoder with its decoders; smaller than in the papers."""

    hidden: int = option(
        300, "Units of the encoder in each direction; a sentence vector has twice as many dimensions.",
        low=2, high=4_800,
    )  # fmt: skip
    decoder: int = option(300, "Units of each decoder.", low=2, high=4_800)
    word_dim: int = option(300, "Dimensions of the word vectors that the encoder learns.", low=2, high=2_000)
    vocabulary: int = option(20_000, "Number of most frequent words of the corpus to learn.", low=1, high=1_000_000)
    max_tokens: int = option(30, "Maximum number of words of a sentence to read and predict.", low=1, high=1_000)
    negatives: int = option(512, "Number of words sampled for the softmax in each step.", low=1, high=100_000)
    epochs: int = option(1, "Number of passes over the sentences.", low=1, high=1_000)
    sentences_per_epoch: int = option(0, "Number of sentences sampled in each epoch; 0 uses all.", low=0)
    batch_size: int = option(128, "Number of sentences in a batch.", low=1, high=65_536)
    learning_rate: float = option(1e-3, "Learning rate of Adam.", low=1e-6, high=1.0)
    gradient_clip: float = option(10.0, "Maximum norm of the gradient of a batch.", low=1e-3, high=1e6)
    device: str = option("auto", "auto uses a CUDA GPU if there is one.", choices=("auto", "cpu", "cuda"))
    threads: int = option(
        0, "Number of processor threads; 0 uses all. With 1, results are reproducible.", low=0, high=256
    )
    checkpoint_seconds: float = option(15.0, "Interval between checkpoints.", low=0, high=30, unit="s")


@dataclass(frozen=True)
class SkipThoughtConfig(RecurrentTrainingConfig):
    """Settings of ``skip-thought``."""

    word_vectors: str = option(
        "glove-6b-50d", "Table of word vectors for words that are not learned; with the setting weights, the table "
        "that the weights were trained with.",
        file=True,
    )  # fmt: skip
    vocabulary_limit: int = option(0, "Read only the first words of the table, this many; 0 reads all.", low=0)
    storage: str = option("int8", "Number format of the word vectors in the saved model.", choices=STORAGES)
    weights: str = option(
        "", "Instead of training: a .safetensors or .npz file with the weights of a recurrent encoder, named as in the "
        "release of Kiros et al. 2015 (encoder_U, encoder_Ux, encoder_W, …; encoder_r_… for the backward direction).",
        file=True,
    )  # fmt: skip
    lowercase: bool = option(True, "With the setting weights: convert words to lower case. Training always does.")


@dataclass(frozen=True)
class SaeConfig(RecurrentTrainingConfig):
    """Settings of ``sae``."""

    epochs: int = option(5, "Number of passes over the sentences.", low=1, high=1_000)
    min_tokens: int = option(3, "Ignore shorter sentences in training.", low=1)
    dropout_rate: float = option(
        0.2, "Share of the dimensions of a word vector that is masked in training.", low=0, high=0.95
    )
    storage: str = option("fp16", "Number format of the word vectors in the saved model.", choices=STORAGES)

    @property
    def noise(self) -> tuple[float, float]:
        """(p_o, p_x), the probabilities of noise in the input of the encoder: none."""
        return 0.0, 0.0


@dataclass(frozen=True)
class SdaeConfig(SaeConfig):
    """Settings of ``sdae``."""

    deleted: float = option(0.1, "Probability p_o that a word is deleted from the input.", low=0, high=1)
    swapped: float = option(0.1, "Probability p_x that two adjacent words of the input are swapped.", low=0, high=1)

    @property
    def noise(self) -> tuple[float, float]:
        """(p_o, p_x), the probabilities of noise in the input of the encoder."""
        return self.deleted, self.swapped
