"""Expansion of user-given paths."""

from __future__ import annotations

from pathlib import Path

from core.errors import ConfigError

DATA = Path(__file__).parent / "data"
"""Files that come with the package, such as pretrained models."""


def at_home(text: str | Path, advice: str = "Write the path in full.") -> Path:
    """Return ``text`` as a path with ``~`` and ``~name`` expanded to home folders.

    Raises :class:`core.errors.ConfigError`, ending with ``advice``, where there is no such home folder.
    """
    path = Path(text)
    try:
        return path.expanduser()
    except RuntimeError:
        nothing = f"There is no home folder {path.parts[0]!r}, so {str(path)!r} names nothing."
        raise ConfigError(f"{nothing} {advice}") from None
