"""The triplet network as a model: ``triplets-sen``, ``triplets-titles``, variants (Ein Dor et al. 2018, section 3).

A saved model is self-contained: the weights (float32) and the word vectors as they were rounded for training, so that
it gives the same vectors elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from themescope.core.config import Config
from themescope.core.errors import DataError
from themescope.core.models.base import TrainedModel, bounded_rows
from themescope.core.models.storage import damaged, read_tensors, read_word_vectors, write_tensors, write_word_vectors
from themescope.core.models.triplet_network.config import TripletNetConfig
from themescope.core.protocols import SILENT, Report
from themescope.core.text.tokens import tokenize
from themescope.core.text.word_tables import load_word_vectors
from themescope.core.text.word_vectors import Storage, WordVectors, word_ids
from themescope.core.types import Corpus, FittedModel, Float32, Sentence, Split, Vectors

if TYPE_CHECKING:
    from themescope.core.models.triplet_network.inference import Precision
    from themescope.core.models.triplet_network.network import BiLstmAttention

NETWORK = "network"
"""Name of the network in :meth:`BiLstmModel.attention`; models with several networks use other names."""
_WEIGHTS = "network.safetensors"
_BLOCK = 4_096  # sentences tokenised at once
_CELLS = 4_096  # tokens encoded at once


class BiLstmModel(TrainedModel):
    """BiLSTM with attention over fixed word vectors; subclasses train it.

    Their settings are a ``BiLstmConfig`` with the fields device and threads.
    """

    def __init__(self, config: Any, seed: int) -> None:
        super().__init__(config, seed)
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

        net = self.network.to(pick_device(self.config.device))
        with thread_count(self.config.threads):
            return {NETWORK: attention_weights(net, word_ids(sentences, self.words))}

    def _encoded(self, count: int, sentences: Iterator[Sequence[str]]) -> Vectors:
        """Encode by the torch network on a GPU, and by compiled inference on a processor."""
        import torch

        from themescope.core.models.device import pick_device, thread_count
        from themescope.core.models.triplet_network.inference import Inference
        from themescope.core.models.triplet_network.network import NetworkEncoder

        device = pick_device(self.config.device)
        net = self.network.to(device)
        out = np.zeros((count, net.width), np.float32)
        with thread_count(self.config.threads), torch.inference_mode():
            inference = Inference(net, self.inference) if device.type == "cpu" else None
            for start in range(0, count, _BLOCK):
                tokens = word_ids(islice(sentences, _BLOCK), self.words)
                if inference is not None:
                    out[start : start + _BLOCK] = inference.encode(tokens, lambda: None)
                else:
                    encoder = NetworkEncoder(net, tokens, torch.float32)
                    vectors = encoder.encode(np.arange(len(tokens)), lambda: None, cells=_CELLS)
                    out[start : start + _BLOCK] = vectors.cpu().numpy()
        return out

    def _write(self, folder: Path) -> None:
        write_word_vectors(folder, self.words)
        write_tensors(folder / _WEIGHTS, self.weights)

    def _read(self, folder: Path) -> None:
        self.restore(read_word_vectors(folder), folder / _WEIGHTS)

    @property
    def words(self) -> WordVectors:
        """The word vectors that the network reads."""
        return self._fitted(self._vectors)

    @property
    def network(self) -> BiLstmAttention:
        """The trained network."""
        return self._fitted(self._net)

    @property
    def weights(self) -> dict[str, npt.NDArray[np.float32]]:
        """The weights of the network by name."""
        return {name: tensor.detach().cpu().numpy() for name, tensor in self.network.state_dict().items()}

    def restore(self, words: WordVectors, file: Path) -> None:
        """Take the word vectors and the weights in ``file``. Raises ``ArtifactError`` when they do not fit together."""
        import torch

        self._vectors = words
        weights = {name: torch.from_numpy(array) for name, array in read_tensors(file).items()}
        try:
            self._net = self._network(weights)
        except RuntimeError as error:
            raise damaged(file.parent, f"{file.name}: {error}") from None

    def _read_words(self) -> WordVectors:
        """Load the word vectors that the settings name, as they are stored in the saved model."""
        storage: Storage = self.config.storage
        return load_word_vectors(self.config.word_vectors, self.config.vocabulary_limit or None).stored_as(storage)

    def _network(self, weights: dict[str, Any]) -> BiLstmAttention:
        from themescope.core.models.device import with_weights
        from themescope.core.models.triplet_network.network import BiLstmAttention

        sizes = self.words.dim, self.config.hidden, self.config.attention
        return with_weights(lambda: BiLstmAttention(*sizes), weights)


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
        from themescope.core.models.triplet_network.batching import triplet_data
        from themescope.core.models.triplet_network.training import train

        given = [corpus.triplets.get(split) for split in (Split.TRAIN, Split.VALIDATION)]
        if not all(given):
            raise DataError(
                "The triplet network needs training and validation triplets, because validation decides when training "
                "stops. Build a triplet set, or name one that has both."
            )
        report.progress(0, 1, "Reading word vectors")
        base = self._take_base(corpus.models)

        def tick() -> None:
            report.progress(0, 1, "Reading the sentences")

        training, validation = (
            triplet_data(texts, self.words, limit, self.seed, tick)
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
