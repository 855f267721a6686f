"""One way to plug anything in: a card says what a thing is, a registry finds and builds it.

A family's ``__init__`` holds only cards. The strings ``factory`` and ``config`` are resolved when something is
built, so that a page can list every method without importing torch.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from core.config import Config, config_from_dict
from core.errors import DuplicateNameError, UnknownNameError


@dataclass(frozen=True, slots=True)
class Card:
    """What the product knows about a method, clusterer, reader, metric, word-vector table or kind of job."""

    id: str
    title: str
    summary: str
    source: str
    """Paper and section, or who defined it."""
    factory: str
    """"module:Name" of what is built."""
    config: str
    """"module:Name" of its config dataclass."""
    tags: frozenset[str] = frozenset()
    """Declared differences; code asks for tags, never for names."""
    revision: int = 1
    """Raised whenever the results of the implementation change for the same input, settings and seed.

    It is part of every digest that identifies cached work, so that results of older code are computed again.
    ``tests/contracts/test_fingerprints.py`` fails where results change without a new revision.
    """

    def resolve(self) -> Any:
        """The class or function behind ``factory``."""
        return _resolve(self.factory)

    def config_class(self) -> type[Config]:
        """The config dataclass."""
        found: type[Config] = _resolve(self.config)
        return found


def _resolve(reference: str) -> Any:
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(module), name)


class Registry:
    """Cards of one family, by id, in the order they were declared."""

    def __init__(self, kind: str, cards: Iterable[Card]) -> None:
        self.kind = kind
        self._cards: dict[str, Card] = {}
        for card in cards:
            if card.id in self._cards:
                raise DuplicateNameError(kind, card.id)
            self._cards[card.id] = card

    def __iter__(self) -> Iterator[Card]:
        return iter(self._cards.values())

    def __len__(self) -> int:
        return len(self._cards)

    def __contains__(self, id: object) -> bool:
        return id in self._cards

    def ids(self) -> list[str]:
        """Every id, in declaration order."""
        return list(self._cards)

    def get(self, id: str) -> Card:
        """The card, or :class:`UnknownNameError` naming the nearest ids."""
        try:
            return self._cards[id]
        except KeyError:
            raise UnknownNameError(self.kind, id, self._cards) from None

    def configure(self, id: str, settings: Mapping[str, Any] | None = None) -> Config:
        """The config of ``id`` with ``settings`` over its defaults; refuses unknown keys and nonsense."""
        return config_from_dict(self.get(id).config_class(), settings or {})

    def build(self, id: str, settings: Mapping[str, Any] | Config | None = None, **arguments: Any) -> Any:
        """Build ``id`` from settings (a mapping, or a ready config)."""
        config = settings if isinstance(settings, Config) else self.configure(id, settings)
        return self.get(id).resolve()(config, **arguments)
