"""Sentence encoders in the transformers format, and tables of word vectors distilled from them.

An encoder is a local folder with configuration, tokenizer and safetensors weights; nothing is downloaded. The vector of
a text is the mean of the encoder's last states over its word pieces, as MiniLM-like encoders pool (Reimers and Gurevych
2019, section 3), unless its files say otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from themescope.core.errors import ConfigError, MissingExtraError, ReadError
from themescope.core.text.encoder_folders import PLAIN, Reading
from themescope.core.text.word_vectors import Float32, WordVectors

_BATCH, _DISTILLED_DIM = 512, 128


@dataclass(frozen=True)
class Encoder:
    """A tokenizer, a network, and how they read a text."""

    tokenizer: Any
    network: Any
    reading: Reading = PLAIN

    def encode(self, texts: Sequence[str]) -> Float32:
        """Encode at least one text in a single batch and return the (n, dim) pooled last states."""
        import torch

        given, limit = [self.reading.prefix + text for text in texts], self.reading.max_tokens or None
        with torch.inference_mode():
            inputs = self.tokenizer(given, padding=True, truncation=True, max_length=limit, return_tensors="pt")
            inputs = inputs.to(self.network.device)
            states = self.network(**inputs).last_hidden_state
            vectors = self.reading.pooling(states, inputs["attention_mask"])
        return np.asarray(vectors.float().cpu().numpy())

    def save(self, folder: Path) -> None:
        """Write the JSON, text and safetensors files that :func:`load_encoder` reads."""
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        if backend is not None:  # the padding of the last batch is not part of the model
            backend.no_padding()
            backend.no_truncation()
        with _without_progress_bars():
            self.network.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)


def load_encoder(folder: Path, feature: str) -> Encoder:
    """Load the encoder in ``folder``; ``feature`` names what requires it.

    Raises :class:`MissingExtraError` if transformers is not installed, :class:`ConfigError` if there is no such
    folder, and :class:`ReadError` if the folder does not contain an encoder.
    """
    if not folder.is_dir():
        raise ConfigError(f"There is no sentence encoder at {str(folder)!r}. Give the folder of one on this machine.")
    try:
        from transformers import AutoModel, AutoTokenizer
    except ImportError:
        raise MissingExtraError(feature, "transformers", "encoder") from None
    try:
        with _without_progress_bars():
            tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
            network = AutoModel.from_pretrained(folder, local_files_only=True, use_safetensors=True).eval()
    except (OSError, ValueError, KeyError) as error:
        raise ReadError(folder, f"does not contain a sentence encoder ({error}).") from None
    return Encoder(tokenizer, network)


@contextmanager
def _without_progress_bars() -> Iterator[None]:
    """Keep transformers from drawing on the terminal, where the progress of the job is shown."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def distil_table(folder: Path, words: Sequence[str]) -> WordVectors:
    """Return static vectors of ``words`` by the encoder in ``folder`` (Tulkens and van Dongen 2024, model2vec).

    Words are encoded one by one. The vectors are reduced to 128 principal components and weighted by Zipf's law, so
    ``words`` must be in order of falling frequency. Raises the errors of :func:`load_encoder`.
    """
    encoder = load_encoder(folder, "Distilling word vectors")
    blocks = [encoder.encode(words[start : start + _BATCH]) for start in range(0, len(words), _BATCH)]
    states = np.concatenate(blocks)
    return WordVectors(words, states if min(states.shape) <= _DISTILLED_DIM else _reduced(states))


def _reduced(states: Float32) -> Float32:
    """Return the principal components of (n, dim) states with Zipf weights log(1 + rank)."""
    centred = states - states.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    reduced = centred @ directions[:, ::-1][:, :_DISTILLED_DIM]
    weights = np.log(2 + np.arange(len(states)))[:, None]
    return np.asarray(reduced * weights / np.sqrt((reduced * weights).var()), np.float32)
