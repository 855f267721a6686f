"""Base class of job configs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from core.config import Config, options
from core.errors import ConfigError


@dataclass(frozen=True)
class JobConfig(Config, ABC):
    """Arguments of a job: names and ids, never objects, so that a chain of jobs can be queued at once.

    A field that is a mapping holds settings of something that another field names, such as a method. ``validate``
    builds their config, so that invalid settings are refused when the job is queued.
    """

    @abstractmethod
    def title(self) -> str:
        """Return one line that tells what this job does."""

    def require(self, *names: str) -> None:
        """Raise ``ConfigError`` if one of these arguments is empty."""
        for name in names:
            if not getattr(self, name):
                _, _, info = options(type(self))[name]
                raise ConfigError(f"“{self.named(name)}” is missing. {info.help}")
