"""Settings of the sequential autoencoders and of their training. Imports no torch, so that a form can be drawn."""

from __future__ import annotations

from dataclasses import dataclass

from core.config import option
from core.models.recurrent.recurrent_config import RecurrentTrainingConfig


@dataclass(frozen=True)
class AutoencoderTrainingConfig(RecurrentTrainingConfig):
    """How a sequential autoencoder is built and trained: the small version of algorithms G.1."""

    epochs: int = option(5, "Passes over the sentences.", low=1, high=1_000)
    min_tokens: int = option(3, "Shorter sentences are not learned from; they are embedded all the same.", low=1)
    dropout_rate: float = option(0.2, "Share of a word's coordinates that is masked while training.", low=0, high=0.95)

    @property
    def noise(self) -> tuple[float, float]:
        """(p_o, p_x) of the noise in the encoder's input; none here."""
        return 0.0, 0.0


@dataclass(frozen=True)
class DenoisingTrainingConfig(AutoencoderTrainingConfig):
    """The same with noise in what the encoder reads."""

    deleted: float = option(0.1, "p_o: share of the words that the encoder does not see.", low=0, high=1)
    swapped: float = option(0.1, "p_x: share of the adjacent pairs of words that it sees in reverse.", low=0, high=1)

    @property
    def noise(self) -> tuple[float, float]:
        """(p_o, p_x)."""
        return self.deleted, self.swapped
