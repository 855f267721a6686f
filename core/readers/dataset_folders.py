"""Folders of Hugging Face datasets on this machine: which files they have, by split. Nothing is downloaded.

Such a folder is a repository (data files, and a dataset card ``README.md`` whose header may name them), or what
``Dataset.save_to_disk`` and ``DatasetDict.save_to_disk`` of the package datasets write.

ZIP archives of such folders are not trusted: they are unpacked with limits.
"""

from __future__ import annotations

import errno
import json
import lzma
import re
import stat
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from themescope.core.errors import ReadError, optional_module
from themescope.core.readers.streams import excessive_size

SUFFIXES = ("parquet", "csv", "tsv", "jsonl", "arrow")
"""Suffixes of data files."""
CARD = "README.md"
_SAVED, _SAVED_SPLITS = "state.json", "dataset_dict.json"
_MOST_HEADER = 4_000_000  # bytes of a card; names of classes may be many
_MOST_VALUES = 100_000
_SPLITS = {"train": "train|training", "validation": "validation|valid|dev|val", "test": "test|testing|eval|evaluation"}
_DEPTH = 3  # folders in which data files are looked for
_MOST_DEEP = 3  # signs ** in a pattern


def is_dataset(path: Path) -> bool:
    """Return whether a path is the folder of a dataset."""
    if not path.is_dir():
        return False
    if any((path / name).is_file() for name in (_SAVED, _SAVED_SPLITS)):
        return True
    if any(file.suffix in (".parquet", ".arrow") for file in _data_files(path)):
        return True
    try:
        return "configs" in card_header(path)
    except ReadError:
        return False


def files_below(path: Path) -> list[Path]:
    """Return the files that are read of a path: a file itself, or the visible files below a folder, sorted."""
    if not path.is_dir():
        return [path]
    return sorted(file for file in path.rglob("*") if file.is_file() and not _hidden(file, path))


def dataset_files(folder: Path, subset: str = "") -> dict[str, tuple[Path, ...]]:
    """Return split → data files, in the order of their names, of a subset (a configuration), "" for the default one.

    Raises :class:`ReadError` if there is no such subset, if it has no files, or if the folder names files elsewhere.
    """
    if (folder / _SAVED_SPLITS).is_file():
        names = _json(folder / _SAVED_SPLITS).get("splits")
        listed = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
        found = {name: _saved(folder, folder / _plain(folder, name)) for name in listed}
    elif (folder / _SAVED).is_file():
        found = {"train": _saved(folder, folder)}
    else:
        found = _of_repository(folder, subset)
    splits = {split: files for split, files in found.items() if files}
    if not splits:
        raise ReadError(folder, f"this dataset has no data files ({', '.join(SUFFIXES)}).")
    return splits


def card_header(folder: Path) -> dict[str, Any]:
    """Return the YAML header of the dataset card; empty without one. Raises ``ReadError`` if it is damaged."""
    yaml = optional_module("yaml", "Reading dataset cards", "pyyaml", "app")
    path = folder / CARD
    if not path.is_file():
        return {}
    with path.open("rb") as stream:
        text = stream.read(_MOST_HEADER).decode("utf-8", "replace")
    found = re.match(r"---\r?\n(.*?)\r?\n---", text, re.DOTALL)
    if found is None:
        return {}
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml is ten times as fast, but may be missing
    try:
        for number, event in enumerate(yaml.parse(found.group(1), loader)):
            if isinstance(event, yaml.AliasEvent) or number >= _MOST_VALUES:
                problem = "YAML aliases" if number < _MOST_VALUES else f"more than {_MOST_VALUES:,} names and values"
                raise ReadError(path, f"its header has {problem}, which is not read.", "line 1")
        header = yaml.load(found.group(1), loader)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ReadError(path, f"its header is not valid YAML ({type(error).__name__}).", "line 1") from None
    return header if isinstance(header, dict) else {}


def _saved(root: Path, folder: Path) -> tuple[Path, ...]:
    files = _json(folder / _SAVED).get("_data_files")
    names = [entry.get("filename") for entry in files if isinstance(entry, dict)] if isinstance(files, list) else []
    return tuple(folder / _plain(root, str(name)) for name in names)


def _plain(folder: Path, name: str) -> str:
    """Return the name of a file in the same folder; raise ``ReadError`` for a path elsewhere."""
    if not name or name in (".", "..") or re.search(r"[/\\\0]", name):
        raise ReadError(folder, f"it names a file elsewhere ({name[:60]!r}).", advice="Only files in it are read.")
    return name


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise ReadError(path, "this file is missing, or is not JSON.", advice="Save the dataset again.") from None
    return found if isinstance(found, dict) else {}


# --- repositories -----------------------------------------------------------------------------------------------------


def _of_repository(folder: Path, subset: str) -> dict[str, tuple[Path, ...]]:
    configs = card_header(folder).get("configs")
    listed = [entry for entry in configs if isinstance(entry, dict)] if isinstance(configs, list) else []
    config = _chosen(folder, listed, subset)
    where = folder / _inside(folder, str(config.get("data_dir") or "."))
    if config.get("data_files"):
        return {split: _matching(folder, patterns) for split, patterns in _patterns(config["data_files"])}
    found: dict[str, list[Path]] = {}
    for path in _data_files(where):
        found.setdefault(_split_in("/".join(path.relative_to(where).parts)), []).append(path)
    return {split: tuple(found[split]) for split in ("train", "validation", "test") if split in found}


