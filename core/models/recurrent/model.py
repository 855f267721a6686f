"""The recurrent models ``skip-thought``, ``sae`` and ``sdae``. Cosine distance."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from themescope.core.config import Config
from themescope.core.errors import DataError
from themescope.core.models.base import TrainedModel
from themescope.core.models.recurrent.data import (
    ExpandedWords,
    SaeConfig,
    SdaeConfig,
    SkipThoughtConfig,
    expanded,
    skip_data,
    word_rows,
)
from themescope.core.models.storage import damaged, read_tensors, read_word_vectors, write_tensors, write_word_vectors
from themescope.core.paths import expand_home
from themescope.core.protocols import SILENT, Report
from themescope.core.text.tokens import content_words
from themescope.core.text.word_tables import load_word_vectors
from themescope.core.text.word_vectors import Storage, TokenIds, WordVectors, token_ids, word_ids
from themescope.core.types import Corpus, Sentence, Vectors

if TYPE_CHECKING:
    from themescope.core.models.recurrent.gru import GruEncoder

_WEIGHTS, _OWN = "encoder.safetensors", "learned-"
_BLOCK = 4_096  # sentences tokenised at once


class _RecurrentModel(TrainedModel):
    """A GRU encoder and the words it reads; the vector of a sentence is the last state of each direction."""

    def __init__(self, config: Any, seed: int) -> None:
        super().__init__(config, seed)
        self._net: GruEncoder | None = None

    @abstractmethod
    def _tokens(self, sentences: Sequence[Sentence]) -> TokenIds:
        """Return the known words of each sentence."""

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, width) last states; a sentence without known words is the zero vector."""
        from themescope.core.models.device import done_apart, pick_device
        from themescope.core.models.recurrent.gru import encode_tokens

        net, device = self._fitted(self._net), pick_device(self.config.device)
        net.to(device)
        out = np.zeros((len(sentences), net.width), np.float32)
        blocks = [slice(start, start + _BLOCK) for start in range(0, len(sentences), _BLOCK)]
        done_apart(
            lambda rows: encode_tokens(net, self._tokens(sentences[rows]), out[rows]),
            blocks, device, self.config.threads,
        )  # fmt: skip
        return out

    def _write_net(self, folder: Path, **tensors: Any) -> None:
        """Write the weights of the encoder and further ``tensors``."""
        weights = {name: t.detach().cpu().numpy() for name, t in self._fitted(self._net).state_dict().items()}
        write_tensors(folder / _WEIGHTS, weights | tensors)

    def _read_net(self, folder: Path, *names: str) -> list[Any]:
        """Read the encoder; return the tensors ``names`` that were written with its weights."""
        import torch

        from themescope.core.models.recurrent.gru import gru_encoder

        tensors = read_tensors(folder / _WEIGHTS, ("onward.weight_ih_l0", *names))
        others = [tensors.pop(name) for name in names]
        try:
            self._net = gru_encoder({name: torch.from_numpy(array) for name, array in tensors.items()})
        except RuntimeError as error:
            raise damaged(folder, f"{_WEIGHTS}: {error}") from None
        return others

    def _stored(self, vectors: WordVectors) -> WordVectors:
        storage: Storage = self.config.storage
        return vectors.stored_as(storage)


class Sae(_RecurrentModel):
    """Sequential autoencoder: a GRU trained to encode the whole sentence (Hill, Cho and Korhonen 2016, section 2).

    Words are lower-cased without punctuation and not stemmed; a word that was not learned is ignored.
    """

    config_class: ClassVar[type[Config]] = SaeConfig
    config: SaeConfig
    _words: WordVectors

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Train on ``corpus.sentences``, in any order and from any number of texts."""
        from themescope.core.models.recurrent.gru import gru_encoder
        from themescope.core.models.recurrent.training import train_autoencoder

        if not len(corpus.sentences):
            raise DataError("A sequential autoencoder needs the sentences of a corpus, but this corpus has none.")
        data = word_rows(
            map(self._words_of, corpus.sentences),
            self.config.vocabulary,
            lambda: report.progress(0, 1, "Reading the sentences"),
            least=self.config.min_tokens,
        )
        trained = train_autoencoder(self.config, self.seed, data, report)
        self.metrics = trained.metrics
        self._words = self._stored(WordVectors(data.words, trained.table))
        self._net = gru_encoder(trained.weights)
        return self

    def _write(self, folder: Path) -> None:
        self._write_net(folder)
        write_word_vectors(folder, self._words)

    def _read(self, folder: Path) -> None:
        self._read_net(folder)
        self._words = read_word_vectors(folder)

    def _tokens(self, sentences: Sequence[Sentence]) -> TokenIds:
        return word_ids(map(self._words_of, sentences), self._words, unknown=False)

    def _words_of(self, sentence: Sentence) -> list[str]:
        return content_words(sentence.text, stemmed=False)[: self.config.max_tokens]


class Sdae(Sae):
    """Sequential denoising autoencoder: trained to reconstruct sentences with deleted and swapped words."""

    config_class: ClassVar[type[Config]] = SdaeConfig


class SkipThought(_RecurrentModel):
    """Skip-Thought: a GRU trained to predict neighbouring sentences (Kiros et al. 2015, section 2).

    It is trained on consecutive sentences of a corpus, or built from published weights
    (:func:`themescope.core.models.recurrent.gru.read_recurrent_weights`).
    """

    config_class: ClassVar[type[Config]] = SkipThoughtConfig
    config: SkipThoughtConfig
    _words: ExpandedWords

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Train on ``corpus.sentences``, or read the weights that the settings name."""
        from themescope.core.models.recurrent.gru import gru_encoder, read_recurrent_weights
        from themescope.core.models.recurrent.training import train_skip

        report.progress(0, 1, "Reading word vectors")
        table = load_word_vectors(self.config.word_vectors, self.config.vocabulary_limit or None)
        if self.config.weights:
            self._net = read_recurrent_weights(expand_home(self.config.weights), table.dim)
            nothing = WordVectors([], np.zeros((0, table.dim), np.float32))
            identity, shift = np.eye(table.dim, dtype=np.float32), np.zeros(table.dim, np.float32)
            self._words = ExpandedWords(nothing, self._stored(table), identity, shift)
            return self
        if not len(corpus.sentences):
            raise DataError("skip-thought needs consecutive sentences of a corpus, but this corpus has none.")
        data = skip_data(
            corpus.sentences,
            self.config.vocabulary,
            self.config.max_tokens,
            lambda: report.progress(0, 1, "Reading the sentences"),
        )
        trained = train_skip(self.config, self.seed, data, report)
        self.metrics = trained.metrics
        words = expanded(WordVectors(data.words, trained.table), table)
        self._words = ExpandedWords(self._stored(words.own), self._stored(words.table), words.map, words.shift)
        self._net = gru_encoder(trained.weights)
        return self

    def _write(self, folder: Path) -> None:
        self._fitted(self._net)  # raises before the first fit
        self._write_net(folder, map=self._words.map, shift=self._words.shift)
        write_word_vectors(folder, self._words.own, _OWN)
        write_word_vectors(folder, self._words.table)

    def _read(self, folder: Path) -> None:
        map, shift = self._read_net(folder, "map", "shift")
        self._words = ExpandedWords(read_word_vectors(folder, _OWN), read_word_vectors(folder), map, shift)

    def _tokens(self, sentences: Sequence[Sentence]) -> TokenIds:
        lowercase = self.config.lowercase or not self.config.weights
        return token_ids((s.text.lower() if lowercase else s.text for s in sentences), self._words, unknown=False)
