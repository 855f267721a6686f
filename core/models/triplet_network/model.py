"""``triplets-sen`` and ``triplets-titles``: the triplet network of Ein Dor et al. 2018 as a method.

The saved model is self-contained: the network's weights (float32) and the word vectors it was trained on, exactly as
they were rounded for training, so that it embeds elsewhere as it did here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from core.errors import ArtifactError, DataError
from core.models import distances
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
from core.models.triplet_network.model_config import TripletNetConfig
from core.protocols import SILENT, Report
from core.text.tokens import tokenize
from core.text.word_vectors import Float32, Storage, TokenIds, WordVectors, load_word_vectors, word_ids
from core.types import Corpus, FittedModel, Sentence, Split, TripletTexts, Vectors

if TYPE_CHECKING:
    from core.models.triplet_network.batching import TripletData
    from core.models.triplet_network.inference import Precision
    from core.models.triplet_network.network import BiLstmAttention

NETWORK = "network"
"""What the one network of this method is called where a method may have several."""
_WEIGHTS, _TRAINING = "network.safetensors", "training.json"
_BELONGING = ("hidden", "attention", "distance", "norm_bound", "word_vectors", "vocabulary_limit", "storage")
"""Settings that a network which is trained further brings with it."""
_BLOCK = 4_096  # sentences tokenised at once
_CELLS = 4_096  # tokens encoded at once

DISTANCES = {
    "l1": distances.l1_distances,
    "mean-l1": distances.l1_distances,
    "l2": distances.l2_distances,
    "cosine": distances.cosine_distances,
}


class TripletNet:
    """A BiLSTM with attention over frozen word vectors; sentences are compared in the distance it was trained with."""

    def __init__(self, config: TripletNetConfig, seed: int) -> None:
        self.config, self.seed = config, seed
        self.metrics: dict[str, float] = {}
        """How training went: validation accuracy, steps, seconds, triplets/s."""
        self.history: list[dict[str, float]] = []
        """One row a validation, see :class:`core.models.triplet_network.training.Trained`."""
        self.inference: Precision = "fp32"
        """How sentences are embedded on a processor: exactly, or faster with numbers of 8 bits."""
        self._vectors: WordVectors | None = None
        self._net: BiLstmAttention | None = None

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Train on ``corpus.triplets`` of the splits train and validation.

        With a trained network in ``corpus.models``, go on from it: its word vectors, its shape and its distance are
        taken over, whatever the settings say of them.
        """
        from core.models.triplet_network.training import train

        given = [corpus.triplets.get(split) for split in (Split.TRAIN, Split.VALIDATION)]
        if not all(given):
            raise DataError(
                "The triplet network needs triplets for training and for validation: build a triplet set, or name "
                "another one whose validation triplets say when to stop."
            )
        report.progress(0, 1, "Reading word vectors")
        base = self._begin(corpus.models)
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
        """(n, 2·hidden) vectors; a sentence without tokens is the zero vector."""
        return self._encoded(len(sentences), (tokenize(s.text) for s in sentences))

    def embed_words(self, sentences: Sequence[Sequence[str]]) -> Vectors:
        """(n, 2·hidden) vectors of sentences that are lists of words already."""
        return self._encoded(len(sentences), iter(sentences))

    def attention(self, sentences: Sequence[Sequence[str]]) -> dict[str, list[Float32]]:
        """The weight of every word of every sentence, see :class:`.word_attention.Attending`."""
        from core.models.device import pick_device, thread_count
        from core.models.triplet_network.attention import attention_weights

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
        return distances.bounded_rows(out, self.config.norm_bound)

    def _encoder(self, net: BiLstmAttention) -> Callable[[TokenIds], npt.NDArray[np.float32]]:
        """How tokens become vectors where this model runs: by the network itself on a GPU, compiled on a processor."""
        import torch

        from core.models.device import pick_device

        device = pick_device(self.config.device)
        if device.type == "cpu":
            from core.models.triplet_network.inference import Inference

            inference = Inference(net.to(device), self.inference)
            return lambda tokens: inference.encode(tokens, _nothing)
        from core.models.triplet_network.encoding import Encoder

        net.to(device)

        def encode(tokens: TokenIds) -> npt.NDArray[np.float32]:
            with torch.inference_mode():
                vectors = Encoder(net, tokens, torch.float32).encode(np.arange(len(tokens)), _nothing, cells=_CELLS)
                return np.asarray(vectors.cpu().numpy())

        return encode

    def distances(self, a: Vectors, b: Vectors) -> npt.NDArray[np.float32]:
        """(n,) distances of the kind the network was trained with; the paper's is L1."""
        return DISTANCES[self.config.measured](a, b)

    def save(self, folder: Path) -> None:
        """Write settings, weights, word vectors and the course of the training."""
        write_settings(folder, self.config, self.seed)
        write_word_vectors(folder, self.words)
        write_tensors(folder / _WEIGHTS, self.weights)
        write_json(folder / _TRAINING, {"metrics": self.metrics, "history": self.history})

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Inverse of :meth:`save`."""
        model = cls(*read_settings(folder, TripletNetConfig))
        course = read_json(folder / _TRAINING)
        model.metrics, model.history = course.get("metrics", {}), course.get("history", [])
        model.restore(read_word_vectors(folder), folder / _WEIGHTS)
        return model

    @property
    def sentence_network(self) -> Self:
        """What another training may go on from."""
        return self

    @property
    def words(self) -> WordVectors:
        """The table of word vectors that the network reads."""
        return self._fitted()[0]

    @property
    def network(self) -> BiLstmAttention:
        """The trained network."""
        return self._fitted()[1]

    @property
    def weights(self) -> dict[str, npt.NDArray[np.float32]]:
        """The network's weights by name."""
        return {name: tensor.detach().cpu().numpy() for name, tensor in self._fitted()[1].state_dict().items()}

    def restore(self, words: WordVectors, file: Path) -> None:
        """Take the weights in ``file`` over ``words``. Raises ``ArtifactError`` when they do not fit the settings."""
        import torch

        self._vectors = words
        weights = {name: torch.from_numpy(array) for name, array in read_tensors(file).items()}
        try:
            self._net = self._network(weights)
        except RuntimeError as error:
            raise ArtifactError(f"The saved model in {file.parent.name} is damaged: {file.name}: {error}") from None

    def _begin(self, models: Sequence[FittedModel]) -> BiLstmAttention | None:
        """Take word vectors as the settings say, or all that belongs to a network that is trained further."""
        if not models:
            storage: Storage = self.config.storage  # type: ignore[assignment]
            limit = self.config.vocabulary_limit or None
            self._vectors = load_word_vectors(self.config.word_vectors, limit).stored_as(storage)
            return None
        base = getattr(models[0], "sentence_network", None)
        if len(models) > 1 or not isinstance(base, TripletNet):
            raise DataError("A triplet network goes on from one trained triplet network. Name a single model of it.")
        self.config = replace(self.config, **{name: getattr(base.config, name) for name in _BELONGING})
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
            raise DataError("The triplet network is not trained yet: call fit() first, or load a saved model.")
        return self._vectors, self._net


def _nothing() -> None:
    """Between chunks of sentences nothing needs to be told."""
