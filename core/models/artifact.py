"""Saved models: a folder with the files of the model and ``model.json``, which describes the model and its training.

``model.json`` contains the method, its settings, the digest of every file, and ``record``, the data record of the
training: corpus, triplet set and the digests of the training titles, from which an evaluation can tell whether an
article was seen in training (:func:`saw_title`). A folder contains no code and no pickle. Folders of the package
sentence-transformers are read as a model and written from one without that package.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import tempfile
import unicodedata
import zlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from themescope.core.config import Config, config_from_dict, digest_of
from themescope.core.errors import ArtifactError, ConfigError, ThemescopeError, UnknownNameError
from themescope.core.models import REGISTRY
from themescope.core.paths import pretrained_folders
from themescope.core.registry import Card
from themescope.core.text.encoders import WEIGHTS, is_encoder
from themescope.core.text.word_vectors import WordVectors
from themescope.core.types import SILENT, Corpus, FittedModel, Model, Report, fold_title

# Files of a saved model: safetensors for arrays, JSON for the rest

C = TypeVar("C", bound=Config)

SETTINGS = "embedder.json"  # the name that version 0.1 used, kept so that its models load
WORD_TABLES, WORD_LISTS = "word-vectors.safetensors", "words.txt"
COMPRESSED = ".gz"
"""Ending of a compressed file, after the name of the file that it replaces."""
ROW_SCALES = ":row-scales"
"""Ending of the name of the (n,) factors of the rows of an (n, dim) int8 matrix of weights."""


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write JSON in UTF-8, one key per line, so that two saved models can be compared with diff."""
    text = json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True)
    path.write_text(f"{text}\n", encoding="utf-8", newline="\n")


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


_WEIGHT_LEVELS, _WORD_LEVELS = 127, 31  # largest code of weights and of word vectors


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


FORMAT = 1
MODEL_FILE = "model.json"
_SUBMODELS, _PRETRAINED = "base.json", "pretrained"
_ENDINGS = {".json", ".safetensors", ".txt", COMPRESSED}


def save_model(
    model: FittedModel, method_id: str, folder: Path, record: Mapping[str, Any], *, small: bool = False
) -> str:
    """Write ``model`` into ``folder``, which is created if needed, and return the digest of its content.

    With ``small`` its files are compacted, see :func:`themescope.core.models.artifact.compact`, and pretrained models
    that it is built on are named, not copied.
    """
    REGISTRY.get(method_id)
    folder.mkdir(parents=True, exist_ok=True)
    model.save(folder)
    if small:
        if (folder / _SUBMODELS).is_file():
            _name_pretrained(folder)
        compact(folder)
    settings = read_json(folder / SETTINGS)
    info: dict[str, Any] = {
        "format": FORMAT,
        "method": method_id,
        "config": settings["config"],
        "seed": settings["seed"],
        "record": dict(record),
        "files": _file_digests(folder),
    }
    info["digest"] = digest_of(info)
    write_json(folder / MODEL_FILE, info)
    return str(info["digest"])


def load_model(folder: Path) -> tuple[Model, dict[str, Any]]:
    """Return the model in ``folder`` and its ``model.json``.

    Raises ``ArtifactError`` when the model is missing, damaged or saved in a newer format.
    """
    info = _checked(folder)
    try:
        unchanged = digest_of({name: value for name, value in info.items() if name != "digest"}) == info.get("digest")
    except (ValueError, RecursionError):  # such as text that is not Unicode
        unchanged = False
    if not unchanged:
        raise damaged(folder, f"{MODEL_FILE} has changed since it was saved")
    found = _file_digests(folder)
    for name, digest in found.items():
        if info["files"].get(name, digest) != digest:
            raise damaged(folder, f"{name} has changed since it was saved")
    for name in info["files"]:
        if name not in found:
            raise damaged(folder, f"{name:.100} is missing")
    model: Model = REGISTRY.get(info["method"]).resolve().load(folder)
    return model, read_info(folder)


def read_info(folder: Path) -> dict[str, Any]:
    """Return the checked content of ``model.json`` without loading any weights.

    The training titles include those of pretrained models that the folder names instead of copying them.
    """
    info = _checked(folder)
    if parts := [_folder_of(digest, folder) for digest in named_models(folder)]:
        records = [info["record"], *(read_info(part)["record"] for part in parts)]
        info["record"]["train_titles"] = sorted({title for one in records for title in one.get("train_titles", ())})
    return info


