"""The web process: Streamlit, with everything that pages import brought in before the first person comes."""

from __future__ import annotations

import importlib
import sys
import threading
from pathlib import Path

from core.errors import ConfigError
from db.settings import Settings

_PARTS = (
    "accuracy",
    "articles",
    "atlas",
    "benchmarking",
    "board",
    "drawing",
    "hardness",
    "importing",
    "relabel_work",
    "training",
    "triplets",
)


def warm() -> None:
    """Import what pages need; on a small machine that takes seconds, which nobody should wait for in a browser."""
    for name in _PARTS:
        importlib.import_module(f"webapp.components.{name}")
    for library in ("pandas.io.formats.style", "scipy.optimize", "scipy.stats"):
        importlib.import_module(library)


def main() -> None:
    """Serve the pages with the flags given, as ``streamlit run`` does."""
    from streamlit.web import cli

    threading.Thread(target=warm, daemon=True).start()
    sys.argv = ["streamlit", "run", str(Path(__file__).with_name("app.py")), *_secrets(), *sys.argv[1:]]
    cli.main()


def _secrets() -> list[str]:
    """Flags that name the file of secrets; none where the settings make no sense, which the pages tell."""
    try:
        return ["--secrets.files", str(Settings.from_environment().secrets_file)]
    except ConfigError:
        return []


if __name__ == "__main__":
    main()
