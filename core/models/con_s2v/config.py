"""Settings of the engine. Imports no numba and no torch, so that a form can be drawn from it."""

from __future__ import annotations

from dataclasses import dataclass

from core.config import Config, option
from core.errors import ConfigError

STORAGES = ("fp16", "fp32")
GRAPHS = ("discourse", "similarity")


@dataclass(frozen=True)
class TrainingConfig(Config):
    """What every training of the engine needs: rates, noise, and how it runs."""

    epochs: int = option(20, "Passes over the text.", low=1, high=10_000)
    negatives: int = option(5, "Noise words (and noise sentences) drawn for each step, S.", low=1, high=50)
    subsampling: float = option(
        1e-4, "Threshold t above which frequent words are skipped at random; 0 keeps every word.", low=0, high=1
    )
    min_count: int = option(0, "Leave out words that occur less often; 0 keeps every word.", low=0)
    storage: str = option("fp16", "How the saved model keeps its vectors.", choices=STORAGES)
    threads: int = option(0, "Processor threads; 0: the machine's. With 1, results repeat exactly.", low=0, high=256)
    checkpoint_seconds: float = option(30.0, "Save progress this often.", low=0, high=600, unit="s")


@dataclass(frozen=True)
class MemoryConfig(TrainingConfig):
    """Distributed memory: a sentence's vector and the words before predict a word (F.4)."""

    dim: int = option(300, "Coordinates of a vector.", low=2, high=4_000)
    learning_rate: float = option(0.05, "Rate at the start; it falls linearly with the words done.", low=1e-6, high=1)
    window: int = option(10, "Most words before a word that help to predict it.", low=1, high=100)


@dataclass(frozen=True)
class BagsConfig(TrainingConfig):
    """FastSent: the sum of a sentence's words predicts the words of its neighbours (G.2)."""

    dim: int = option(600, "Coordinates of a vector.", low=2, high=4_000)
    learning_rate: float = option(0.025, "Rate at the start; it falls linearly with the words done.", low=1e-6, high=1)
    own_words: bool = option(False, "Predict the sentence's own words as well (FastSent+AE).")


@dataclass(frozen=True)
class SentVecConfig(TrainingConfig):
    """One training of sentence vectors: content, neighbour prediction and proximity, each switched on or off (F.3)."""

    dim: int = option(600, "Coordinates of a vector.", low=2, high=4_000)
    learning_rate: float = option(0.025, "Rate at the start; it falls linearly with the words done.", low=1e-6, high=1)
    content: bool = option(True, "Predict the words of a sentence from its vector.")
    neighbours: bool = option(True, "Predict a neighbouring sentence from its vector.")
    neighbour_share: float = option(
        1.0, "Share of the rate at which a neighbour is predicted; 1, the published form, gives it the weight of a "
        "word.",
        low=0.001, high=10,
    )  # fmt: skip
    proximity: bool = option(True, "Pull a sentence's vector towards the mean of its neighbours' vectors.")
    strength: float = option(
        1.0, "λ of the pull; a step moves the vector by the share αλ of the way, α being the rate.", low=0, high=1_000
    )
    proximity_step: str = option(
        "explicit", "explicit moves by αλ, as published; implicit by αλ/(1 + αλ), which is stable for any λ.",
        choices=("explicit", "implicit"),
    )  # fmt: skip
    graph: str = option(
        "discourse", "Neighbours of a sentence: the previous and the next one, or the most similar ones.",
        choices=GRAPHS,
    )  # fmt: skip
    mode: str = option(
        "paper", "paper: the vector alone predicts each word. reference: so do the words in a window around it.",
        choices=("paper", "reference"),
    )  # fmt: skip
    window: int = option(10, "Largest distance of a word in the window (mode reference).", low=1, high=100)
    batch: int = option(
        0, "0: the compiled loop, a step at a time. Otherwise words whose steps are summed (GPU), at most 1 % of all.",
        low=0, high=1_000_000,
    )  # fmt: skip
    device: str = option(
        "auto", "With a batch: auto takes a CUDA GPU where there is one.", choices=("auto", "cpu", "cuda")
    )

    def validate(self) -> None:
        """Something must be learned, and the batched form knows mode paper only."""
        if not (self.content or self.neighbours or self.mode == "reference"):
            raise ConfigError("Nothing is learned: switch content or neighbours on.")
        if self.batch and self.mode != "paper":
            raise ConfigError("The batched form knows mode paper only. Choose batch 0 for mode reference.")

    @property
    def needs_graph(self) -> bool:
        """Whether neighbours matter at all."""
        return self.neighbours or self.proximity
