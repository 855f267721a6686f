"""The triplet network as a model: ``triplets-sen``, ``triplets-titles``, variants (Ein Dor et al. 2018, section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from themescope.core.config import Config
from themescope.core.errors import DataError
from themescope.core.models.base import bounded_rows
from themescope.core.models.triplet_network.bilstm import BiLstmModel
from themescope.core.models.triplet_network.config import TripletNetConfig
from themescope.core.protocols import SILENT, Report
from themescope.core.types import Corpus, FittedModel, Sentence, Split, TripletTexts, Vectors

if TYPE_CHECKING:
    from themescope.core.models.triplet_network.batching import TripletData
    from themescope.core.models.triplet_network.network import BiLstmAttention

_KEPT = ("hidden", "attention", "distance", "norm_bound", "word_vectors", "vocabulary_limit", "storage")
"""Settings that fine-tuning takes over from the base model."""


class TripletNet(BiLstmModel):
    """BiLSTM with attention over fixed word vectors, evaluated with the distance it was trained with."""

    config_class: ClassVar[type[Config]] = TripletNetConfig
    config: TripletNetConfig

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Train on ``corpus.triplets`` of the splits train and validation.

        With a triplet network in ``corpus.models``, fine-tune it: its word vectors, its sizes and its distance replace
        those of the settings. Raises ``DataError`` without triplets.
        """
        from themescope.core.models.triplet_network.training import train

        given = [corpus.triplets.get(split) for split in (Split.TRAIN, Split.VALIDATION)]
        if not all(given):
            raise DataError(
                "The triplet network needs training and validation triplets, because validation decides when training "
                "stops. Build a triplet set, or name one that has both."
            )
        report.progress(0, 1, "Reading word vectors")
        base = self._take_base(corpus.models)
        training, validation = (
            self._data(texts, limit, report)
            for texts, limit in zip(given, (0, self.config.validation_limit), strict=True)
            if texts is not None
        )
        start = None if base is None else base.state_dict()
        trained = train(self.config, self.seed, training, validation, report, start)
        self.metrics, self.history = trained.metrics, trained.history
        self._net = self._network(trained.weights)
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, 2·hidden) vectors; a sentence without tokens is the zero vector."""
        return bounded_rows(np.asarray(super().embed(sentences)), self.config.norm_bound)

    def embed_words(self, sentences: Sequence[Sequence[str]]) -> Vectors:
        """Return (n, 2·hidden) vectors of tokenised sentences."""
        return bounded_rows(np.asarray(super().embed_words(sentences)), self.config.norm_bound)

    @property
    def distance(self) -> str:
        """The distance the network was trained with; the paper's is L1."""
        return self.config.measured

    @property
    def sentence_network(self) -> Self:
        """The network that fine-tuning starts from."""
        return self

    def _take_base(self, models: Sequence[FittedModel]) -> BiLstmAttention | None:
        """Load the word vectors that the settings name, or take those and the network of the base model."""
        if not models:
            self._vectors = self._read_words()
            return None
        base = getattr(models[0], "sentence_network", None)
        if len(models) > 1 or not isinstance(base, TripletNet):
            raise DataError("The base model must be one trained triplet network. Name a single such model.")
        self.config = replace(self.config, **{name: getattr(base.config, name) for name in _KEPT})
        self._vectors = base.words
        return base.network

    def _data(self, texts: TripletTexts, limit: int, report: Report) -> TripletData:
        from themescope.core.models.triplet_network.batching import triplet_data

        assert self._vectors is not None

        def tick() -> None:
            report.progress(0, 1, "Reading the sentences")

        return triplet_data(texts, self._vectors, limit, self.seed, tick)
