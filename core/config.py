"""Configs: documented, validated, frozen dataclasses that can be stored as JSON.

Each field is declared with :func:`option`, which carries its help text, range or choices; a form, the command line
and the documentation table are drawn from the same declaration.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import re
import types
import typing
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PureWindowsPath
from typing import Any, ClassVar, TypeVar

from themescope.core.errors import ConfigError, UnknownNameError

C = TypeVar("C", bound="Config")
_HINTS: dict[type[Config], Mapping[str, Any]] = {}
THREADS = "Number of processor threads; 0 uses all. With 1, results are reproducible."
PRECISION = "auto: bfloat16 on a GPU and on a processor that computes it natively, otherwise float32."


@dataclass(frozen=True, slots=True)
class OptionInfo:
    """Description of a setting: help text, bounds, choices, unit and label."""

    help: str
    low: float | None = None
    high: float | None = None
    choices: tuple[Any, ...] | None = None
    unit: str = ""
    file: bool = False
    """Whether the value may be the path of a local file."""
    label: str = ""
    """Name shown to users, if not derived from the name of the field."""
    affects_result: bool = True
    """Whether results that differ in this setting alone are different results, see :meth:`Config.result_settings`."""
    required: bool = False
    """Whether an empty value is an error."""


def option(
    default: Any,
    help: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: Sequence[Any] | None = None,
    unit: str = "",
    file: bool = False,
    label: str = "",
    affects_result: bool = True,
    required: bool = False,
) -> Any:
    """Return a dataclass field with help text and inclusive bounds; for the others see :class:`OptionInfo`."""
    allowed = tuple(choices) if choices is not None else None
    info = OptionInfo(help, low, high, allowed, unit, file, label, affects_result, required)
    if isinstance(default, dict):
        return dataclasses.field(default_factory=default.copy, metadata={"option": info})
    return dataclasses.field(default=default, metadata={"option": info})


@dataclass(frozen=True)
class Config:
    """Base class of configs. Values are validated on construction."""

    renamed: ClassVar[Mapping[str, str]] = {}
    """Former name of a setting → its name; stored settings may use either, see :func:`config_from_dict`."""
    removed: ClassVar[frozenset[str]] = frozenset()
    """Former settings, which had no effect on results; stored ones are ignored."""

    def __post_init__(self) -> None:
        hints = _hints(type(self))
        for field in dataclasses.fields(self):
            info, value = field.metadata.get("option", OptionInfo("")), getattr(self, field.name)
            name, kinds = _named(field.name, info), _kinds(hints[field.name])
            if value is not None or type(None) not in kinds:
                value = _coerced(name, kinds, value)
                for part in value if isinstance(value, tuple) else (value,):
                    _check_bounds(name, info, part)
                object.__setattr__(self, field.name, value)
            if info.required and not value:
                raise ConfigError(f"“{name}” is missing. {info.help}")
        self.validate()

    def validate(self) -> None:
        """Validate rules that involve several fields; override and raise :class:`ConfigError`."""

    def named(self, name: str) -> str:
        """Return the label and name of a setting for messages, such as ``Minimum tokens (min_tokens)``."""
        return _named(name, options(type(self))[name][2])

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as plain JSON values; tuples become lists, mappings are copied."""
        return {field.name: _plain(getattr(self, field.name)) for field in dataclasses.fields(self)}

    def result_settings(self) -> dict[str, Any]:
        """Return the settings that identify a result as JSON values; the others only say how it is computed."""
        without = [name for name, (_, _, info) in options(type(self)).items() if not info.affects_result]
        return {name: value for name, value in self.to_dict().items() if name not in without}

    @classmethod
    def current_names(cls, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return stored settings under their current names, without those that are :attr:`removed`."""
        return {cls.renamed.get(key, key): value for key, value in values.items() if key not in cls.removed}

    def without_folders(self: C) -> C:
        """Return the settings with file names in place of local paths, for exports."""
        paths: dict[str, Any] = {}
        for name, (_, _, info) in options(type(self)).items():
            if info.file:
                path = getattr(self, name)
                paths[name] = tuple(map(_last_part, path)) if isinstance(path, tuple) else _last_part(path)
        return dataclasses.replace(self, **paths)

    def file_names(self) -> list[str]:
        """Return the values of all settings that may be paths of local files, including nested configs."""
        values = [(getattr(self, name), info) for name, (_, _, info) in options(type(self)).items()]
        nested = [name for value, _ in values if isinstance(value, Config) for name in value.file_names()]
        named = [value if isinstance(value, tuple) else (value,) for value, info in values if info.file]
        return [name for names in (*named, nested) for name in names if name]

    def digest(self) -> str:
        """Return 16 hex digits of :meth:`result_settings`."""
        return digest_of(self.result_settings())


def options(cls: type[Config]) -> dict[str, tuple[dataclasses.Field[Any], Any, OptionInfo]]:
    """Return the settings of a config class: name → (field, resolved type, description)."""
    hints = _hints(cls)
    return {f.name: (f, hints[f.name], f.metadata.get("option", OptionInfo(""))) for f in dataclasses.fields(cls)}


def _hints(cls: type[Config]) -> Mapping[str, Any]:
    """Return the types of the settings, cached because resolving annotations is slow."""
    if cls not in _HINTS:
        _HINTS[cls] = typing.get_type_hints(cls)
    return _HINTS[cls]


def default_of(field: dataclasses.Field[Any]) -> Any:
    """Return the default of a setting."""
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def config_from_dict(cls: type[C], values: Mapping[str, Any]) -> C:
    """Build ``cls`` from JSON values; raises ``ConfigError`` with the nearest setting for an unknown key."""
    if not isinstance(values, Mapping):
        raise ConfigError(f'Settings are names with values, such as {{"seed": 1}}, not {values!r:.50}.')
    known = {f.name for f in dataclasses.fields(cls)}
    current = cls.current_names(values)
    for key in current:
        _check_known(cls, key, known)
    return cls(**current)


def parse_value(cls: type[Config], name: str, text: str) -> Any:
    """Return the value of a setting given on the command line as ``--set name=text``."""
    known, current = options(cls), cls.renamed.get(name, name)
    _check_known(cls, current, known)
    kinds = _kinds(known[current][1])
    if str in kinds and not (type(None) in kinds and text == "null"):
        return text
    value = json_or_text(text)
    if tuple in kinds and isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


def json_or_text(text: str) -> Any:
    """Return the value of a JSON text, or ``text`` itself if it is not JSON."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


def label_of(name: str, info: OptionInfo) -> str:
    """Return the label of a setting, by default its name in full words."""
    spelled = info.label or " ".join(_IN_FULL.get(part, part) for part in name.split("_"))
    return spelled[:1].upper() + spelled[1:]


def digest_of(value: Any) -> str:
    """Return 16 hex digits of the hash of a JSON value, independent of key order."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.blake2b(text.encode("utf-8"), digest_size=8).hexdigest()


def _check_known(cls: type[Config], name: str, known: Collection[str]) -> None:
    if not known:
        raise ConfigError(f"There is no setting called {name!r}, because there are no settings here. Leave it out.")
    if name not in known:
        raise ConfigError(str(UnknownNameError("setting", name, known)))


def _named(name: str, info: OptionInfo) -> str:
    """Return ``Minimum tokens (min_tokens)``, or only ``Margin`` if label and name are the same word."""
    label = label_of(name, info)
    return label if label.lower() == name else f"{label} ({name})"


def _last_part(text: str) -> str:
    """Return the file name of a path with any separators: ``a/b.txt`` → ``b.txt``, ``kind:/a/b`` → ``kind:b``."""
    found = re.match("[a-z]{2,}:", text)
    kind = found[0] if found else ""
    return kind + PureWindowsPath(text.removeprefix(kind)).name


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(v) for v in value] if isinstance(value, tuple | list) else value


def _kinds(hint: Any) -> set[Any]:
    """Return the plain classes in a type hint: ``int | None`` → {int, NoneType}; ``tuple[str, ...]`` → {tuple}."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        return set().union(*(_kinds(arg) for arg in typing.get_args(hint)))
    if typing.get_origin(hint) is typing.Literal:
        return {type(arg) for arg in typing.get_args(hint)}
    return {typing.get_origin(hint) or hint}


def _coerced(name: str, kinds: set[Any], value: Any) -> Any:
    """Convert ``value`` to one of ``kinds``: whole floats to int, lists to tuple; raise ``ConfigError`` otherwise."""
    if type(value) in kinds:
        return value
    if float in kinds and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if int in kinds and isinstance(value, float) and value.is_integer():
        return int(value)
    if tuple in kinds and isinstance(value, list | tuple):
        return tuple(value)
    if Mapping in kinds and isinstance(value, Mapping):
        return _plain(value)
    expected = " or ".join(sorted(_WORDS.get(k, getattr(k, "__name__", str(k))) for k in kinds))
    raise ConfigError(f"{name} must be {expected}, not {value!r}.")


def _check_bounds(name: str, info: OptionInfo, value: Any) -> None:
    if info.choices is not None and value not in info.choices:
        raise ConfigError(f"{name} must be one of {', '.join(map(str, info.choices))}, not {value!r}.")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    if not math.isfinite(value):
        raise ConfigError(f"{name} must be a finite number, not {value}.")
    if info.low is not None and value < info.low:
        raise ConfigError(f"{name} must be at least {info.low:g}, not {value:g}.")
    if info.high is not None and value > info.high:
        raise ConfigError(f"{name} must be at most {info.high:g}, not {value:g}.")


_IN_FULL = {
    "n": "number of",
    "min": "minimum",
    "max": "maximum",
    "dim": "dimensions",
    "dist": "distance",
    "neighbors": "neighbours",
    "openers": "paragraph openings",
}
_WORDS = {
    int: "a whole number",
    float: "a number",
    str: "text",
    bool: "true or false",
    tuple: "a list",
    Mapping: 'a mapping such as {"name": value}',
    type(None): "nothing",
}


def checked_seed(seed: Any) -> int:
    """Return a seed as int. Raises ``ConfigError`` if it is not a whole number of at least 0."""
    if isinstance(seed, bool) or not hasattr(seed, "__index__") or seed.__index__() < 0:
        raise ConfigError(f"The seed must be a whole number, 0 or more, not {seed!r}.")
    return int(seed.__index__())