def _checked(folder: Path) -> dict[str, Any]:
    if not (folder / MODEL_FILE).is_file():
        raise ArtifactError(
            f"{folder.name} is not a saved model: it has no {MODEL_FILE}. Give a folder that Themescope saved."
        )
    info = read_json(folder / MODEL_FILE)
    if info.get("format") != FORMAT:
        raise ArtifactError(
            f"The saved model in {folder.name} has format {info.get('format')!r:.50}; this version reads format "
            f"{FORMAT}. Update Themescope, or train the model again."
        )
    if not all(isinstance(info.get(key), dict) for key in ("files", "record", "config")):
        raise damaged(folder, f"{MODEL_FILE} lacks its list of files, its record or its configuration")
    if type(info.get("seed")) is not int or not 0 <= info["seed"] < 1 << 63:
        raise damaged(folder, f"the seed in {MODEL_FILE} is no number")
    if not isinstance(info["record"].get("metrics", {}), dict):
        raise damaged(folder, f"the metrics in {MODEL_FILE} are no table")
    _texts(info["record"], "train_titles", folder / MODEL_FILE)
    _card(str(info.get("method")), folder)
    return info


def save_submodels(models: Sequence[FittedModel], folder: Path) -> None:
    """Write ``models`` into the folder of the model that is built from them; their file names get a prefix each."""
    method_of = {card.factory: card.id for card in reversed([*REGISTRY])}  # of several methods of a class the first
    factories = [f"{type(model).__module__}:{type(model).__qualname__}" for model in models]
    write_json(folder / _SUBMODELS, {"methods": [method_of[factory] for factory in factories]})
    for number, model in enumerate(models):
        with tempfile.TemporaryDirectory() as own:
            model.save(Path(own))
            for path in Path(own).iterdir():
                shutil.copyfile(path, folder / f"base{number}-{path.name}")


def _name_pretrained(folder: Path) -> None:
    """Replace copies of pretrained models of this installation in ``folder`` by the digests of these."""
    methods, found, digests = read_json(folder / _SUBMODELS)["methods"], _file_digests(folder), []
    known = {frozenset(files.items()): digest for digest, (_, files) in _pretrained().items()}
    for number in range(len(methods)):
        prefix = f"base{number}-"
        own = {name: digest for name, digest in found.items() if name.startswith(prefix)}
        digests.append(known.get(frozenset((name.removeprefix(prefix), digest) for name, digest in own.items()), ""))
        for name in own if digests[-1] else ():
            (folder / name).unlink()
    if any(digests):
        write_json(folder / _SUBMODELS, {"methods": methods, _PRETRAINED: digests})


def load_submodels(folder: Path) -> list[FittedModel]:
    """Return the models that :func:`save_submodels` wrote.

    Raises ``ArtifactError`` for an unknown method, and where a pretrained model that is named is not installed.
    """
    models: list[FittedModel] = []
    methods = _listed(folder, "methods") or [""]
    for number, (method, named) in enumerate(zip(methods, _listed(folder, _PRETRAINED) or repeat(""), strict=False)):
        card, prefix = _card(method, folder), f"base{number}-"
        if named:
            models.append(load_model(_folder_of(named, folder))[0])
            continue
        with tempfile.TemporaryDirectory() as own:
            for path in folder.glob(prefix + "*"):
                shutil.copyfile(path, Path(own) / path.name.removeprefix(prefix))
            models.append(card.resolve().load(Path(own)))
    return models


def named_models(folder: Path) -> list[str]:
    """Return the digests of pretrained models that the model in ``folder`` is built on and names, not contains."""
    if not (folder / _SUBMODELS).is_file():
        return []
    return [digest for digest in _listed(folder, _PRETRAINED) if digest]


def _listed(folder: Path, key: str) -> list[str]:
    return _texts(read_json(folder / _SUBMODELS), key, folder / _SUBMODELS)


def _texts(values: Mapping[str, Any], key: str, path: Path) -> list[str]:
    found = values.get(key, [])
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise _damaged(path, f"{key!r} is no list of texts")
    return found


def built_on(digest: str, method: str) -> Path | None:
    """Return the folder of the pretrained model of a method that is built on the one with ``digest``, if any."""
    folders = (folder for folder in pretrained_folders().values() if named_models(folder) == [digest])
    return next((folder for folder in folders if read_info(folder)["method"] == method), None)


