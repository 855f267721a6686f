"""What the project imports is what pyproject.toml declares."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PACKAGES = ("core", "db", "jobs", "webapp")
NOT_IMPORTED = {"sentence-splitter", "uvloop"}
"""Streamlit uses uvloop where it is installed; of sentence-splitter only files are read (core/text/splitting.py)."""


def names(requirements: list[str]) -> set[str]:
    """Normalised names of the packages that requirements name, without the project's own extras."""
    found = {re.split(r"[^\w.-]", line, maxsplit=1)[0].lower().replace("_", "-") for line in requirements}
    return found - {"themescope"}


def imported(*folders: str) -> set[str]:
    """Normalised names of the installed packages whose modules are imported below ``folders``."""
    modules = {
        name.partition(".")[0]
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        for name in _modules(node)
    }
    owners = packages_distributions()
    foreign = modules - {*sys.stdlib_module_names, *PACKAGES, "themescope", "benchmarks", "tests"}
    return {owner.lower().replace("_", "-") for module in foreign for owner in owners.get(module, [module])}


def _modules(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []


def test_every_dependency_is_imported() -> None:
    assert names(PROJECT["dependencies"]) - imported(*PACKAGES) == NOT_IMPORTED


def test_every_import_is_declared() -> None:
    extras = PROJECT["optional-dependencies"]
    optional = [
        line
        for name in ("oidc", "postgres", "ray", "redis", "search", "encoder", "sib", "mcp")
        for line in extras[name]
    ]
    assert imported(*PACKAGES) - names([*PROJECT["dependencies"], *optional]) == set()


def test_every_import_of_the_benchmarks_is_declared() -> None:
    extras = PROJECT["optional-dependencies"]
    declared = names([*PROJECT["dependencies"], *extras["demo"], *extras["ray"], *extras["postgres"], *extras["bench"]])
    assert imported("benchmarks") - declared == set()
