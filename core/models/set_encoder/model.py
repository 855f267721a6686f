"""The set encoder as a model: ``set-encoder``.

A model that reads one sentence at a time cannot know what distinguishes the sections of its article. The set encoder
reads the vectors of all sentences of an article, in no order, and was trained so that sentences of one section are
close. Its vectors depend on the sentences that are embedded together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from themescope.core.config import Config, option
from themescope.core.errors import ConfigError
from themescope.core.models.base import CombiningModel, TrainedModel
from themescope.core.models.contrastive.sampling import ContrastiveConfig, split_articles
from themescope.core.models.storage import damaged, half_precision, read_tensors, write_tensors
from themescope.core.protocols import SILENT, Report, SubReport
from themescope.core.types import Corpus, Sentence, Vectors

if TYPE_CHECKING:
    from themescope.core.models.set_encoder.network import SetTransformer

_WEIGHTS = "set-encoder.safetensors"
_READ = 0.45, 0.5  # shares of the progress after the sentences of each split are embedded


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


class SetEncoder(TrainedModel, CombiningModel):
    """Transformer over the vectors that other models give the sentences of an article, cosine distance."""

    config_class: ClassVar[type[Config]] = SetEncoderConfig
    config: SetEncoderConfig

    def __init__(self, config: SetEncoderConfig, seed: int) -> None:
        super().__init__(config, seed)
        self._network: SetTransformer | None = None

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Train on ``corpus.sections`` of the splits train and validation, with the vectors of ``corpus.models``.

        Raises ``DataError`` without models or sections, and for a model with sparse vectors.
        """
        from themescope.core.models.contrastive.training import Examples, train
        from themescope.core.models.device import pick_device, seeded
        from themescope.core.models.set_encoder.network import base_vectors, batch_similarities, set_data

        self._take(
            corpus.models, "This method reads the vectors of fitted models.", "The set encoder includes tf-idf already."
        )
        parts = split_articles(corpus, self.config, self.seed, "The set encoder")
        dim = base_vectors([], self._models).shape[1]
        with seeded(self.seed):
            network = self._new_network(dim).to(pick_device(self.config.device))
        examples: list[Examples] = []
        for (sentences, articles), low, high in zip(parts, (0.0, *_READ), _READ, strict=False):
            kept = self.config.embedded_per_article if not examples else 0
            data = set_data(sentences, articles.thinned(kept, self.seed), self._models, SubReport(report, low, high))
            examples.append(Examples(data.articles, partial(batch_similarities, network, data), data.fingerprint()))
        training, validation = examples
        trained = train(self.config, self.seed, network, training, validation, SubReport(report, _READ[1], 1.0))
        self._network = self._restored(_half_weights(network), Path())  # as saved: loading does not change vectors
        self.metrics = trained.metrics | {"tf-idf weight": self.words_weight}
        self.history = trained.history
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dim of the base models) unit vectors; a sentence whose base vector is zero has the zero vector.

        The sentences of an article must be embedded together; those without an article form a set of their own.
        """
        from themescope.core.models.device import done_apart, pick_device
        from themescope.core.models.set_encoder.network import base_vectors, encode_set, sets_of, tfidf

        network = self._fitted(self._network)
        x, words = base_vectors(sentences, self._models), tfidf(sentences)
        out, device = np.zeros_like(x), pick_device(self.config.device)
        network.to(device)
        sets = (
            [rows[x[rows].any(axis=1)] for rows in sets_of(sentences, self.config.set_limit)] if len(sentences) else []
        )
        filled = [rows for rows in sets if len(rows)]
        vectors = done_apart(
            lambda rows: encode_set(network, x[rows], words[rows], device), filled, device, self.config.threads
        )
        for rows, found in zip(filled, vectors, strict=True):
            out[rows] = found
        return out

    @property
    def words_weight(self) -> float:
        """The learned weight λ of the tf-idf similarity, against 1 for the cosine of two vectors."""
        return float(self._fitted(self._network).words.detach())

    def _write(self, folder: Path) -> None:
        super()._write(folder)
        write_tensors(folder / _WEIGHTS, _half_weights(self._fitted(self._network)))

    def _read(self, folder: Path) -> None:
        super()._read(folder)
        self._network = self._restored(read_tensors(folder / _WEIGHTS, ("outward.weight",)), folder)

    def _restored(self, weights: dict[str, npt.NDArray[Any]], folder: Path) -> SetTransformer:
        import torch

        from themescope.core.models.device import with_weights

        tensors = {name: torch.from_numpy(array) for name, array in weights.items()}
        try:
            return with_weights(lambda: self._new_network(len(tensors["outward.weight"])), tensors)
        except RuntimeError as error:
            raise damaged(folder, f"{_WEIGHTS}: {error}") from None

    def _new_network(self, dim: int) -> SetTransformer:
        from themescope.core.models.set_encoder.network import SetTransformer

        config = self.config
        return SetTransformer(
            dim, config.width, config.layers, config.heads, config.dropout_rate, config.words, config.word_bias
        )


def _half_weights(network: SetTransformer) -> dict[str, npt.NDArray[Any]]:
    return half_precision({name: tensor.detach().cpu().numpy() for name, tensor in network.state_dict().items()})