def built_of(digest: str, method: str) -> Path | None:
    """Return the folder of the pretrained model that the one with ``digest``, of a method, is built on, if any."""
    known = _pretrained()
    if digest not in known or read_info(known[digest][0])["method"] != method:
        return None
    return _folder_of(named_models(known[digest][0])[0], known[digest][0])


def _folder_of(digest: str, folder: Path) -> Path:
    """Return the folder of the pretrained model that the model in ``folder`` is built on."""
    known = _pretrained()
    if digest not in known:
        raise ArtifactError(
            f"The saved model in {folder.name} is built on a pretrained model that this version does not have. Install "
            "the version that it was saved by."
        )
    return known[digest][0]


def _pretrained() -> dict[str, tuple[Path, dict[str, str]]]:
    """Return the folder of each pretrained model, and the digests of its files, by its own digest."""
    found = [(folder, read_json(folder / MODEL_FILE)) for folder in pretrained_folders().values()]
    return {info["digest"]: (folder, info["files"]) for folder, info in found}


def title_digests(titles: Iterable[str]) -> list[str]:
    """Return the sorted 12-digit digests of folded article titles, see :func:`themescope.core.types.fold_title`."""
    return sorted({_digest(fold_title(title)) for title in titles})


def saw_title(info: Mapping[str, Any], title: str) -> bool:
    """Return whether the training record in ``info`` (a ``model.json``) lists the article ``title``."""
    folded = fold_title(title)
    # Version 0.1 digested titles without normalisation, so its records may contain the decomposed form.
    forms = {folded, unicodedata.normalize("NFD", folded)}
    return any(_digest(form) in info["record"].get("train_titles", ()) for form in forms)


def _card(method: str, folder: Path) -> Card:
    try:
        return REGISTRY.get(method)
    except UnknownNameError as error:
        raise ArtifactError(f"The saved model in {folder.name} needs a method that is not installed. {error}") from None


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8"), digest_size=6).hexdigest()


def _file_digests(folder: Path) -> dict[str, str]:
    files = sorted(p for p in folder.iterdir() if p.is_file() and p.suffix in _ENDINGS and p.name != MODEL_FILE)
    return {path.name: hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest() for path in files}


def is_foreign(folder: Path) -> bool:
    """Return whether a folder is an encoder of sentence-transformers or transformers, not a model that we saved."""
    return not (folder / MODEL_FILE).is_file() and is_encoder(folder)


def read_foreign(folder: Path, report: Report = SILENT) -> tuple[Model, dict[str, Any]]:
    """Return the encoder in ``folder`` as a model, and what a ``model.json`` would say about it.

    Raises :class:`themescope.core.errors.ReadError` for encoders with other steps than a transformer and its pooling,
    and :class:`themescope.core.errors.MissingExtraError` without the packages of the extra encoder.
    """
    card = next(card for card in REGISTRY if card.tags >= {"pretrained", "encoder"})
    model: Model = REGISTRY.build(card.id, {"folder": str(folder)}, seed=0).fit(Corpus(), report)
    return model, {"method": card.id, "config": {}, "seed": 0, "record": {"encoder": folder.name}}


def save_foreign(source: Path, folder: Path, report: Report = SILENT) -> dict[str, Any]:
    """Save the encoder in ``source`` as a model in ``folder``, and return its ``model.json``.

    Raises the errors of :func:`read_foreign`.
    """
    model, info = read_foreign(source, report)
    save_model(model, info["method"], folder, info["record"])
    return read_info(folder)


def save_for_sentence_transformers(model: FittedModel, folder: Path) -> None:
    """Write ``model`` into ``folder``, which ``SentenceTransformer(folder)`` loads; the vectors have length 1.

    Raises :class:`themescope.core.errors.ConfigError` for a model that is no encoder of single sentences.
    """
    write = getattr(model, "save_for_sentence_transformers", None)
    if write is None:
        able = ", ".join(card.id for card in REGISTRY if hasattr(card.resolve(), "save_for_sentence_transformers"))
        raise ConfigError(f"This model cannot be written for sentence-transformers. Methods that can: {able}.")
    folder.mkdir(parents=True, exist_ok=True)
    write(folder)
