"""Size and structure of a checkout: ``python benchmarks/size.py [FOLDER …]`` prints a column for each folder.

Lines are physical lines of the files that git tracks. A cycle is a set of modules that import each
other, also inside functions. A function counts as called once if it is private, at the top of its module, and its name
is read once in that module.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

PACKAGES = ("themescope", "core", "db", "jobs", "webapp")
SCRIPTS = (".js", ".mjs", ".ts")


def figures(root: Path) -> dict[str, object]:
    """Return every figure of the checkout in ``root`` by its name."""
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    files = [root / name for name in listed if name and (root / name).is_file() and not (root / name).is_symlink()]
    top = {path: path.relative_to(root).parts[0] for path in files}
    product = [path for path in files if top[path] in PACKAGES]
    trees = {path: ast.parse(path.read_text("utf-8")) for path in product if path.suffix == ".py"}
    python, scripts = _lines(trees), _lines(path for path in product if path.suffix in SCRIPTS)
    private, once = _called_once(trees.values())
    return {
        "product, files": sum(path.suffix in (".py", *SCRIPTS) for path in product),
        "product, lines of Python": python,
        "product, lines of JavaScript and TypeScript": scripts,
        "product, lines": python + scripts,
        "tests, lines": _lines(path for path in files if top[path] == "tests" and path.suffix in (".py", *SCRIPTS)),
        "benchmarks, programs": sum(top[p] == "benchmarks" and p.suffix == ".py" and p.name[0] != "_" for p in files),
        "benchmarks, lines": _lines(path for path in files if top[path] == "benchmarks" and path.suffix == ".py"),
        "docs, lines": _lines(path for path in files if path.suffix == ".md"),
        "import cycles": _cycles(root, trees),
        "private functions": private,
        "private functions called once": once,
        "modules at the root of a package, most": max(
            Counter(
                path.parent.name for path in trees if path.parent.parent == root and path.stem != "__init__"
            ).values()
        ),
    }


def _lines(paths: Iterable[Path]) -> int:
    return sum(path.read_bytes().count(b"\n") for path in paths)


def _called_once(trees: Iterable[ast.Module]) -> tuple[int, int]:
    every = once = 0
    for tree in trees:
        names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("_")]
        read = Counter(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
        every, once = every + len(names), once + sum(read[name] == 1 for name in names if not name.startswith("__"))
    return every, once


def _cycles(root: Path, trees: dict[Path, ast.Module]) -> int:
    """Return the number of sets of modules that import each other, imports for type checkers left out."""
    names = {}
    for path in trees:
        parts = path.relative_to(root).with_suffix("").parts
        names[".".join(parts[1:] if parts[0] == "themescope" else parts).removesuffix(".__init__")] = len(names)
    edges = set()
    for (name, at), tree in zip(names.items(), trees.values(), strict=True):
        for node in _run(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                module = node.module.removeprefix("themescope.")
                for target in (f"{module}.{alias.name}" for alias in node.names):
                    found = target if target in names else module
                    if found in names and found != name:
                        edges.add((at, names[found]))
    rows, columns = zip(*edges, strict=True)
    graph = coo_array(([1] * len(edges), (rows, columns)), shape=(len(names), len(names)))
    return sum(count > 1 for count in Counter(connected_components(graph, connection="strong")[1].tolist()).values())


def _run(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield child
            yield from _run(child)


if __name__ == "__main__":
    columns = [figures(Path(folder).resolve()) for folder in sys.argv[1:] or ["."]]
    for figure in columns[0]:
        print(f"{figure:45}", *(f"{column[figure]:>9,}" for column in columns))