def _chosen(folder: Path, configs: Sequence[Mapping[str, Any]], subset: str) -> Mapping[str, Any]:
    """Return the configuration of a subset; an empty one if the card lists none."""
    names = {str(config.get("config_name", "default")): config for config in configs}
    if subset and subset not in names:
        known = f"Subsets: {', '.join(names)}." if names else "It has no subsets."
        raise ReadError(folder, f"it has no subset {subset!r}.", advice=known)
    if subset or len(names) < 2:
        return names[subset] if subset else next(iter(configs), {})
    default = [name for name, config in names.items() if config.get("default") is True or name == "default"]
    if not default:
        raise ReadError(folder, "it has several subsets.", advice=f"Choose one: {', '.join(names)}.")
    return names[default[0]]


def _patterns(data_files: Any) -> Iterator[tuple[str, list[str]]]:
    """Yield split → patterns of files in the forms that dataset cards have."""
    entries = data_files if isinstance(data_files, list) else [data_files]
    plain = [entry for entry in entries if isinstance(entry, str)]
    if plain:
        yield "train", plain
    for entry in entries:
        if isinstance(entry, dict):
            pairs = [(entry["split"], entry.get("path"))] if "split" in entry else [*entry.items()]
            for split, path in pairs:
                yield str(split), [str(one) for one in (path if isinstance(path, list) else [path])]


def _matching(folder: Path, patterns: Sequence[str]) -> tuple[Path, ...]:
    found: dict[Path, None] = {}
    for pattern in patterns:
        relative = re.sub(r"(\*\*/)+", "**/", _inside(folder, pattern))
        if relative.count("**") > _MOST_DEEP:  # each of them visits all folders below each folder
            raise ReadError(folder, f"its card has a pattern with more than {_MOST_DEEP} times ** ({pattern[:60]!r}).")
        found.update(dict.fromkeys(sorted(path for path in folder.glob(relative) if path.is_file())))
    return tuple(found)


def _inside(folder: Path, pattern: str) -> str:
    """Return a relative path or pattern; raise ``ReadError`` for one that leads out of the folder."""
    if "://" in pattern or "\0" in pattern or pattern.startswith("/") or ".." in Path(pattern).parts:
        advice = "Only files in the folder are read; nothing is downloaded."
        raise ReadError(folder, f"its card names files elsewhere ({pattern[:60]!r}).", advice=advice)
    return pattern


def _split_in(name: str) -> str:
    """Return the split that is a word of a name of a file with its folders."""
    words = set(re.split(r"[^a-z]+", name.lower()))
    return next((split for split, known in _SPLITS.items() if words & set(known.split("|"))), "train")


def _data_files(folder: Path) -> list[Path]:
    found = (path for depth in range(_DEPTH) for path in folder.glob("*/" * depth + "*") if path.is_file())
    return sorted(path for path in found if path.suffix.lstrip(".") in SUFFIXES and not _hidden(path, folder))


def _hidden(path: Path, root: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.relative_to(root).parts)


# --- dataset archives -------------------------------------------------------------------------------------------------


_MOST_FILES = 10_000
_MOST_UNPACKED = 4_000_000_000
"""Bytes up to which the ratio of compression does not matter."""
_PIECE = 1 << 20
_ADVICE = "Pack the folder of a dataset: its data files, and its card README.md."


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack the data files and the card of a dataset into ``folder``, and return the folder of the dataset.

    It is ``folder`` itself or, where the archive holds a folder, that one. Other files of the archive stay packed.
    Raises :class:`ReadError` if the archive is damaged or encrypted, names files elsewhere, is too large when unpacked,
    or has no dataset.
    """
    try:
        with zipfile.ZipFile(archive) as packed:
            for member in _wanted(archive, packed.infolist()):
                target = folder.joinpath(*PurePosixPath(member.filename).parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                with packed.open(member) as source, target.open("wb") as out:
                    # Copy a member, at most as many bytes as it declares.
                    left = member.file_size
                    while piece := source.read(_PIECE):
                        left -= len(piece)
                        if left < 0:
                            raise ReadError(archive, "this ZIP file is damaged: a file in it is longer than declared.")
                        out.write(piece)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, EOFError, zlib.error, lzma.LZMAError):
        raise ReadError(archive, "this ZIP file is damaged or encrypted.") from None
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise ReadError(archive, "this ZIP file is damaged: a place or a name in it is invalid.") from None
    parts = list(folder.iterdir()) if folder.is_dir() else []
    found = parts[0] if len(parts) == 1 and parts[0].is_dir() and is_dataset(parts[0]) else folder
    if not is_dataset(found):
        raise ReadError(archive, "this ZIP file is not a Hugging Face dataset.", advice=_ADVICE)
    return found


def _wanted(archive: Path, members: list[zipfile.ZipInfo]) -> list[zipfile.ZipInfo]:
    """Return the members that are files of a dataset, after the checks of names and sizes."""
    if len(members) > _MOST_FILES:
        raise ReadError(archive, f"this ZIP file has more than {_MOST_FILES:,} files.")
    wanted = [member for member in members if _is_of_dataset(archive, member)]
    if size := excessive_size(wanted, _MOST_UNPACKED):
        raise ReadError(archive, f"this ZIP file has {size} when unpacked, which is too much.")
    return wanted


def _is_of_dataset(archive: Path, member: zipfile.ZipInfo) -> bool:
    """Return whether a member is a data file, a card or a JSON file; raise an error for a name outside the folder."""
    path = PurePosixPath(member.filename)
    if path.is_absolute() or ".." in path.parts or "\\" in member.filename or ":" in member.filename:
        raise ReadError(archive, "this ZIP file names a file outside of its folder.")
    if member.is_dir() or stat.S_ISLNK(member.external_attr >> 16):
        return False
    if any(part.startswith((".", "__MACOSX")) for part in path.parts):
        return False
    return path.name == CARD or path.suffix.lower().lstrip(".") in (*SUFFIXES, "json")
