"""The triplet network as a model: ``triplets-sen``, ``triplets-titles`` and variants (Ein Dor et al. 2018, section 3).

A saved model is self-contained: the weights (float32) and the word vectors as they were rounded for training, so that
it gives the same vectors elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from core.config import Config
from core.errors import ArtifactError, DataError
from core.models.base import BaseModel, bounded_rows
from core.models.storage import (
    read_json,
    read_settings,
    read_tensors,
    read_word_vectors,
    write_json,
    write_settings,
    write_tensors,
    write_word_vectors,
)
from core.models.triplet_network.config import TripletNetConfig
from core.protocols import SILENT, Report
from core.text.tokens import tokenize
from core.text.word_tables import load_word_vectors
from core.text.word_vectors import Float32, Storage, TokenIds, WordVectors, word_ids
from core.types import Corpus, FittedModel, Sentence, Split, TripletTexts, Vectors

if TYPE_CHECKING:
    from core.models.triplet_network.batching import TripletData
    from core.models.triplet_network.inference import Precision
    from core.models.triplet_network.network import BiLstmAttention

NETWORK = "network"
"""Name of the network in :meth:`TripletNet.attention`; models with several networks use other names."""
_WEIGHTS, _TRAINING = "network.safetensors", "training.json"
_KEPT = ("hidden", "attention", "distance", "norm_bound", "word_vectors", "vocabulary_limit", "storage")
"""Settings that fine-tuning takes over from the base model."""
_BLOCK = 4_096  # sentences tokenised at once
_CELLS = 4_096  # tokens encoded at once


class TripletNet(BaseModel):
    """BiLSTM with attention over fixed word vectors, evaluated with the distance it was trained with."""

    config_class: ClassVar[type[Config]] = TripletNetConfig
    config: TripletNetConfig

    def __init__(self, config: TripletNetConfig, seed: int) -> None:
        super().__init__(config, seed)
        self.metrics: dict[str, float] = {}
        """Training metrics: validation accuracy, steps, seconds, triplets/s."""
        self.history: list[dict[str, float]] = []
        """One row for each validation, see :class:`core.models.triplet_network.training.Trained`."""
        self.inference: Precision = "fp32"
        """Numeric precision of embedding on a processor: fp32, or int8, which is faster."""
        self._vectors: WordVectors | None = None
        self._net: BiLstmAttention | None = None

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Train on ``corpus.triplets`` of the splits train and validation.

        With a triplet network in ``corpus.models``, fine-tune it: its word vectors, its sizes and its distance replace
        those of the settings. Raises ``DataError`` without triplets.
        """
        from core.models.triplet_network.training import train

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
        return self._encoded(len(sentences), (tokenize(s.text) for s in sentences))

    def embed_words(self, sentences: Sequence[Sequence[str]]) -> Vectors:
        """Return (n, 2·hidden) vectors of tokenised sentences."""
        return self._encoded(len(sentences), iter(sentences))

    def attention(self, sentences: Sequence[Sequence[str]]) -> dict[str, list[Float32]]:
        """Return the attention weights of tokenised sentences, see :class:`.word_attention.Attending`."""
        from core.models.device import pick_device, thread_count
        from core.models.triplet_network.network import attention_weights

        vectors, net = self._fitted()
        with thread_count(self.config.threads):
            return {NETWORK: attention_weights(net.to(pick_device(self.config.device)), word_ids(sentences, vectors))}

    def _encoded(self, count: int, sentences: Iterator[Sequence[str]]) -> Vectors:
        from core.models.device import thread_count

        vectors, net = self._fitted()
        out = np.zeros((count, net.width), np.float32)
        with thread_count(self.config.threads):
            encode = self._encoder(net)
            for start in range(0, count, _BLOCK):
                out[start : start + _BLOCK] = encode(word_ids(islice(sentences, _BLOCK), vectors))
        return bounded_rows(out, self.config.norm_bound)

    def _encoder(self, net: BiLstmAttention) -> Callable[[TokenIds], npt.NDArray[np.float32]]:
        """Return the function that encodes tokens: the torch network on a GPU, compiled inference on a processor."""
        import torch

        from core.models.device import pick_device

        device = pick_device(self.config.device)
        if device.type == "cpu":
            from core.models.triplet_network.inference import Inference

            inference = Inference(net.to(device), self.inference)
            return lambda tokens: inference.encode(tokens, _no_tick)
        from core.models.triplet_network.network import Encoder

        net.to(device)

        def encode(tokens: TokenIds) -> npt.NDArray[np.float32]:
            with torch.inference_mode():
                vectors = Encoder(net, tokens, torch.float32).encode(np.arange(len(tokens)), _no_tick, cells=_CELLS)
                return np.asarray(vectors.cpu().numpy())

        return encode

    @property
    def distance(self) -> str:
        """The distance the network was trained with; the paper's is L1."""
        return self.config.measured

    def save(self, folder: Path) -> None:
        """Write settings, weights, word vectors and the training history."""
        write_settings(folder, self.config, self.seed)
        write_word_vectors(folder, self.words)
        write_tensors(folder / _WEIGHTS, self.weights)
        write_json(folder / _TRAINING, {"metrics": self.metrics, "history": self.history})

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the model that :meth:`save` wrote."""
        model = cls(*read_settings(folder, TripletNetConfig))
        details = read_json(folder / _TRAINING)
        model.metrics, model.history = details.get("metrics", {}), details.get("history", [])
        model.restore(read_word_vectors(folder), folder / _WEIGHTS)
        return model

    @property
    def sentence_network(self) -> Self:
        """The network that fine-tuning starts from."""
        return self

    @property
    def words(self) -> WordVectors:
        """The word vectors that the network reads."""
        return self._fitted()[0]

    @property
    def network(self) -> BiLstmAttention:
        """The trained network."""
        return self._fitted()[1]

    @property
    def weights(self) -> dict[str, npt.NDArray[np.float32]]:
        """The weights of the network by name."""
        return {name: tensor.detach().cpu().numpy() for name, tensor in self._fitted()[1].state_dict().items()}

    def restore(self, words: WordVectors, file: Path) -> None:
        """Take the word vectors and the weights in ``file``. Raises ``ArtifactError`` when they do not fit together."""
        import torch

        self._vectors = words
        weights = {name: torch.from_numpy(array) for name, array in read_tensors(file).items()}
        try:
            self._net = self._network(weights)
        except RuntimeError as error:
            raise ArtifactError(f"The saved model in {file.parent.name} is damaged: {file.name}: {error}") from None

    def _take_base(self, models: Sequence[FittedModel]) -> BiLstmAttention | None:
        """Load the word vectors that the settings name, or take those and the network of the base model."""
        if not models:
            storage: Storage = self.config.storage  # type: ignore[assignment]
            limit = self.config.vocabulary_limit or None
            self._vectors = load_word_vectors(self.config.word_vectors, limit).stored_as(storage)
            return None
        base = getattr(models[0], "sentence_network", None)
        if len(models) > 1 or not isinstance(base, TripletNet):
            raise DataError("The base model must be one trained triplet network. Name a single such model.")
        self.config = replace(self.config, **{name: getattr(base.config, name) for name in _KEPT})
        self._vectors = base.words
        return base.network

    def _data(self, texts: TripletTexts, limit: int, report: Report) -> TripletData:
        from core.models.triplet_network.batching import triplet_data

        assert self._vectors is not None

        def tick() -> None:
            report.progress(0, 1, "Reading the sentences")

        return triplet_data(texts, self._vectors, limit, self.seed, tick)

    def _network(self, weights: dict[str, Any]) -> BiLstmAttention:
        from core.models.triplet_network.network import BiLstmAttention

        assert self._vectors is not None
        net = BiLstmAttention(self._vectors.dim, self.config.hidden, self.config.attention)
        net.load_state_dict(weights)
        return net.eval()

    def _fitted(self) -> tuple[WordVectors, BiLstmAttention]:
        if self._vectors is None or self._net is None:
            raise DataError("The triplet network is not trained yet. Call fit() first, or load a saved model.")
        return self._vectors, self._net


def _no_tick() -> None:
    """Do nothing between chunks of sentences."""
