"""Settings of the methods that learn from sections by a contrastive loss. This module imports no torch, for forms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from themescope.core.config import PRECISION, THREADS, Config, option
from themescope.core.errors import ConfigError
from themescope.core.text.word_vectors import STORAGES


@dataclass(frozen=True, slots=True)
class SampleSize:
    """Limits of what is drawn from an article at a visit; 0 sets no limit."""

    sections: int = 0
    sentences_per_section: int = 0
    sentences: int = 0
    least_share: float = 1.0
    """The share of sentences that is kept is drawn between this and 1."""


@dataclass(frozen=True)
class ContrastiveConfig(Config):
    """Batches, loss and optimisation; a method changes defaults and adds the settings of its network."""

    removed: ClassVar[frozenset[str]] = frozenset({"devices"})

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
        1.0,
        "Smallest share of an article's sentences that is kept at a visit: the share is drawn anew between this "
        "and 1, which is a form of augmentation.",
        low=0.05,
        high=1.0,
    )
    epochs: int = option(10, "Maximum number of visits to each article.", low=1, high=10_000)
    learning_rate: float = option(1e-3, "Highest learning rate of AdamW.", low=1e-7, high=1.0)
    warmup: float = option(
        0.05,
        "Share of the steps in which the learning rate rises; afterwards it decreases linearly to 0.",
        low=0.0,
        high=0.9,
    )
    weight_decay: float = option(0.01, "Weight decay of AdamW.", low=0.0, high=10.0)
    gradient_clip: float = option(1.0, "Maximum norm of the gradient of a batch.", low=1e-3, high=1e6)
    evaluations_per_epoch: int = option(1, "Number of validations in each epoch.", low=1, high=100)
    patience_stop: int = option(5, "Number of validations without a gain before training stops.", low=1, high=1_000)
    training_limit: int = option(
        0,
        "Train on at most this many articles, sampled with the seed; 0 uses all. For learning curves.",
        low=0,
        unit="articles",
    )
    validation_limit: int = option(
        150, "Maximum number of validation articles, sampled with the seed; 0 uses all.", low=0, unit="articles"
    )
    precision: str = option("auto", PRECISION, choices=("auto", "fp32", "bf16"))
    device: str = option("auto", "auto uses a CUDA GPU if there is one.", choices=("auto", "cpu", "cuda"))
    threads: int = option(0, THREADS, low=0, high=256)
    checkpoint_seconds: float = option(15.0, "Interval between checkpoints.", low=0, high=30, unit="s")

    def sample_size(self) -> SampleSize:
        """Return the limits of what is drawn from an article at a visit."""
        return SampleSize(
            self.sections_per_article, self.sentences_per_section, self.sentences_per_article, self.least_share
        )


@dataclass(frozen=True)
class DistillationConfig(ContrastiveConfig):
    """Settings of a method that learns from sections and, if the corpus has a fitted model, from that teacher."""

    distillation: float = option(
        0.5,
        "Weight α of the teacher in the loss, (1 − α)·contrastive + α·Kullback–Leibler divergence. Without a "
        "teacher, the loss is the contrastive one.",
        low=0.0,
        high=1.0,
    )
    distillation_temperature: float = option(
        0.1,
        "Temperature that the cosines of teacher and student are divided by before they are compared.",
        low=1e-3,
        high=10.0,
    )
    teacher_limit: int = option(
        0,
        "Embed at most this many training articles with the teacher, sampled with the seed; 0 embeds all. The "
        "others have the contrastive loss alone.",
        low=0,
        unit="articles",
    )


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
        40_000,
        "Maximum number of words: the most frequent ones of the training articles, in lower case.",
        low=1,
        high=1_000_000,
        unit="words",
    )
    least_count: int = option(5, "Ignore words that occur less often in the training articles.", low=1, high=1_000_000)
    dim: int = option(
        128,
        "Maximum number of dimensions of a vector; starts with the principal components of the tables.",
        low=2,
        high=4_096,
    )
    train_vectors: bool = option(
        True,
        "Train the vector of every word. Otherwise only the weights of words and one linear map of all vectors "
        "are trained, which is several times as fast.",
    )
    frequency: float = option(
        1e-3,
        "Parameter a of the initial weight a / (a + p) of a word, where p is its share of all words; the weights "
        "are learned.",
        low=1e-6,
        high=1e3,
    )
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


@dataclass(frozen=True)
class ThematicEncoderConfig(ContrastiveConfig):
    """Settings of ``thematic-encoder``."""

    folder: str = option(
        "",
        "Folder of the sentence encoder to fine-tune, as sentence-transformers writes it; empty uses the installed "
        "all-MiniLM-L6-v2.",
        file=True,
    )
    prefix: str = option(
        "", "Text put before every sentence, for encoders that were trained with one, such as “query: ” of E5."
    )
    adapter: str = option(
        "lora",
        "lora: learn a low-rank change of every linear layer, which makes a small file; full: learn all "
        "weights of the transformer's layers.",
        choices=("lora", "full"),
    )
    rank: int = option(16, "With lora: rank of the change of a layer.", low=1, high=1_024)
    alpha: float = option(32.0, "With lora: the change is multiplied by alpha over rank.", low=1e-3, high=1e4)
    lora_dropout: float = option(0.05, "With lora: share of inputs of the change that is masked.", low=0.0, high=0.95)
    max_tokens: int = option(
        64,
        "Word pieces after which a sentence is cut off in training. Vectors are those of the whole text.",
        low=4,
        high=8_192,
    )
    chunk_tokens: int = option(
        2_048,
        "Word pieces, padding included, that pass through the encoder at once when embedding; more use more memory.",
        low=16,
        high=1_000_000,
    )
    epochs: int = option(3, "Maximum number of visits to each article.", low=1, high=10_000)
    learning_rate: float = option(
        2e-4, "Highest learning rate of AdamW; with full fine-tuning about 5e-5 is better.", low=1e-7, high=1.0
    )
    evaluations_per_epoch: int = option(4, "Number of validations in each epoch.", low=1, high=100)


@dataclass(frozen=True)
class ContextEncoderConfig(ContrastiveConfig):
    """Settings of ``context-encoder``."""

    max_tokens: int = option(
        64,
        "Word pieces after which a sentence is cut off in training. Vectors are those of the whole text.",
        low=4,
        high=8_192,
    )
    embedded_per_article: int = option(
        40,
        "Maximum number of sentences of a training article whose vectors make its mean, sampled with the seed; the "
        "others are never drawn. 0 embeds all.",
        low=0,
        high=100_000,
    )
    epochs: int = option(2, "Maximum number of visits to each article.", low=1, high=10_000)
    learning_rate: float = option(6e-4, "Highest learning rate of AdamW.", low=1e-7, high=1.0)
    weight_decay: float = option(0.0, "Weight decay of AdamW.", low=0.0, high=10.0)
