"""What is imported when a page is opened."""

import subprocess
import sys

HEAVY = ("torch", "umap", "numba", "pynndescent", "sklearn", "gensim", "transformers")
SCRIPT = f"""
import ast, importlib, pkgutil, sys
from themescope.webapp import features
for module in pkgutil.walk_packages(features.__path__, "themescope.webapp.features."):
    if module.name not in {{card.factory for card in features.REGISTRY}}:
        importlib.import_module(module.name)
for card in features.REGISTRY:
    script = ast.parse(card.script.read_text(encoding="utf-8"))
    for node in script.body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            exec(compile(ast.Module([node], []), str(card.script), "exec"))
print([name for name in {HEAVY!r} if name in sys.modules])
"""


def test_opening_pages_imports_nothing_heavy() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
