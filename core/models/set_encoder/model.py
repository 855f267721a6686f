"""The set encoder as a model: ``set-encoder``.

A model that reads one sentence at a time cannot know what distinguishes the sections of its article. The set encoder
reads the vectors of all sentences of an article, in no order, and was trained so that sentences of one section are
close. Its vectors depend on the sentences that are embedded together.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from themescope.core.config import Config
from themescope.core.errors import ArtifactError, DataError
from themescope.core.models.artifact import load_submodels, save_submodels
from themescope.core.models.base import BaseModel
from themescope.core.models.contrastive.sampling import SectionedArticles, sectioned_articles, training_and_validation
from themescope.core.models.set_encoder.config import SetEncoderConfig
from themescope.core.models.storage import (
    half_precision,
    read_json,
    read_settings,
    read_tensors,
    write_json,
    write_settings,
    write_tensors,
)
from themescope.core.protocols import SILENT, Report, SubReport
from themescope.core.types import Corpus, FittedModel, Sentence, Vectors

if TYPE_CHECKING:
    from themescope.core.models.contrastive.training import Examples
    from themescope.core.models.set_encoder.network import SetTransformer

_WEIGHTS, _TRAINING = "set-encoder.safetensors", "training.json"
_TRAINING_READ, _ALL_READ = 0.45, 0.5  # shares of the progress after the sentences of each split are embedded


class SetEncoder(BaseModel):
    """Transformer over the vectors that other models give the sentences of an article, cosine distance."""

    config_class: ClassVar[type[Config]] = SetEncoderConfig
    config: SetEncoderConfig

    def __init__(self, config: SetEncoderConfig, seed: int) -> None:
        super().__init__(config, seed)
        self.metrics: dict[str, float] = {}
        """Training metrics: validation precision, steps, seconds, sentences/s, weight of tf-idf."""
        self.history: list[dict[str, float]] = []
        """One row for each validation, see :class:`themescope.core.models.training_loop.Trained`."""
        self._models: tuple[FittedModel, ...] = ()
        self._network: SetTransformer | None = None

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Train on ``corpus.sections`` of the splits train and validation, with the vectors of ``corpus.models``.

        Raises ``DataError`` without models or sections, and for a model with sparse vectors.
        """
        from themescope.core.models.contrastive.training import train
        from themescope.core.models.device import pick_device, seeded

        if not corpus.models:
            raise DataError("This method reads the vectors of fitted models. Name one or more models.")
        parts = training_and_validation(corpus, "The set encoder")
        self._models = tuple(corpus.models)
        device = pick_device(self.config.device)
        with seeded(self.seed):
            network = self._new_network(self._dim()).to(device)
        articles = [sectioned_articles(sentences) for sentences in parts]
        articles[0] = articles[0].limited(self.config.training_limit, self.seed)
        articles[0] = articles[0].thinned(self.config.embedded_per_article, self.seed)
        articles[1] = articles[1].limited(self.config.validation_limit, self.seed)
        shares = SubReport(report, 0.0, _TRAINING_READ), SubReport(report, _TRAINING_READ, _ALL_READ)
        training, validation = (self._source(network, *given) for given in zip(parts, articles, shares, strict=True))
        trained = train(self.config, self.seed, network, training, validation, SubReport(report, _ALL_READ, 1.0))
        self._network = self._restored(_half_weights(network), Path())  # as saved: loading does not change vectors
        self.metrics = trained.metrics | {"tf-idf weight": self.words_weight}
        self.history = trained.history
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dim of the base models) unit vectors; a sentence whose base vector is zero has the zero vector.

        The sentences of an article must be embedded together; those without an article form a set of their own.
        """
        from themescope.core.models.device import pick_device, thread_count
        from themescope.core.models.set_encoder.data import base_vectors, encode_set, sets_of, tfidf

        network = self._fitted()
        x, words = base_vectors(sentences, self._models), tfidf(sentences)
        out, device = np.zeros_like(x), pick_device(self.config.device)
        network.to(device)
        with thread_count(self.config.threads):
            for rows in sets_of(sentences, self.config.set_limit) if len(sentences) else ():
                filled = rows[x[rows].any(axis=1)]
                if len(filled):
                    out[filled] = encode_set(network, x[filled], words[filled], device)
        return out

    @property
    def words_weight(self) -> float:
        """The learned weight λ of the tf-idf similarity, against 1 for the cosine of two vectors."""
        return float(self._fitted().words.detach())

    @property
    def submodels(self) -> tuple[FittedModel, ...]:
        """The models that this one is built on."""
        return self._models

    def use_submodels(self, models: Sequence[FittedModel]) -> None:
        """Embed with ``models``, which give the same vectors as :attr:`submodels`, in the same order."""
        self._models = tuple(models)

    def save(self, folder: Path) -> None:
        """Write settings, weights in float16, the training history and the base models."""
        weights = _half_weights(self._fitted())
        write_settings(folder, self.config, self.seed)
        write_tensors(folder / _WEIGHTS, weights)
        write_json(folder / _TRAINING, {"metrics": self.metrics, "history": self.history})
        save_submodels(self._models, folder)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the model that :meth:`save` wrote."""
        model = cls(*read_settings(folder, SetEncoderConfig))
        details = read_json(folder / _TRAINING)
        model.metrics, model.history = details.get("metrics", {}), details.get("history", [])
        model._models = tuple(load_submodels(folder))
        model._network = model._restored(read_tensors(folder / _WEIGHTS, ("outward.weight",)), folder)
        return model

    def _restored(self, weights: dict[str, npt.NDArray[Any]], folder: Path) -> SetTransformer:
        import torch

        from themescope.core.models.device import with_weights

        tensors = {name: torch.from_numpy(array) for name, array in weights.items()}
        try:
            return with_weights(lambda: self._new_network(len(tensors["outward.weight"])), tensors)
        except RuntimeError as error:
            raise ArtifactError(f"The saved model in {folder.name} is damaged: {_WEIGHTS}: {error}") from None

    def _new_network(self, dim: int) -> SetTransformer:
        from themescope.core.models.set_encoder.network import SetTransformer

        config = self.config
        return SetTransformer(
            dim, config.width, config.layers, config.heads, config.dropout_rate, config.words, config.word_bias
        )

    def _dim(self) -> int:
        """Return the dimensions of the vectors of the base models together."""
        from themescope.core.models.set_encoder.data import base_vectors

        return int(base_vectors([], self._models).shape[1])

    def _source(
        self, network: SetTransformer, sentences: Sequence[Sentence], articles: SectionedArticles, report: Report
    ) -> Examples:
        """Return ``articles``, which are rows of ``sentences``, as data of the network."""
        from themescope.core.models.contrastive.training import Examples
        from themescope.core.models.set_encoder.data import batch_similarities, set_data

        data = set_data(sentences, articles, self._models, report)
        return Examples(articles, partial(batch_similarities, network, data), data.fingerprint())

    def _fitted(self) -> SetTransformer:
        if self._network is None:
            raise DataError("The set encoder is not trained yet. Call fit() with models, or load a saved model.")
        return self._network


def _half_weights(network: SetTransformer) -> dict[str, npt.NDArray[Any]]:
    return half_precision({name: tensor.detach().cpu().numpy() for name, tensor in network.state_dict().items()})
