"""Forms generated from a config: one widget per setting, chosen by its type, range and choices."""

from __future__ import annotations

import types
import typing
from collections.abc import Collection, Mapping
from dataclasses import Field
from typing import Any

import streamlit as st

from core.config import C, Config, OptionInfo, config_from_dict, default_of, label_of, options
from core.errors import ConfigError
from webapp.shared import server_paths
from webapp.shared.text import plain

_ACROSS = 3


def config_fields(
    cls: type[Config],
    key: str,
    *,
    skip: Collection[str] = (),
    defaults: Mapping[str, Any] | None = None,
    shown: int = 6,
) -> dict[str, Any]:
    """Draw the settings of ``cls`` and return the values they hold now.

    The first ``shown`` stand open, the rest under "More settings". ``skip`` names settings that the page asks for in
    its own way; ``defaults`` replaces default values.
    """
    fields = [(name, *entry) for name, entry in options(cls).items() if name not in skip]
    values: dict[str, Any] = {}
    _grid(fields[:shown], key, defaults or {}, values)
    if fields[shown:]:
        with st.expander(f"More settings ({len(fields) - shown})", icon=":material/tune:"):
            _grid(fields[shown:], key, defaults or {}, values)
    if any(_is_closed(info) for *_, info in fields):
        server_paths.explain()
    return values


def checked(cls: type[C], values: Mapping[str, Any]) -> C | None:
    """Return the config with ``values``; if they are invalid, show the reason and return None."""
    try:
        return config_from_dict(cls, values)
    except ConfigError as error:
        st.error(plain(error), icon=":material/error:")
        return None


def _grid(
    fields: list[tuple[str, Field[Any], Any, OptionInfo]],
    key: str,
    defaults: Mapping[str, Any],
    values: dict[str, Any],
) -> None:
    if not fields:
        return
    wide = min(_ACROSS, len(fields))
    for start in range(0, len(fields), wide):  # row by row, so that a switch does not push its column out of line
        row = fields[start : start + wide]
        for column, (name, field, hint, info) in zip(st.columns(wide, vertical_alignment="bottom"), row, strict=False):
            with column:
                default = defaults.get(name, default_of(field))
                values[name] = widget(f"{key}-{name}", name, kinds(hint), info, default)


def kinds(hint: Any) -> set[Any]:
    """Return the plain classes in a type hint: ``int | None`` → {int, NoneType}; ``tuple[str, ...]`` → {tuple}."""
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        return set().union(*(kinds(arg) for arg in typing.get_args(hint)))
    if typing.get_origin(hint) is typing.Literal:
        return {type(arg) for arg in typing.get_args(hint)}
    return {typing.get_origin(hint) or hint}


def widget(key: str, name: str, of: set[Any], info: OptionInfo, default: Any) -> Any:
    """Draw the widget for a setting of the plain classes ``of``."""
    label = plain(labelled(name, info))
    more: dict[str, Any] = {"key": key, "help": plain(info.help) if info.help else None}
    if bool in of:
        return st.toggle(label, value=bool(default), **more)
    if tuple in of:
        return _several(label, info, default, more)
    if info.choices is not None:
        listed = [None, *info.choices] if type(None) in of and None not in info.choices else list(info.choices)
        index = listed.index(default) if default in listed else 0
        return st.selectbox(label, listed, index=index, format_func=_choice, **more)
    if of & {int, float}:
        return _number(label, of, info, default, more)
    text = st.text_input(label, value="" if default is None else str(default), disabled=_is_closed(info), **more)
    return None if type(None) in of and not text else text


def _is_closed(info: OptionInfo) -> bool:
    """Whether a setting names a file of the server, and pages may read none."""
    return info.file and not server_paths.offered()


def labelled(name: str, info: OptionInfo) -> str:
    """Return the label of a setting with its unit."""
    label = label_of(name, info)
    return label if not info.unit or info.unit.lower() in label.lower() else f"{label} ({info.unit})"


def _choice(value: Any) -> str:
    return "none" if value is None else str(value).replace("_", " ").replace("+", " + ")


def _several(label: str, info: OptionInfo, default: Any, more: dict[str, Any]) -> list[str]:
    if info.choices is not None:
        return list(st.multiselect(label, list(info.choices), list(default or ()), format_func=_choice, **more))
    text = st.text_input(
        label,
        value=", ".join(map(str, default or ())),
        placeholder="separated by commas",
        disabled=_is_closed(info),
        **more,
    )
    return [part.strip() for part in text.split(",") if part.strip()]


def _number(label: str, of: set[Any], info: OptionInfo, default: Any, more: dict[str, Any]) -> int | float | None:
    kind: type[Any] = float if float in of else int
    low, high = (None if bound is None else kind(bound) for bound in (info.low, info.high))
    more = {**more, "format": "%g", "step": _step(default)} if kind is float else {**more, "step": 1}
    value = None if default is None else kind(default)
    return st.number_input(label, min_value=low, max_value=high, value=value, placeholder="no limit", **more)


def _step(default: float | None) -> float:
    """A tenth of the size of the default, so that a rate of 0.001 does not move in steps of 0.01."""
    size = abs(default or 1.0)
    return float(10.0 ** (len(str(int(size))) - 2)) if size >= 1 else float(f"{size / 10:.0e}")
