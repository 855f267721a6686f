"""Facets: columns of the sentences of a map by which they can be filtered, and the filters in an address."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import numpy.typing as npt

from themescope.core.columns import ColumnType, Values

Mask = npt.NDArray[np.bool_]  # (n,) whether each sentence passes
Filters = dict[str, list[Any]]
"""Facet → names of categories (None: without a value), or the least and the greatest number, or two ISO dates."""

_MOST = 2_000
"""Maximum number of values of a filter."""


@dataclass(frozen=True)
class Facet:
    """A column of n sentences by which they can be filtered."""

    name: str
    type: ColumnType
    values: Values
    """(n,) codes of categories, numbers, or days as datetime64."""
    categories: Sequence[str] = ()
    whole: bool = False
    """Whether all numbers are whole."""

    @property
    def known(self) -> Mask:
        """Whether each sentence has a value."""
        if self.type is ColumnType.CATEGORY:
            return np.asarray(self.values >= 0)
        return np.asarray(~np.isnan(self.values) if self.type is ColumnType.NUMBER else ~np.isnat(self.values))

    def mask(self, chosen: Sequence[Any] | None) -> Mask:
        """Return which sentences a filter lets through; all without a filter, or with one that does not fit."""
        everything = np.ones(len(self.values), dtype=bool)
        if not chosen:
            return everything
        if self.type is ColumnType.CATEGORY:
            codes = {name: code for code, name in enumerate(self.categories)} | {None: -1}
            return np.isin(self.values, [codes[name] for name in chosen if is_name(name) and name in codes])
        ends = ends_of(self.type, chosen)
        if ends is None:
            return everything
        with np.errstate(invalid="ignore"):
            return np.asarray((self.values >= ends[0]) & (self.values <= ends[1]))


def is_name(value: Any) -> bool:
    """Return whether a value of a filter can name a category; None is for sentences without one."""
    return value is None or isinstance(value, str)


def ends_of(type: ColumnType, chosen: Sequence[Any]) -> tuple[Any, Any] | None:
    """Return the least and the greatest value of a filter; None if it does not fit the type."""
    if len(chosen) != 2:
        return None
    if type is ColumnType.NUMBER:
        numbers = [value for value in chosen if isinstance(value, int | float) and not isinstance(value, bool)]
        return (float(numbers[0]), float(numbers[1])) if len(numbers) == 2 else None
    try:
        first, last = (np.datetime64(date.fromisoformat(str(value)), "D") for value in chosen)
    except ValueError:
        return None
    return first, last


def masks(facets: Sequence[Facet], filters: Mapping[str, Sequence[Any]], n: int) -> tuple[Mask, list[Mask]]:
    """Return which of n sentences all filters let through, and for each facet which the filters of the others do."""
    own = [facet.mask(filters.get(facet.name)) for facet in facets]
    failed = np.zeros(n, dtype=np.int64)
    for mask in own:
        failed += ~mask
    return failed == 0, [failed == ~mask for mask in own]


def read_filters(text: str) -> Filters:
    """Return the filters that an address names; none if it is damaged."""
    try:
        found = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    fitting = {name: values for name, values in found.items() if isinstance(values, list) and 0 < len(values) <= _MOST}
    plain = (str, int, float, type(None))
    return {name: values for name, values in fitting.items() if all(isinstance(value, plain) for value in values)}
