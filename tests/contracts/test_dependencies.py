import ast
import re
import sys
from functools import cache
from importlib.metadata import packages_distributions

from tests.environments import EXTRAS, PROJECT
from tests.places import PACKAGES, ROOT

owners_of_modules = cache(packages_distributions)
NOT_IMPORTED = {"sentence-splitter", "uvloop"}
"""Streamlit uses uvloop where it is installed; of sentence-splitter only files are read (core/text/splitting.py)."""


def names(requirements: list[str]) -> set[str]:
    """Normalised names of the packages that requirements name, without the project's own extras."""
    found = {re.split(r"[^\w.-]", line, maxsplit=1)[0].lower().replace("_", "-") for line in requirements}
    return found - {"themescope"}


def imported(*folders: str) -> set[str]:
    """Normalised names of the installed packages whose modules are imported below ``folders``."""
    return set().union(*map(_imported, folders))


@cache
def _imported(folder: str) -> set[str]:
    modules = {
        name.partition(".")[0]
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        for name in _modules(node)
    }
    foreign = modules - {*sys.stdlib_module_names, *PACKAGES, "themescope", "benchmarks", "tests"}
    owners = owners_of_modules()
    return {owner.lower().replace("_", "-") for module in foreign for owner in owners.get(module, [module])}


def _modules(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "optional_module":
        return [str(ast.literal_eval(node.args[0]))]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module and not node.level else []


def extras(*chosen: str) -> set[str]:
    return names([line for extra in chosen for line in EXTRAS[extra]])


def test_the_library_imports_what_it_declares() -> None:
    library = names(PROJECT["dependencies"])
    assert library - imported("core") == {"sentence-splitter"}
    assert imported("core") - library <= extras("app", "encoder", "notebook")


def test_the_application_imports_what_it_declares() -> None:
    application = names(PROJECT["dependencies"]) | extras("app")
    assert application - imported(*PACKAGES) == NOT_IMPORTED
    others = extras("oidc", "postgres", "ray", "encoder", "mcp", "notebook")
    assert imported(*PACKAGES) - application - others == set()


def test_every_import_of_the_benchmarks_is_declared() -> None:
    declared = names(PROJECT["dependencies"]) | extras("app", "demo", "encoder", "ray", "postgres", "bench")
    assert imported("benchmarks") - declared == set()
