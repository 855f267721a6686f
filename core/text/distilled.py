"""A static word table distilled from a sentence encoder: every word encoded by itself, then reduced to few dimensions.

The encoder is a local folder in the transformers format (configuration, tokenizer, safetensors weights); nothing is
fetched. A word's vector is the mean of the encoder's last states over its word pieces, as MiniLM-like encoders pool;
the principal components of all words keep ``dim`` coordinates, and frequent words are damped by Zipf's law, since the
list is in order of frequency (Tulkens and van Dongen 2024, model2vec).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from core.errors import ConfigError, MissingExtraError, ReadError
from core.protocols import Report, Silent
from core.text.word_vectors import Float32, WordVectors

DEFAULT_WORDS = 50_000
_BATCH = 512


def distil_table(
    folder: Path, limit: int = 0, words: Sequence[str] | None = None, dim: int = 128, report: Report | None = None
) -> WordVectors:
    """The table of ``words`` (default: the first 50,000 of GloVe 6B, at most ``limit``) by the encoder in ``folder``.

    ``dim`` 0 keeps all coordinates and the plain vectors. Raises ``MissingExtraError`` without transformers,
    ``ConfigError`` where there is no folder, ``ReadError`` where it holds no encoder.
    """
    if not folder.is_dir():
        raise ConfigError(
            f"There is no sentence encoder at {str(folder)!r}: give the folder of a model on this machine."
        )
    if words is None:
        from core.text.word_vector_files import read_glove_package

        words = read_glove_package(DEFAULT_WORDS).words
    words = words[: limit or None]
    states = _encode(folder, words, report or Silent())
    if not dim or dim >= min(states.shape):
        return WordVectors(words, states)
    return WordVectors(words, _reduce(states, dim))


def _encode(folder: Path, words: Sequence[str], report: Report) -> Float32:
    try:
        import torch
        from transformers import AutoModel, AutoTokenizer
    except ImportError:
        raise MissingExtraError("Distilling word vectors", "transformers", "encoder") from None
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model = AutoModel.from_pretrained(folder, local_files_only=True, use_safetensors=True).eval()
    except (OSError, ValueError, KeyError) as error:
        raise ReadError(folder, f"holds no sentence encoder ({error}).") from None
    blocks: list[Any] = []
    with torch.inference_mode():
        for start in range(0, len(words), _BATCH):
            report.progress(start, len(words), "words encoded")
            inputs = tokenizer(list(words[start : start + _BATCH]), padding=True, truncation=True, return_tensors="pt")
            states = model(**inputs).last_hidden_state
            mask = inputs["attention_mask"].unsqueeze(2).to(states.dtype)
            blocks.append(((states * mask).sum(1) / mask.sum(1)).float().numpy())
    return np.concatenate(blocks).astype(np.float32)


def _reduce(states: Float32, dim: int) -> Float32:
    """(n, dim) principal components with Zipf weights log(1 + rank)."""
    centred = states - states.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    reduced = centred @ directions[:, ::-1][:, :dim]
    weights = np.log(2 + np.arange(len(states)))[:, None]
    return np.asarray(reduced * weights / np.sqrt((reduced * weights).var()), np.float32)
