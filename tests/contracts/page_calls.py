"""What the code of the pages calls: services with the store of the visitor, and methods of repositories."""

from __future__ import annotations

import ast
import inspect
import re
from functools import cache
from pathlib import Path

from themescope.db.store import Unit

ROOT = Path(__file__).parents[2]
NO_ACTIONS = {
    # The server itself, before a visitor is known; tests/webapp/test_sign_in.py and test_account.py test these.
    "themescope.jobs.services.accounts.sign_in.keep_alive",
    "themescope.jobs.services.accounts.sign_in.remember_name",
    "themescope.jobs.services.accounts.api_tokens.actor_of",
    "themescope.jobs.services.accounts.api_tokens.create",
    "themescope.jobs.services.accounts.api_tokens.revoke",
    # On an empty store only.
    "themescope.jobs.services.installation.demo.seed_demo",
    # Reads a labelling through its session.
    "themescope.jobs.services.selections.read_sentences",
}
"""Services of the pages from which code that writes can be reached, and which are no actions of a visitor."""
_ALL = Unit(None, None)  # type: ignore[arg-type]
REPOSITORIES = {
    name for name, value in vars(_ALL).items() if type(value).__module__.startswith("themescope.db.repositories.")
}
_WRITES = re.compile(r"\b\w+\.(insert|update|delete)\(\)|\binsert\(\w+\.|bulk_insert\(")
_STORES = {"queries.store()", "store", "store()", "people.server_store()", "server_store()"}


def imported(tree: ast.Module) -> dict[str, str]:
    """Return the full name of each name that a module imports."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {alias.asname or alias.name: f"{node.module}.{alias.name}" for node in nodes for alias in node.names}


def called_by_pages() -> set[str]:
    """Return the services of the pages by full name, and the methods of repositories as ``repository.method``."""
    found = set()
    for path in (ROOT / "webapp").rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        origins = imported(tree)
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            name = ast.unparse(call.func)
            if match := re.match(r"(?:r|w|repositories)\.(\w+)\.(\w+)$", name):
                found |= {".".join(match.groups())} if match[1] in REPOSITORIES else set()
            root = re.match(r"\w*", name)[0]  # type: ignore[index]
            full = origins.get(root, root) + name[len(root) :]
            if full.startswith("themescope.jobs.") and any(ast.unparse(given) in _STORES for given in call.args):
                found.add(re.sub(r"\(.*", "", full))
    return found


@cache
def _module(name: str) -> tuple[dict[str, ast.AST], dict[str, str]] | None:
    """Return the functions and classes of a module of ours, and the full names of what it imports."""
    base = ROOT.joinpath(*name.split(".")[1:])
    path = next((p for p in (base.with_suffix(".py"), base / "__init__.py") if p.is_file()), None)
    if path is None:
        return None
    tree = ast.parse(path.read_text("utf-8"))
    defined: dict[str, ast.AST] = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    return defined, imported(tree)


def _defined(full: str) -> tuple[str, str] | None:
    """Return (module, function or class) of a full name, also where a package imports it from a module."""
    parts = full.split(".")
    for count in range(len(parts) - 1, 1, -1):
        if found := _module(name := ".".join(parts[:count])):
            if parts[count] in found[0]:
                return name, parts[count]
            if parts[count] in found[1]:
                return _defined(found[1][parts[count]])
    return None


def changes(service: str) -> bool:
    """Return whether a service, or code of ``jobs`` that it names, opens a transaction that writes."""
    pending, seen = [_defined(service)], set()
    while pending:
        if (at := pending.pop()) is None or at in seen:
            continue
        seen.add(at)
        defined, origins = _module(at[0]) or ({}, {})
        if ".writing(" in ast.unparse(defined[at[1]]):
            return True
        for node in ast.walk(defined[at[1]]):
            if isinstance(node, ast.Name | ast.Attribute):
                name = ast.unparse(node)
                root = name.split(".")[0]
                if root in defined:
                    pending.append((at[0], root))
                elif origins.get(root, "").startswith("themescope.jobs."):
                    pending.append(_defined(origins[root] + name[len(root) :]) or _defined(origins[root]))
    return False


def writes(method: str) -> bool:
    """Return whether a method of a repository has a statement that writes, itself or in a method that it calls."""
    repository, _, name = method.partition(".")
    kind = type(getattr(_ALL, repository))
    pending, seen = [name], set()
    while pending:
        source = inspect.getsource(getattr(kind, name := pending.pop()))
        if _WRITES.search(source):
            return True
        seen.add(name)
        pending += {called for called in re.findall(r"self\.(\w+)\(", source) if hasattr(kind, called)} - seen
    return False
