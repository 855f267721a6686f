"""Settings of the triplet network and of its training. Imports no torch, so that a form can be drawn from it."""

from __future__ import annotations

from dataclasses import dataclass

from core.config import Config, option
from core.errors import ConfigError
from core.text.word_vectors import STORAGES

LOSSES = ("paper", "log", "section", "facenet")
DISTANCES = ("l1", "l2", "cosine", "mean-l1")
SITES = ("input", "states", "output")


@dataclass(frozen=True)
class TrainingConfig(Config):
    """How a triplet network is built and trained; defaults of the paper unless the help says otherwise."""

    hidden: int = option(300, "Units of the LSTM a direction; a sentence vector has twice as many.", low=2, high=2_000)
    attention: int = option(200, "Units of the attention layer.", low=1, high=2_000)
    loss: str = option(
        "paper", "paper: 2σ(Δ/τ), robust to wrong labels; log: softplus(Δ/τ), also learns from badly wrong triplets; "
        "section: the log loss over all sentences that the triplets of a batch tie together; facenet: a margin "
        "between squared distances of vectors of length 1, where distance and temperature do not matter.",
        choices=LOSSES,
    )  # fmt: skip
    margin: float = option(0.2, "With facenet: how much farther the other theme should be.", low=0, high=4)
    norm_bound: float = option(
        0.0, "Longest sentence vector: longer ones are scaled to this length, so that the loss cannot saturate by "
        "growing norms; 0 leaves them as they are.",
        low=0, high=1e6,
    )  # fmt: skip
    distance: str = option("l1", "Distance between sentence vectors, in training and afterwards.", choices=DISTANCES)
    temperature: float | None = option(
        None, "Divides Δ in the loss; 1 is the paper's. Empty: the spread of Δ measured before training.",
        low=1e-4, high=1e4,
    )  # fmt: skip
    learned_scale: bool = option(False, "Let training adjust the temperature by up to a factor of 20.")
    dropout_rate: float = option(0.2, "Share of coordinates that is masked while training.", low=0, high=0.95)
    dropout_sites: tuple[str, ...] = option(
        ("input", "states"), "Where: word vectors entering the LSTM, its states, or the sentence vector.", choices=SITES
    )
    mask: str = option(
        "per-token", "Draw a new mask for every token, or one for a whole sentence.",
        choices=("per-token", "per-sequence"),
    )  # fmt: skip
    batching: str = option(
        "by-article", "by-article: a batch holds runs of triplets of a few articles and encodes a sentence that "
        "several share only once; shuffled: triplets in random order.",
        choices=("by-article", "shuffled"),
    )  # fmt: skip
    batch_size: int = option(128, "Triplets in a batch.", low=1, high=65_536)
    run_length: int = option(16, "With by-article: neighbouring triplets kept together.", low=1, high=65_536)
    article_balance: float = option(
        0.0, "Weight of a triplet: 1 over the number of its article's triplets to this power. 0: all triplets "
        "count the same; 1: all articles do.",
        low=0, high=1,
    )  # fmt: skip
    triplets_per_epoch: int = option(0, "Draw this many triplets for each epoch; 0 takes all.", low=0)
    training_limit: int = option(
        0, "Learn from at most this many triplets: those of whole articles, drawn by the seed; 0 takes all. For "
        "learning curves.",
        low=0,
    )  # fmt: skip
    validation_limit: int = option(5_000, "Evaluate on at most this many validation triplets; 0 takes all.", low=0)
    epochs: int = option(10, "Passes over the triplets at most.", low=1, high=1_000)
    learning_rate: float = option(1e-3, "Initial rate of Adam.", low=1e-6, high=1.0)
    gradient_clip: float = option(5.0, "Largest norm of a batch's gradient.", low=1e-3, high=1e6)
    evaluations_per_epoch: int = option(4, "Validations in each epoch.", low=1, high=100)
    schedule: str = option(
        "plateau", "plateau: halve the rate when validations bring no gain; linear: let it fall evenly to 0 over the "
        "epochs, which gains more from the same number of steps when that number is known.",
        choices=("plateau", "linear"),
    )  # fmt: skip
    patience_rate: int = option(
        2, "With plateau: halve the rate after this many validations without gain.", low=1, high=1_000
    )
    patience_stop: int = option(5, "Stop after this many validations without gain.", low=1, high=1_000)
    precision: str = option(
        "auto", "auto: bfloat16 on a GPU, and on a processor that computes it natively; otherwise float32.",
        choices=("auto", "fp32", "bf16"),
    )  # fmt: skip
    device: str = option("auto", "auto takes a CUDA GPU where there is one.", choices=("auto", "cpu", "cuda"))
    threads: int = option(0, "Processor threads; 0: the machine's. With 1, results repeat exactly.", low=0, high=256)
    checkpoint_seconds: float = option(15.0, "Save progress this often.", low=0, high=30, unit="s")

    @property
    def measured(self) -> str:
        """The distance that orders triplets: facenet compares directions, as the cosine does."""
        return "cosine" if self.loss == "facenet" else self.distance

    def validate(self) -> None:
        """Refuse the combinations that cannot learn."""
        if (
            self.distance == "mean-l1"
            and self.temperature is not None
            and not self.learned_scale
            and self.temperature > 0.1
        ):
            raise ConfigError(
                f"A mean L1 distance at temperature {self.temperature:g} makes the loss flat: leave the "
                "temperature empty, learn the scale, or give one near 0.002."
            )


@dataclass(frozen=True)
class TripletNetConfig(TrainingConfig):
    """Settings of a triplet network as a method."""

    word_vectors: str = option(
        "glove-6b-50d",
        "Table of word vectors: a table's id, a file, or distilled:FOLDER of a sentence encoder.",
        file=True,
    )
    vocabulary_limit: int = option(0, "Read only this many words of the table, from its start; 0 reads all.", low=0)
    storage: str = option(
        "int8", "How the model keeps its word vectors, in training and in its file: int8 is half of fp16.",
        choices=STORAGES,
    )  # fmt: skip
