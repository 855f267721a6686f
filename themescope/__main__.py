"""``python -m themescope``: start the web server and a worker. The command ``themescope`` begins here too.

``python -m themescope prepare`` compiles the inner loops of the library once; otherwise the first uses do.

The base installation is the library alone, so both say which extra they need.
"""

from __future__ import annotations

import importlib.util
import sys

_APPLICATION = ("alembic", "click", "sqlalchemy", "streamlit")
"""Packages of the extra ``app``, without which neither the web server nor the command line starts."""


def _needs_application(what: str) -> None:
    """Exit with a sentence unless the application is installed."""
    missing = [name for name in _APPLICATION if importlib.util.find_spec(name) is None]
    if missing:
        sys.exit(f"{what} is not part of the library ({missing[0]} is missing): pip install 'themescope[app]'")


def command() -> None:
    """Run the command line, see :mod:`themescope.jobs.cli.main`."""
    _needs_application("The command line of Themescope")
    from themescope.jobs.cli.__main__ import main as commands

    commands()


def main() -> None:
    """Start the web server and a worker, see :mod:`themescope.webapp.start`, or compile inner loops."""
    if sys.argv[1:] == ["prepare"]:
        from themescope.core.precompile import main as prepare

        return prepare()
    _needs_application("The web application of Themescope")
    from themescope.webapp.start import main as start

    sys.exit(start())


if __name__ == "__main__":
    main()
