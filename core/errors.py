"""Exceptions. Each message states what is wrong, where, and what to do.

Pages, jobs and the command line show ``str(error)`` of any :class:`ThemescopeError`; every other exception is treated
as a defect of Themescope.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

_HEAD, _TAIL = 1_000, 500


class ThemescopeError(Exception):
    """Base class of errors with a message for users. Each can be pickled, so that a worker can send it.

    A long message loses its middle: it may quote a title or a name of any length from a file.
    """

    def __init__(self, message: str) -> None:
        long = len(message) > _HEAD + _TAIL
        super().__init__(f"{message[:_HEAD]} … {message[-_TAIL:]}" if long else message)

    def __reduce__(self) -> tuple[Callable[..., ThemescopeError], tuple[Any, ...], dict[str, Any]]:
        return _unpickled, (type(self), *self.args), self.__dict__


def _unpickled(kind: type[ThemescopeError], *args: Any) -> ThemescopeError:
    """Return an error without a call of its class, whose arguments are not those of the exception."""
    error = kind.__new__(kind, *args)
    error.args = args
    return error


class ConfigError(ThemescopeError):
    """A setting that is unknown, of the wrong type, or out of range."""


class UnknownNameError(ThemescopeError):
    """An unknown name; the message suggests the nearest known names. ``None``: there are too many to list."""

    def __init__(self, kind: str, name: str, known: Iterable[str] | None) -> None:
        self.kind, self.name, self.known = kind, name, sorted(known or ())
        near = difflib.get_close_matches(name, self.known, n=3, cutoff=0.5)
        if near:
            hint = "Did you mean " + " or ".join(repr(n) for n in near) + "?"
        elif self.known:
            shown = ", ".join(self.known[:12]) + (", …" if len(self.known) > 12 else "")
            hint = f"Known: {shown}."
        else:
            hint = "Check it." if known is None else f"There is no {kind} yet."
        super().__init__(f"There is no {kind} called {name!r}. {hint}")


class DuplicateNameError(ThemescopeError):
    """A name that is already taken."""

    def __init__(self, kind: str, name: str, advice: str = "Choose another name.") -> None:
        self.kind, self.name = kind, name
        super().__init__(f"A {kind} called {name!r} exists already. {advice}")


class MissingExtraError(ThemescopeError, ImportError):
    """A missing package that an optional feature requires; ``extra`` or else ``command`` installs it."""

    def __init__(self, feature: str, package: str, extra: str, command: str = "") -> None:
        self.name, self.feature, self.package, self.extra = package, feature, package, extra
        command = command or f"pip install 'themescope[{extra}]'"
        super().__init__(f"{feature} needs the package {package!r}, which is not installed. Install it with: {command}")


def optional_module(module: str, feature: str, package: str, extra: str) -> Any:
    """Import and return a module of a package that ``extra`` installs; raises :class:`MissingExtraError`."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        raise MissingExtraError(feature, package, extra) from None


class PluginError(ThemescopeError):
    """An installed package that extends Themescope by an entry point and does so incorrectly."""

    def __init__(self, reference: str, problem: str) -> None:
        self.reference = reference
        super().__init__(f"The plug-in {reference!r} cannot be used: {problem} Correct or uninstall its package.")


class ReadError(ThemescopeError):
    """A file that cannot be read in its format.

    ``position`` is the place in the file in terms of its format: "line 12", "byte 4,096", "page 'Adelaide'".
    """

    def __init__(self, path: Path | str, problem: str, position: str = "", advice: str = "") -> None:
        self.path, self.problem, self.position, self.advice = Path(path), problem, position, advice
        where = f"{self.path.name}, {position}" if position else self.path.name
        super().__init__(f"{where}: {problem}" + (f" {advice}" if advice else ""))


class AmbiguousFileError(ReadError):
    """A file that can be read in several ways, between which a person has to choose."""


class DataError(ThemescopeError, ValueError):
    """Input that was read but cannot be used: too few articles, no triplets, mismatched lengths."""


class TrainingError(ThemescopeError):
    """Training cannot continue: no data for a split, or the loss is no longer finite."""


class ArtifactError(ThemescopeError):
    """A saved model or a file of vectors that is missing, damaged, or was made by an incompatible version."""


class ExecutorError(ThemescopeError):
    """Workers of an executor that died repeatedly or cannot be reached."""


class StoreError(ThemescopeError):
    """A store that rejects an operation or is unavailable.

    ``place`` says where the store is and what its driver reports. It is for the owner of the server, and no part of the
    message, which everybody may see.
    """

    def __init__(self, message: str = "", place: str = "") -> None:
        super().__init__(message)
        self.place = place


def with_place(error: Exception) -> str:
    """Return the message of an error with the place of the store, for the owner of the server."""
    place = getattr(error, "place", "")
    return f"{error} ({place})" if place else str(error)


class StoreUnavailableError(StoreError):
    """A store that cannot be used at the moment: locked, out of connections or unreachable. Trying again may help."""


class SchemaError(StoreError):
    """A store with the tables of another version of Themescope."""


class ConflictError(StoreError):
    """A conflicting change by another user; nothing was overwritten."""


class AccessError(StoreError):
    """An action that requires another role or signing in; nothing was done."""


class RequestError(ThemescopeError):
    """A request that a server refused or did not answer."""

    def __init__(self, message: str, status: int = 0) -> None:
        self.status = status
        """Status of the answer, such as 403; 0 without an answer."""
        super().__init__(message)


class Cancelled(ThemescopeError):
    """Cancellation by the user, raised by ``Report`` between two steps; partial work is kept or rolled back."""

    def __init__(self) -> None:
        super().__init__("Cancelled.")
