"""Settings that recurrent encoders trained on words share. Imports no torch, so that a form can be drawn from it."""

from __future__ import annotations

from dataclasses import dataclass

from core.config import Config, option


@dataclass(frozen=True)
class RecurrentTrainingConfig(Config):
    """How a GRU encoder with its decoders is built and trained: the small versions of algorithms G.1 and G.3."""

    hidden: int = option(
        300, "Units of the encoder a direction; a sentence vector has twice as many.", low=2, high=4_800
    )
    decoder: int = option(300, "Units of each decoder.", low=2, high=4_800)
    word_dim: int = option(300, "Coordinates of the words that the encoder learns.", low=2, high=2_000)
    vocabulary: int = option(20_000, "Most frequent words of the corpus that are learned.", low=1, high=1_000_000)
    max_tokens: int = option(30, "Words of a sentence that are read and predicted.", low=1, high=1_000)
    negatives: int = option(512, "Words drawn to stand for all others in the softmax.", low=1, high=100_000)
    epochs: int = option(1, "Passes over the sentences.", low=1, high=1_000)
    sentences_per_epoch: int = option(0, "Draw this many sentences for each epoch; 0 takes all.", low=0)
    batch_size: int = option(128, "Sentences in a batch.", low=1, high=65_536)
    learning_rate: float = option(1e-3, "Rate of Adam.", low=1e-6, high=1.0)
    gradient_clip: float = option(10.0, "Largest norm of a batch's gradient.", low=1e-3, high=1e6)
    device: str = option("auto", "auto takes a CUDA GPU where there is one.", choices=("auto", "cpu", "cuda"))
    threads: int = option(0, "Processor threads; 0: the machine's. With 1, results repeat exactly.", low=0, high=256)
    checkpoint_seconds: float = option(15.0, "Save progress this often.", low=0, high=30, unit="s")
