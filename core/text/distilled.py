"""Static word vectors distilled from a sentence encoder: words encoded one by one, then reduced by PCA.

The encoder is a local folder in the transformers format (configuration, tokenizer, safetensors weights); nothing is
fetched. A word's vector is the mean of the encoder's last states over its word pieces, as MiniLM-like encoders pool;
the principal components of all words keep ``dim`` coordinates, and frequent words are damped by Zipf's law, since the
list is in order of frequency (Tulkens and van Dongen 2024, model2vec).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from core.protocols import SILENT, Report
from core.text.encoders import Encoder, load_encoder
from core.text.word_vectors import Float32, WordVectors

DEFAULT_WORDS = 50_000
_BATCH = 512


def distil_table(
    folder: Path, limit: int = 0, words: Sequence[str] | None = None, dim: int = 128, report: Report | None = None
) -> WordVectors:
    """Return vectors of at most ``limit`` ``words`` (default: 50,000 of GloVe 6B) by the encoder in ``folder``.

    ``dim`` 0 keeps all coordinates and the plain vectors. Raises ``MissingExtraError`` without transformers,
    ``ConfigError`` where there is no folder, ``ReadError`` where it holds no encoder.
    """
    encoder = load_encoder(folder, "Distilling word vectors")
    if words is None:
        from core.text.word_vector_files import read_glove_package

        words = read_glove_package(DEFAULT_WORDS).words
    words = words[: limit or None]
    states = _encode(encoder, words, report or SILENT)
    if not dim or dim >= min(states.shape):
        return WordVectors(words, states)
    return WordVectors(words, _reduce(states, dim))


def _encode(encoder: Encoder, words: Sequence[str], report: Report) -> Float32:
    blocks: list[Float32] = []
    for start in range(0, len(words), _BATCH):
        report.progress(start, len(words), "words encoded")
        blocks.append(encoder.means(words[start : start + _BATCH]))
    return np.concatenate(blocks)


def _reduce(states: Float32, dim: int) -> Float32:
    """(n, dim) principal components with Zipf weights log(1 + rank)."""
    centred = states - states.mean(axis=0)
    _, directions = np.linalg.eigh(centred.T @ centred)
    reduced = centred @ directions[:, ::-1][:, :dim]
    weights = np.log(2 + np.arange(len(states)))[:, None]
    return np.asarray(reduced * weights / np.sqrt((reduced * weights).var()), np.float32)
