"""A thematic encoder that knows the article of a sentence: ``context-encoder``.

Before the word pieces of each sentence the transformer reads the vector A √d m + b of the article, where m is the mean
of the d-dimensional vectors that the thematic encoder gives to the sentences of the article. It has the position of the
first word piece, takes part in attention, and is not pooled. A and b are learned by the contrastive loss on whole
articles and start at zero; the thematic encoder stays as it is. The order of the sentences has no influence.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np

from themescope.core.config import Config, option
from themescope.core.errors import DataError
from themescope.core.models.artifact import half_precision, read_tensors, write_tensors
from themescope.core.models.base import CombiningModel, TrainedModel
from themescope.core.models.contrastive.sampling import Batch, ContrastiveConfig, SectionedArticles, split_articles
from themescope.core.models.thematic_encoder.model import ThematicEncoder, check_length, text_network, warn_of_cut
from themescope.core.models.training_loop import digest_of_arrays
from themescope.core.protocols import SILENT, Report, SubReport
from themescope.core.types import Corpus, Float32, Sentence, Vectors

if TYPE_CHECKING:
    from torch import Tensor, nn

    from themescope.core.models.contrastive.training import Examples

_WEIGHTS, _MATRIX, _BIAS = "context.safetensors", "weight", "bias"
_READ = 0.3, 0.35  # shares of the progress after the sentences of each split are embedded


@dataclass(frozen=True)
class ContextEncoderConfig(ContrastiveConfig):
    """Settings of ``context-encoder``."""

    max_tokens: int = option(
        64, "Word pieces after which a sentence is cut off in training. Vectors are those of the whole text.",
        low=4, high=8_192,
    )  # fmt: skip
    embedded_per_article: int = option(
        40, "Maximum number of sentences of a training article whose vectors make its mean, sampled with the seed; the "
        "others are never drawn. 0 embeds all.",
        low=0, high=100_000,
    )  # fmt: skip
    epochs: int = option(2, "Maximum number of visits to each article.", low=1, high=10_000)
    learning_rate: float = option(6e-4, "Highest learning rate of AdamW.", low=1e-7, high=1.0)
    weight_decay: float = option(0.0, "Weight decay of AdamW.", low=0.0, high=10.0)


class ContextEncoder(TrainedModel, CombiningModel):
    """Vectors of a thematic encoder that reads the mean of the article before each sentence, cosine distance."""

    config_class: ClassVar[type[Config]] = ContextEncoderConfig
    config: ContextEncoderConfig

    def __init__(self, config: ContextEncoderConfig, seed: int) -> None:
        super().__init__(config, seed)
        self._weights: dict[str, Any] | None = None

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Train on ``corpus.sections`` of the splits train and validation, with the encoder in ``corpus.models``.

        Raises ``DataError`` without sections, and unless the models are a single thematic encoder whose transformer
        accepts a vector before the word pieces; ``ConfigError`` if it reads fewer word pieces than the setting allows.
        """
        import torch
        from torch import nn

        from themescope.core.models.contrastive.training import train
        from themescope.core.models.device import pick_device
        from themescope.core.models.thematic_encoder.network import reads_context

        if len(corpus.models) != 1 or not isinstance(corpus.models[0], ThematicEncoder):
            raise DataError("The context encoder needs exactly one fitted model, a thematic encoder. Name it.")
        self._models = tuple(corpus.models)
        check_length(self._encoder.encoder, self.config)
        parts = split_articles(corpus, self.config, self.seed, "The context encoder")
        dim = self._encoder.embed([]).shape[1]
        if not reads_context(self._encoder.encoder.network, dim):
            raise DataError(
                "The transformer of this model cannot read the vector of an article before the words of a sentence. "
                "Train a thematic encoder from another base encoder, such as the installed one."
            )
        # Drawing weights that are then set to zero would advance the random numbers of the process.
        network = torch.nn.utils.skip_init(nn.Linear, dim, dim).to(pick_device(self.config.device))
        nn.init.zeros_(network.weight)
        nn.init.zeros_(network.bias)
        examples: list[Examples] = []
        cut = 0
        for (sentences, articles), low, high in zip(parts, (0.0, *_READ), _READ, strict=False):
            kept = articles.thinned(0 if examples else self.config.embedded_per_article, self.seed)
            found, longer = self._source(network, sentences, kept, SubReport(report, low, high))
            examples.append(found)
            cut += longer
        warn_of_cut(cut, self.config)
        training, validation = examples
        trained = train(self.config, self.seed, network, training, validation, SubReport(report, _READ[1], 1.0))
        learned = {_MATRIX: network.weight, _BIAS: network.bias}
        self._weights = half_precision({name: tensor.detach().cpu().numpy() for name, tensor in learned.items()})
        self.metrics, self.history = trained.metrics | {"sentences cut off": float(cut)}, trained.history
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dim) vectors of length 1; a sentence without letters or digits is the zero vector.

        The sentences of an article must be embedded together; those without an article count as one.
        """
        x = self._encoder.embed(sentences)
        out = np.zeros_like(x)
        articles = np.array([s.article_id for s in sentences], np.int64)
        for article in np.unique(articles):
            rows = np.flatnonzero(articles == article)
            own = self._encoder.with_context(self.article_vector(x[rows]))
            out[rows] = own.embed([sentences[row] for row in rows.tolist()])
        return out

    def article_vector(self, x: Float32) -> Float32:
        """Return the (dim,) vector of an article from the (n, dim) vectors that the thematic encoder gives to it."""
        weights = self._fitted(self._weights)
        return np.asarray(weights[_MATRIX].astype(np.float32) @ _mean(x) + weights[_BIAS], np.float32)

    @property
    def _encoder(self) -> ThematicEncoder:
        """The thematic encoder that this one is built on."""
        return cast(ThematicEncoder, self.submodels[0])

    def _source(
        self, network: nn.Linear, sentences: Sequence[Sentence], articles: SectionedArticles, report: Report
    ) -> tuple[Examples, int]:
        """Return ``articles``, which are rows of ``sentences``, as training data, and how many of them were cut off."""
        import torch
        from torch.nn import functional

        from themescope.core.models.contrastive.training import Examples

        encoder, device = self._encoder, network.weight.device
        found = []
        for article in range(len(articles)):
            report.progress(article, len(articles), "Embedding the articles")
            own = articles.sentences[articles.rows(article)]
            found.append(_mean(encoder.embed([sentences[row] for row in own.tolist()])))
        means = np.array(found, np.float32).reshape(-1, network.in_features)
        pieces, cut = encoder.word_pieces(sentences, articles.sentences, self.config.max_tokens, report)
        text = text_network(encoder, self.config)
        text.network.requires_grad_(False)
        known = torch.from_numpy(means).to(device)

        def similarities(batch: Batch) -> Tensor:
            own = np.searchsorted(articles.starts, batch.rows, side="right") - 1
            vectors = text.encode(pieces, batch.rows, network(known[torch.from_numpy(own).to(device)]))
            unit = functional.normalize(vectors, dim=1)
            return unit @ unit.T

        return Examples(articles, similarities, digest_of_arrays(pieces.ids, pieces.starts, means)), cut

    def _write(self, folder: Path) -> None:
        super()._write(folder)
        write_tensors(folder / _WEIGHTS, self._fitted(self._weights))

    def _read(self, folder: Path) -> None:
        super()._read(folder)
        self._weights = read_tensors(folder / _WEIGHTS, (_MATRIX, _BIAS))


def _mean(x: Float32) -> Float32:
    """Return √d times the mean of (n, d) unit vectors, without those of texts that have no words."""
    rows = x[x.any(axis=1)].astype(np.float64)
    return np.asarray(math.sqrt(x.shape[1]) * rows.sum(axis=0) / max(len(rows), 1), np.float32)
