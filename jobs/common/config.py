"""What every kind of job's arguments have in common: a config that names things, and settings as JSON text."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from core.config import Config, config_from_dict, options
from core.errors import ConfigError
from core.registry import Registry


@dataclass(frozen=True)
class JobConfig(Config, ABC):
    """Arguments of a job: names and ids, never objects, so that a chain of jobs can be queued ahead."""

    @abstractmethod
    def title(self) -> str:
        """One line that tells a person what this job does."""

    def require(self, *names: str) -> None:
        """Refuse empty arguments that the job cannot do without."""
        for name in names:
            if not getattr(self, name):
                _, _, info = options(type(self))[name]
                raise ConfigError(f"“{self.named(name)}” is missing. {info.help}")


def settings_of(text: str, what: str = "settings") -> dict[str, Any]:
    """The JSON object in ``text``; anything else is a :class:`ConfigError`."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise ConfigError(
            f'The {what} are not valid JSON (character {error.pos + 1}: {error.msg}). Write them as {{"name": value}}.'
        ) from None
    if not isinstance(value, dict):
        raise ConfigError(f"The {what} must be a JSON object such as {{}}, not {text[:40]!r}.")
    return value


def check_settings(registry: Registry, id: str, text: str) -> Config:
    """The config of ``id`` from JSON settings, or a sentence about what is wrong with them."""
    return registry.configure(id, settings_of(text))


def rules_of(cls: type[Config], text: str) -> Any:
    """A rules config from its JSON settings."""
    return config_from_dict(cls, settings_of(text, "rules"))
