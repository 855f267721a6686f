"""Base of the models that encode sentences with a BiLSTM with attention over fixed word vectors.

A saved model is self-contained: the weights (float32) and the word vectors as they were rounded for training, so that
it gives the same vectors elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from themescope.core.errors import ArtifactError, DataError
from themescope.core.models.base import BaseModel
from themescope.core.models.storage import (
    read_json,
    read_settings,
    read_tensors,
    read_word_vectors,
    write_json,
    write_settings,
    write_tensors,
    write_word_vectors,
)
from themescope.core.text.tokens import tokenize
from themescope.core.text.word_tables import load_word_vectors
from themescope.core.text.word_vectors import Float32, Storage, TokenIds, WordVectors, word_ids
from themescope.core.types import Sentence, Vectors

if TYPE_CHECKING:
    from themescope.core.models.triplet_network.inference import Precision
    from themescope.core.models.triplet_network.network import BiLstmAttention

NETWORK = "network"
"""Name of the network in :meth:`BiLstmModel.attention`; models with several networks use other names."""
_WEIGHTS, _TRAINING = "network.safetensors", "training.json"
_BLOCK = 4_096  # sentences tokenised at once
_CELLS = 4_096  # tokens encoded at once


class BiLstmModel(BaseModel):
    """BiLSTM with attention over fixed word vectors; subclasses train it.

    Their settings have the fields hidden, attention, word_vectors, vocabulary_limit, storage, device and threads.
    """

    def __init__(self, config: Any, seed: int) -> None:
        super().__init__(config, seed)
        self.metrics: dict[str, float] = {}
        """Training metrics: validation result, steps, seconds, speed."""
        self.history: list[dict[str, float]] = []
        """One row for each validation, see the training of the subclass."""
        self.inference: Precision = "fp32"
        """Numeric precision of embedding on a processor: fp32, or int8, which is faster."""
        self._vectors: WordVectors | None = None
        self._net: BiLstmAttention | None = None

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, 2·hidden) vectors; a sentence without tokens is the zero vector."""
        return self._encoded(len(sentences), (tokenize(s.text) for s in sentences))

    def embed_words(self, sentences: Sequence[Sequence[str]]) -> Vectors:
        """Return (n, 2·hidden) vectors of tokenised sentences."""
        return self._encoded(len(sentences), iter(sentences))

    def attention(self, sentences: Sequence[Sequence[str]]) -> dict[str, list[Float32]]:
        """Return the attention weights of tokenised sentences, see :class:`.word_attention.Attending`."""
        from themescope.core.models.device import pick_device, thread_count
        from themescope.core.models.triplet_network.network import attention_weights

        vectors, net = self._fitted()
        with thread_count(self.config.threads):
            return {NETWORK: attention_weights(net.to(pick_device(self.config.device)), word_ids(sentences, vectors))}

    def _encoded(self, count: int, sentences: Iterator[Sequence[str]]) -> Vectors:
        from themescope.core.models.device import thread_count

        vectors, net = self._fitted()
        out = np.zeros((count, net.width), np.float32)
        with thread_count(self.config.threads):
            encode = self._encoder(net)
            for start in range(0, count, _BLOCK):
                out[start : start + _BLOCK] = encode(word_ids(islice(sentences, _BLOCK), vectors))
        return out

    def _encoder(self, net: BiLstmAttention) -> Callable[[TokenIds], npt.NDArray[np.float32]]:
        """Return the function that encodes tokens: the torch network on a GPU, compiled inference on a processor."""
        import torch

        from themescope.core.models.device import pick_device

        device = pick_device(self.config.device)
        if device.type == "cpu":
            from themescope.core.models.triplet_network.inference import Inference

            inference = Inference(net.to(device), self.inference)
            return lambda tokens: inference.encode(tokens, _no_tick)
        from themescope.core.models.triplet_network.network import NetworkEncoder

        net.to(device)

        def encode(tokens: TokenIds) -> npt.NDArray[np.float32]:
            with torch.inference_mode():
                vectors = NetworkEncoder(net, tokens, torch.float32).encode(
                    np.arange(len(tokens)), _no_tick, cells=_CELLS
                )
                return np.asarray(vectors.cpu().numpy())

        return encode

    def save(self, folder: Path) -> None:
        """Write settings, weights, word vectors and the training history."""
        write_settings(folder, self.config, self.seed)
        write_word_vectors(folder, self.words)
        write_tensors(folder / _WEIGHTS, self.weights)
        write_json(folder / _TRAINING, {"metrics": self.metrics, "history": self.history})

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the model that :meth:`save` wrote."""
        model = cls(*read_settings(folder, cls.config_class))
        details = read_json(folder / _TRAINING)
        model.metrics, model.history = details.get("metrics", {}), details.get("history", [])
        model.restore(read_word_vectors(folder), folder / _WEIGHTS)
        return model

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

    def _read_words(self) -> WordVectors:
        """Load the word vectors that the settings name, as they are stored in the saved model."""
        storage: Storage = self.config.storage
        return load_word_vectors(self.config.word_vectors, self.config.vocabulary_limit or None).stored_as(storage)

    def _network(self, weights: dict[str, Any]) -> BiLstmAttention:
        from themescope.core.models.device import with_weights
        from themescope.core.models.triplet_network.network import BiLstmAttention

        assert self._vectors is not None
        sizes = self._vectors.dim, self.config.hidden, self.config.attention
        return with_weights(lambda: BiLstmAttention(*sizes), weights)

    def _fitted(self) -> tuple[WordVectors, BiLstmAttention]:
        if self._vectors is None or self._net is None:
            raise DataError("The triplet network is not trained yet. Call fit() first, or load a saved model.")
        return self._vectors, self._net


def _no_tick() -> None:
    """Do nothing between chunks of sentences."""
