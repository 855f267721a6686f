"""``skip-thought``: a recurrent encoder that learned to predict neighbouring sentences (algorithms G.3, B.7).

Trained here on consecutive sentences of a corpus, or made from published weights
(:mod:`core.models.recurrent.recurrent_weights`). Cosine distance, as Ein Dor et al. 2018 evaluate skip-thoughts-CS.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from core.errors import ArtifactError, DataError
from core.models.distances import cosine_distances
from core.models.recurrent.skip_config import SkipThoughtConfig
from core.models.recurrent.vocabulary_expansion import ExpandedWords, expanded
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
from core.paths import at_home
from core.protocols import SILENT, Report
from core.text.word_vectors import Storage, WordVectors, load_word_vectors, token_ids
from core.types import Corpus, Sentence, Vectors

if TYPE_CHECKING:
    from core.models.recurrent.gru import GruEncoder

_WEIGHTS, _TRAINING, _OWN = "encoder.safetensors", "training.json", "learned-"
_BLOCK = 4_096  # sentences tokenised at once


class SkipThought:
    """The last state of a GRU in each direction over learned words; sentences are compared by cosine."""

    def __init__(self, config: SkipThoughtConfig, seed: int) -> None:
        self.config, self.seed = config, seed
        self.metrics: dict[str, float] = {}
        """How training went: loss, steps, seconds, sentences/s."""
        self._words: ExpandedWords | None = None
        self._net: GruEncoder | None = None

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Train on ``corpus.sentences``, or read the weights that the settings name."""
        report.progress(0, 1, "Reading word vectors")
        table = load_word_vectors(self.config.word_vectors, self.config.vocabulary_limit or None)
        if self.config.weights:
            self._read_weights(table)
            return self
        from core.models.recurrent.gru import gru_encoder
        from core.models.recurrent.skip_data import skip_data
        from core.models.recurrent.skip_training import train_skip

        if not len(corpus.sentences):
            raise DataError("skip-thought learns from consecutive sentences; this corpus has none.")
        data = skip_data(
            corpus.sentences,
            self.config.vocabulary,
            self.config.max_tokens,
            lambda: report.progress(0, 1, "Reading the sentences"),
        )
        trained = train_skip(self.config, self.seed, data, report)
        self.metrics = trained.metrics
        words = expanded(WordVectors(data.words, trained.table), table)
        self._words = ExpandedWords(self._kept(words.own), self._kept(words.table), words.map, words.shift)
        self._net = gru_encoder(trained.weights)
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """(n, width) last states; a sentence without a known word is the zero vector."""
        import torch

        from core.models.device import pick_device, thread_count
        from core.models.recurrent.gru import encode_tokens

        words, net = self._fitted()
        net.to(pick_device(self.config.device))
        out = np.zeros((len(sentences), net.width), np.float32)
        with thread_count(self.config.threads), torch.inference_mode():
            for start in range(0, len(sentences), _BLOCK):
                texts = (self._text(s.text) for s in sentences[start : start + _BLOCK])
                tokens = token_ids(texts, words, unknown=False)
                encode_tokens(net, tokens, out[start : start + _BLOCK])
        return out

    def distances(self, a: Vectors, b: Vectors) -> npt.NDArray[np.float32]:
        """(n,) 1 − cosine."""
        return cosine_distances(a, b)

    def save(self, folder: Path) -> None:
        """Write settings, encoder, learned words, and the table for others with its map."""
        words, net = self._fitted()
        write_settings(folder, self.config, self.seed)
        write_word_vectors(folder, words.own, _OWN)
        write_word_vectors(folder, words.table)
        tensors = {name: t.detach().cpu().numpy() for name, t in net.state_dict().items()}
        write_tensors(folder / _WEIGHTS, tensors | {"map": words.map, "shift": words.shift})
        write_json(folder / _TRAINING, {"metrics": self.metrics})

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Inverse of :meth:`save`."""
        import torch

        from core.models.recurrent.gru import gru_encoder

        model = cls(*read_settings(folder, SkipThoughtConfig))
        model.metrics = read_json(folder / _TRAINING).get("metrics", {})
        tensors = read_tensors(folder / _WEIGHTS, ("map", "shift", "onward.weight_hh_l0"))
        map_, shift = tensors.pop("map"), tensors.pop("shift")
        model._words = ExpandedWords(read_word_vectors(folder, _OWN), read_word_vectors(folder), map_, shift)
        try:
            model._net = gru_encoder({name: torch.from_numpy(array) for name, array in tensors.items()})
        except RuntimeError as error:
            raise ArtifactError(f"The saved model in {folder.name} is damaged: {_WEIGHTS}: {error}") from None
        return model

    def _read_weights(self, table: WordVectors) -> None:
        from core.models.recurrent.recurrent_weights import read_recurrent_weights

        self._net = read_recurrent_weights(at_home(self.config.weights), table.dim)
        nothing = WordVectors([], np.zeros((0, table.dim), np.float32))
        whole, shift = np.eye(table.dim, dtype=np.float32), np.zeros(table.dim, np.float32)
        self._words = ExpandedWords(nothing, self._kept(table), whole, shift)

    def _kept(self, vectors: WordVectors) -> WordVectors:
        storage: Storage = self.config.storage  # type: ignore[assignment]
        return vectors.stored_as(storage)

    def _text(self, text: str) -> str:
        return text.lower() if self.config.lowercase or not self.config.weights else text

    def _fitted(self) -> tuple[ExpandedWords, GruEncoder]:
        if self._words is None or self._net is None:
            raise DataError("skip-thought is not trained yet: call fit() first, or load a saved model.")
        return self._words, self._net
