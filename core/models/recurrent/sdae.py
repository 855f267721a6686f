"""``sae`` and ``sdae``: encoders that learned to say a sentence again (Hill et al. 2016; algorithms G.1).

They read words in lower case without punctuation and without stemming (algorithms F.7), and need no context: sentences
are learned from one by one. A word that was not learned is passed over. Cosine distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
import numpy.typing as npt

from core.errors import ArtifactError, DataError
from core.models.distances import cosine_distances
from core.models.recurrent.sdae_config import SaeConfig, SdaeConfig
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
from core.protocols import SILENT, Report
from core.text.stems import content_words
from core.text.word_vectors import Storage, WordVectors, word_ids
from core.types import Corpus, Sentence, Vectors

if TYPE_CHECKING:
    from core.models.recurrent.gru import GruEncoder

_WEIGHTS, _TRAINING = "encoder.safetensors", "training.json"
_BLOCK = 4_096  # sentences tokenised at once


class Sae:
    """The last states of a GRU in each direction, trained to hold the whole sentence."""

    CONFIG: ClassVar[type[SaeConfig | SdaeConfig]] = SaeConfig

    def __init__(self, config: SaeConfig | SdaeConfig, seed: int) -> None:
        self.config, self.seed = config, seed
        self.metrics: dict[str, float] = {}
        """How training went: loss, steps, seconds, sentences/s."""
        self._words: WordVectors | None = None
        self._net: GruEncoder | None = None

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Train on ``corpus.sentences``, in any order and from any number of texts."""
        from core.models.recurrent.gru import gru_encoder
        from core.models.recurrent.sdae_network import train_autoencoder
        from core.models.recurrent.word_rows import word_rows

        if not len(corpus.sentences):
            raise DataError("Sequential autoencoders learn from sentences; this corpus has none.")
        data = word_rows(
            (self._read(s.text) for s in corpus.sentences),
            self.config.vocabulary,
            lambda: report.progress(0, 1, "Reading the sentences"),
            least=self.config.min_tokens,
        )
        trained = train_autoencoder(self.config, self.seed, data, report)
        self.metrics = trained.metrics
        storage: Storage = self.config.storage  # type: ignore[assignment]
        self._words = WordVectors(data.words, trained.table).stored_as(storage)
        self._net = gru_encoder(trained.weights)
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """(n, 2·hidden) last states; a sentence without a known word is the zero vector."""
        import torch

        from core.models.device import pick_device, thread_count
        from core.models.recurrent.gru import encode_tokens

        words, net = self._fitted()
        net.to(pick_device(self.config.device))
        out = np.zeros((len(sentences), net.width), np.float32)
        with thread_count(self.config.threads), torch.inference_mode():
            for start in range(0, len(sentences), _BLOCK):
                block = (self._read(s.text) for s in sentences[start : start + _BLOCK])
                encode_tokens(net, word_ids(block, words, unknown=False), out[start : start + _BLOCK])
        return out

    def distances(self, a: Vectors, b: Vectors) -> npt.NDArray[np.float32]:
        """(n,) 1 − cosine."""
        return cosine_distances(a, b)

    def save(self, folder: Path) -> None:
        """Write settings, encoder and learned words; the decoder has served its purpose."""
        words, net = self._fitted()
        write_settings(folder, self.config, self.seed)
        write_word_vectors(folder, words)
        write_tensors(folder / _WEIGHTS, {name: t.detach().cpu().numpy() for name, t in net.state_dict().items()})
        write_json(folder / _TRAINING, {"metrics": self.metrics})

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Inverse of :meth:`save`."""
        import torch

        from core.models.recurrent.gru import gru_encoder

        model = cls(*read_settings(folder, cls.CONFIG))
        model.metrics = read_json(folder / _TRAINING).get("metrics", {})
        model._words = read_word_vectors(folder)
        tensors = read_tensors(folder / _WEIGHTS, ("onward.weight_ih_l0",))
        try:
            model._net = gru_encoder({name: torch.from_numpy(array) for name, array in tensors.items()})
        except RuntimeError as error:
            raise ArtifactError(f"The saved model in {folder.name} is damaged: {_WEIGHTS}: {error}") from None
        return model

    def _read(self, text: str) -> list[str]:
        return content_words(text, stemmed=False)[: self.config.max_tokens]

    def _fitted(self) -> tuple[WordVectors, GruEncoder]:
        if self._words is None or self._net is None:
            raise DataError("This autoencoder is not trained yet: call fit() first, or load a saved model.")
        return self._words, self._net


class Sdae(Sae):
    """The same, trained to restore a sentence of which words were deleted and swapped."""

    CONFIG = SdaeConfig
