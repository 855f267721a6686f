"""Cards and registries: how an implementation is declared, found and built.

The ``__init__`` of a family (models, clusterers, readers, metrics, job kinds, pages) contains a :class:`Registry` with
a :class:`Card` for each implementation. ``factory`` and ``config`` are strings that are resolved when something is
built, so that a page can list every method without importing torch.

Other packages add implementations through entry points. A package that declares ::

    [project.entry-points."themescope.models"]
    my-method = "my_package.model:CARD"

adds its card to the registry whose ``plugin_group`` is ``themescope.models``.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

from themescope.core.config import Config, config_from_dict
from themescope.core.errors import DuplicateNameError, PluginError, UnknownNameError


@dataclass(frozen=True, slots=True)
class Card:
    """Declaration of an implementation: what it is, where it is defined and how it is built."""

    id: str
    title: str
    summary: str
    source: str
    """Paper and section, or who defined it."""
    factory: str
    """``"module:Name"`` of what is built."""
    config: str
    """``"module:Name"`` of its config dataclass."""
    tags: frozenset[str] = frozenset()
    """Properties that other code checks; behaviour never depends on an id."""
    languages: frozenset[str] = frozenset()
    """ISO 639-1 codes of the languages that a method reads; empty: any, or those of what its settings name."""
    revision: int = 1
    """Raised whenever the results of the implementation change for the same input, settings and seed.

    It is part of every digest that identifies cached work, so that results of older code are computed again.
    ``tests/contracts/test_fingerprints.py`` fails where results change without a new revision.
    """

    def resolve(self) -> Any:
        """Import and return the class or function that ``factory`` names."""
        return resolve(self.factory)

    def config_class(self) -> type[Config]:
        """Import and return the config dataclass."""
        found: type[Config] = resolve(self.config)
        return found


def resolve(reference: str) -> Any:
    """Import and return what ``"module:Name"`` names."""
    module, _, name = reference.partition(":")
    return getattr(importlib.import_module(module), name)


CardT = TypeVar("CardT", bound=Card)


class Registry(Generic[CardT]):
    """Cards of one family by id: the built-in ones in the order of declaration, then those of plug-in packages.

    ``kind`` is what the family is called in messages, such as ``"method"``. The class of the built-in ``cards`` decides
    which cards a plug-in may add. ``plugin_group`` is the group of entry points that add cards, which are loaded when
    the registry is first used; empty for a family without plug-ins. Raises :class:`DuplicateNameError` if two built-in
    cards have the same id.
    """

    def __init__(self, kind: str, cards: Iterable[CardT], plugin_group: str = "") -> None:
        self.kind, self.plugin_group = kind, plugin_group
        self._plugins_loaded = not plugin_group
        self._known: dict[str, CardT] = {}
        for card in cards:
            if card.id in self._known:
                raise DuplicateNameError(kind, card.id)
            self._known[card.id] = card

    @property
    def _cards(self) -> dict[str, CardT]:
        if not self._plugins_loaded:
            added: dict[str, CardT] = {}
            wanted = type(next(iter(self._known.values()), Card("", "", "", "", "", "")))
            for entry in sorted(entry_points(group=self.plugin_group), key=lambda entry: entry.name):
                try:
                    found = entry.load()
                except Exception as error:
                    raise PluginError(entry.value, f"it cannot be imported ({error}).") from error
                cards = found if isinstance(found, tuple) else (found,)
                if not all(isinstance(card, wanted) for card in cards):
                    raise PluginError(entry.value, f"it is not a {wanted.__name__}.")
                for card in cards:
                    if card.id in self._known or card.id in added:
                        raise PluginError(entry.value, f"it adds a second {self.kind} called {card.id!r}.")
                    added[card.id] = card
            self._known |= added
            self._plugins_loaded = True
        return self._known

    def __iter__(self) -> Iterator[CardT]:
        return iter(self._cards.values())

    def __len__(self) -> int:
        return len(self._cards)

    def __contains__(self, id: object) -> bool:
        return id in self._cards

    def ids(self) -> list[str]:
        """Return every id in order."""
        return list(self._cards)

    def tagged(self, tag: str) -> list[CardT]:
        """Return the cards with a tag, in order: the built-in ones come first."""
        return [card for card in self if tag in card.tags]

    def get(self, id: str) -> CardT:
        """Return the card of ``id``, or raise :class:`UnknownNameError` with the nearest ids."""
        try:
            return self._cards[id]
        except KeyError:
            raise UnknownNameError(self.kind, id, self._cards) from None

    def configure(self, id: str, settings: Mapping[str, Any] | None = None) -> Config:
        """Return the config of ``id`` with ``settings`` in place of its defaults; raises ``ConfigError``."""
        return config_from_dict(self.get(id).config_class(), settings or {})

    def build(self, id: str, settings: Mapping[str, Any] | Config | None = None, **arguments: Any) -> Any:
        """Build ``id`` from settings (a mapping or a config) and further constructor arguments."""
        config = settings if isinstance(settings, Config) else self.configure(id, settings)
        return self.get(id).resolve()(config, **arguments)
