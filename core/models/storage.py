"""Files of a saved model: safetensors for arrays, JSON for the rest.

Every reader raises :class:`ArtifactError` for a missing or damaged file. Models that come with the package have compact
files: matrices of weights are rounded to 8 bits and word vectors to 6 bits, with one scale per row, and the files are
compressed. Vectors of sentences keep a cosine of about .9995 to those of the exact model.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from themescope.core.config import Config, config_from_dict
from themescope.core.errors import ArtifactError, ThemescopeError
from themescope.core.text.encoders import WEIGHTS
from themescope.core.text.word_vectors import WordVectors

C = TypeVar("C", bound=Config)

SETTINGS = "embedder.json"  # the name that version 0.1 used, kept so that its models load
WORD_TABLES, WORD_LISTS = "word-vectors.safetensors", "words.txt"
COMPRESSED = ".gz"
"""Ending of a compressed file, after the name of the file that it replaces."""
ROW_SCALES = ":row-scales"
"""Ending of the name of the (n,) factors of the rows of an (n, dim) int8 matrix of weights."""


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write JSON in UTF-8, one key per line, so that two saved models can be compared with diff."""
    path.write_text(
        json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True) + "\n", encoding="utf-8", newline="\n"
    )


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise _damaged(path, "it contains binary data instead of JSON (pickles are never opened)") from None
    except (OSError, ValueError, RecursionError) as error:
        raise _damaged(path, error) from None
    if not isinstance(value, dict):
        raise _damaged(path, "it does not contain a JSON object")
    return value


def write_tensors(path: Path, tensors: Mapping[str, np.ndarray[Any, Any]]) -> None:
    """Write named arrays."""
    from safetensors.numpy import save_file

    save_file({name: np.ascontiguousarray(array) for name, array in tensors.items()}, path)


def half_precision(tensors: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, np.ndarray[Any, Any]]:
    """Return the arrays as float16, which take half of the space: for weights, whose values are far from its limits."""
    return {name: np.asarray(array, np.float16) for name, array in tensors.items()}


def read_tensors(path: Path, names: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the arrays of a file, which must include ``names``; of a compact file too."""
    from safetensors import SafetensorError
    from safetensors.numpy import load, load_file

    try:
        tensors: dict[str, Any] = load_file(path) if path.is_file() else load(_decompressed(path))
    except (OSError, EOFError, zlib.error, SafetensorError) as error:
        raise _damaged(path, error) from None
    for name in [name for name in tensors if name.endswith(ROW_SCALES)]:
        scales, matrix = tensors.pop(name), name.removesuffix(ROW_SCALES)
        tensors[matrix] = tensors[matrix].astype(np.float32) * scales[:, None]
    missing = [name for name in names if name not in tensors]
    if missing:
        raise _damaged(path, f"it has no {missing[0]!r}")
    return tensors


def has_file(path: Path) -> bool:
    """Return whether a file of a saved model exists, compressed or not."""
    return path.is_file() or path.with_name(path.name + COMPRESSED).is_file()


def write_settings(folder: Path, config: Config, seed: int) -> None:
    """Write config and seed of a model, without the folders of its files, so that a shared model reveals no paths."""
    write_json(folder / SETTINGS, {"config": config.without_folders().to_dict(), "seed": seed})


def read_settings(folder: Path, config_class: type[C]) -> tuple[C, int]:
    """Return the config and the seed that :func:`write_settings` wrote."""
    value = read_json(folder / SETTINGS)
    try:
        return config_from_dict(config_class, value["config"]), int(value["seed"])
    except (KeyError, TypeError, ValueError, OverflowError, ThemescopeError) as error:
        raise _damaged(folder / SETTINGS, error) from None


def write_words(folder: Path, words: Sequence[str], prefix: str = "") -> None:
    """Write words, one per line."""
    (folder / (prefix + WORD_LISTS)).write_text("\n".join(words), encoding="utf-8", newline="\n")


def read_words(folder: Path, prefix: str = "") -> list[str]:
    """Return the words that :func:`write_words` wrote."""
    path = folder / (prefix + WORD_LISTS)
    try:
        words = (path.read_bytes() if path.is_file() else _decompressed(path)).decode("utf-8").split("\n")
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise _damaged(path, error) from None
    return words if len(words) > 1 or words[0] else []


def write_word_vectors(folder: Path, vectors: WordVectors, prefix: str = "") -> None:
    """Write a table of word vectors: the words, and the rows as they are stored in memory."""
    write_words(folder, vectors.words, prefix)
    tensors = {"vectors": vectors.table, "spread": np.array([vectors.spread], np.float64)}
    if vectors.scales is not None:
        tensors["scales"] = vectors.scales
    if vectors.rows is not None:
        tensors["rows"] = vectors.rows.astype(np.int32)
    write_tensors(folder / (prefix + WORD_TABLES), tensors)


def read_word_vectors(folder: Path, prefix: str = "") -> WordVectors:
    """Return the table that :func:`write_word_vectors` wrote."""
    tensors = read_tensors(folder / (prefix + WORD_TABLES), ("vectors", "spread"))
    rows, scales, words = tensors.get("rows"), tensors.get("scales"), read_words(folder, prefix)
    try:
        return WordVectors(
            words,
            tensors["vectors"],
            None if scales is None else scales.astype(np.float32),
            None if rows is None else rows.astype(np.int64),
            float(tensors["spread"][0]),
        )
    except (ValueError, IndexError, ThemescopeError) as error:
        raise _damaged(folder / (prefix + WORD_LISTS), error) from None


def _decompressed(path: Path) -> bytes:
    """Return the content of the compressed file that replaces ``path``."""
    compressed = path.with_name(path.name + COMPRESSED)
    return gzip.decompress((compressed if compressed.is_file() else path).read_bytes())


def damaged(folder: Path, why: object) -> ArtifactError:
    """Return the error for a saved model that cannot be used."""
    return ArtifactError(f"The saved model in {folder.name} is damaged: {why}.")


def _damaged(path: Path, why: object) -> ArtifactError:
    return damaged(path.parent, f"{path.name}: {why}")


_WEIGHT_LEVELS, _WORD_LEVELS = 127, 31
"""Largest code of weights and of word vectors."""


def compact(folder: Path) -> None:
    """Replace the files of tensors and words in ``folder`` by compact ones; those for transformers stay as they are."""
    files = [path for path in sorted(folder.glob("*.safetensors")) if not path.name.endswith(WEIGHTS)]
    for path in files:
        tensors = read_tensors(path)
        if path.name.endswith(WORD_TABLES):
            exact = tensors["vectors"].astype(np.float32) * tensors.pop("scales", np.ones(1, np.float32))[:, None]
            tensors["vectors"], scales = _rounded(exact, _WORD_LEVELS)
            tensors["scales"] = scales.astype(np.float16)
        else:
            for name, array in [*tensors.items()]:
                if array.ndim == 2 and np.issubdtype(array.dtype, np.floating):
                    tensors[name], tensors[name + ROW_SCALES] = _rounded(array, _WEIGHT_LEVELS)
        write_tensors(path, tensors)
    for path in (*files, *sorted(folder.glob(f"*{WORD_LISTS}"))):
        path.with_name(path.name + COMPRESSED).write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        path.unlink()


def _rounded(rows: Any, levels: int) -> tuple[Any, Any]:
    """Return (n, dim) int8 codes of at most ``levels`` and (n,) float32 scales."""
    exact = rows.astype(np.float32)
    scales = np.maximum(np.abs(exact).max(axis=1, initial=0), 1e-6) / levels
    return np.rint(exact / scales[:, None]).astype(np.int8), scales
