"""Settings of the methods that learn sentence or word vectors from a corpus.

This module imports no numba and no torch, so that a form can be drawn without them.
"""

from __future__ import annotations

from dataclasses import dataclass

from themescope.core.config import THREADS, Config, option
from themescope.core.errors import ConfigError

STORAGES = ("fp16", "fp32")
GRAPHS = ("discourse", "similarity")
PARTS = ("dm+dbow", "dbow", "dm")
_GRAPH = "Neighbours of a sentence: the previous and the next sentence, or the most similar sentences."
_NEIGHBOURS = "Predict a neighbouring sentence from the vector of a sentence."
_OWN_WORDS = "Also predict the words of the sentence itself (FastSent+AE)."
_RATE = "Initial learning rate; it falls linearly with the number of words processed."


@dataclass(frozen=True)
class EpochsConfig(Config):
    """Settings that every training shares: passes, noise, storage and threads."""

    epochs: int = option(20, "Number of passes over the text.", low=1, high=10_000)
    negatives: int = option(5, "Number of noise words (and noise sentences) for each step, S.", low=1, high=50)
    subsampling: float = option(
        1e-4, "Frequency t above which words are skipped at random; 0 keeps every word.", low=0, high=1
    )
    min_count: int = option(0, "Ignore words that occur less often; 0 keeps every word.", low=0)
    storage: str = option("fp16", "Number format of the vectors in the saved model.", choices=STORAGES)
    threads: int = option(0, THREADS, low=0, high=256)
    checkpoint_seconds: float = option(30.0, "Interval between checkpoints.", low=0, high=600, unit="s")


@dataclass(frozen=True)
class MemoryConfig(EpochsConfig):
    """Settings of distributed memory: a sentence's vector and the preceding words predict a word."""

    dim: int = option(300, "Dimensions of a vector.", low=2, high=4_000)
    learning_rate: float = option(0.05, _RATE, low=1e-6, high=1)
    window: int = option(10, "Maximum number of preceding words that help to predict a word.", low=1, high=100)


@dataclass(frozen=True)
class SentVecConfig(EpochsConfig):
    """Settings of one training of sentence vectors; content, neighbour prediction and proximity can be switched."""

    dim: int = option(600, "Dimensions of a vector.", low=2, high=4_000)
    learning_rate: float = option(0.025, _RATE, low=1e-6, high=1)
    content: bool = option(True, "Predict the words of a sentence from its vector.")
    neighbours: bool = option(True, _NEIGHBOURS)
    neighbour_share: float = option(
        1.0,
        "Learning rate of neighbour prediction, as a share of the learning rate; 1 as published, so that a "
        "neighbour weighs as much as a word.",
        low=0.001,
        high=10,
    )
    proximity: bool = option(True, "Move a sentence's vector towards the mean of its neighbours' vectors.")
    strength: float = option(
        1.0,
        "Weight λ of proximity: a step moves the vector by the share αλ of the way, α being the learning rate.",
        low=0,
        high=1_000,
    )
    proximity_step: str = option(
        "explicit",
        "explicit moves by αλ, as published; implicit by αλ/(1 + αλ), which is stable for any λ.",
        choices=("explicit", "implicit"),
    )
    graph: str = option("discourse", _GRAPH, choices=GRAPHS)
    mode: str = option(
        "paper",
        "paper: the vector alone predicts each word. reference: the words in a window around it do so too.",
        choices=("paper", "reference"),
    )
    window: int = option(10, "Maximum distance of a word in the window (mode reference).", low=1, high=100)
    batch: int = option(
        0,
        "0 uses the compiled loop, one step at a time; otherwise the number of words in a batch on a GPU, at most "
        "1 % of all words.",
        low=0,
        high=1_000_000,
    )
    device: str = option("auto", "With a batch: auto uses a CUDA GPU if there is one.", choices=("auto", "cpu", "cuda"))

    def validate(self) -> None:
        """Refuse settings that learn nothing, and batches with mode reference."""
        if not (self.content or self.neighbours or self.mode == "reference"):
            raise ConfigError("These settings learn nothing. Switch content or neighbours on.")
        if self.batch and self.mode != "paper":
            raise ConfigError("Batches work with mode paper only. Choose batch 0 for mode reference.")

    @property
    def needs_graph(self) -> bool:
        """Whether training uses neighbours."""
        return self.neighbours or self.proximity


@dataclass(frozen=True)
class ConS2VDisConfig(SentVecConfig):
    """Settings of ``con-s2v-dis``."""


@dataclass(frozen=True)
class ConS2VSimConfig(SentVecConfig):
    """Settings of ``con-s2v-sim``."""

    graph: str = option("similarity", _GRAPH, choices=GRAPHS)


@dataclass(frozen=True)
class RegDisConfig(SentVecConfig):
    """Settings of ``reg-dis``."""

    neighbours: bool = option(False, _NEIGHBOURS)


@dataclass(frozen=True)
class RegSimConfig(SentVecConfig):
    """Settings of ``reg-sim``."""

    neighbours: bool = option(False, _NEIGHBOURS)
    graph: str = option("similarity", _GRAPH, choices=GRAPHS)


@dataclass(frozen=True)
class Sen2VecConfig(EpochsConfig):
    """Settings of ``sen2vec``."""

    dim: int = option(300, "Dimensions of each part.", low=2, high=2_000)
    parts: str = option("dm+dbow", "Distributed memory, distributed bag of words, or both concatenated.", choices=PARTS)
    window: int = option(
        10,
        "Maximum number of preceding words that help to predict a word, k (published: 8, 10 or 12).",
        low=1,
        high=100,
    )
    learning_rate: float = option(0.025, "Initial learning rate of the bag of words.", low=1e-6, high=1)
    memory_rate: float = option(0.05, "Initial learning rate of distributed memory.", low=1e-6, high=1)
    mode: str = option(
        "paper",
        "paper: the vector alone predicts each word. reference: the words in a window around it do so too "
        "(bag of words only).",
        choices=("paper", "reference"),
    )


@dataclass(frozen=True)
class RetDisConfig(Sen2VecConfig):
    """Settings of ``ret-dis``: those of the Sen2Vec that it builds on, and of retrofitting."""

    graph: str = option("discourse", _GRAPH, choices=GRAPHS)
    rounds: int = option(20, "Number of retrofitting passes over the sentences.", low=0, high=1_000)


@dataclass(frozen=True)
class RetSimConfig(RetDisConfig):
    """Settings of ``ret-sim``."""

    graph: str = option("similarity", _GRAPH, choices=GRAPHS)


@dataclass(frozen=True)
class FastSentConfig(EpochsConfig):
    """Settings of ``fastsent``. Saha et al. 2017 report it after one epoch, which is too few."""

    dim: int = option(600, "Dimensions of a vector.", low=2, high=4_000)
    learning_rate: float = option(0.025, _RATE, low=1e-6, high=1)
    own_words: bool = option(False, _OWN_WORDS)


@dataclass(frozen=True)
class FastSentAEConfig(FastSentConfig):
    """Settings of ``fastsent-ae``."""

    own_words: bool = option(True, _OWN_WORDS)


@dataclass(frozen=True)
class W2VAverageConfig(EpochsConfig):
    """Settings of ``w2v-avg``: skip-gram with negative sampling within sentences (Mikolov et al. 2013)."""

    dim: int = option(600, "Dimensions of a vector.", low=2, high=4_000)
    window: int = option(
        10, "Maximum distance between a word and a word it predicts (published: 8, 10 or 12).", low=1, high=100
    )
    learning_rate: float = option(0.025, _RATE, low=1e-6, high=1)
