"""List of the strings that users see, with file and line: ``python -m tests.strings``.

A reviewer reads the list to judge labels, messages and help without searching the code. ``--sample N`` prints N strings
drawn at random with seed 0; ``--root`` lists another checkout.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("core", "db", "jobs", "webapp")
_DECLARATIONS = {"option", "Card", "ReaderCard", "JobCard", "PageCard", "Column", "Row", "Table", "Paper", "Profile"}
_SHOWN = {"help", "label", "title", "summary", "unit", "message", "placeholder", "text", "about", "caption", "source"}
_HIDDEN = {
    "key",
    "factory",
    "config",
    "detector",
    "sample",
    "icon",
    "id",
    "url_path",
    "match",
    "type",
    "script",
    "tags",
}
_MESSAGES = {"progress", "echo", "UsageError", "BadParameter"}
_WORDS = re.compile(r"[A-Za-zÀ-ÿ]{2,}")
_NOT_PROSE = re.compile(r"^[\w./:#*?&=%{}<>\[\]()|\\^$+~@!-]*$")
_MARKUP = re.compile(r"^\s*<|\b(?:SELECT|UPDATE|DELETE|INSERT|PRAGMA|SET)\b [a-zA-Z\"]")
_JS_STRING = re.compile(r"""(["'`])((?:\\.|(?!\1).)*)\1""")


@dataclass(frozen=True, order=True)
class Shown:
    """A string that users see."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


def strings(root: Path = ROOT) -> list[Shown]:
    """Return every user-visible string of the product in order of file and line, placeholders as ``{}``."""
    found: set[Shown] = set()
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            name = path.relative_to(root).as_posix()
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found.update(Shown(name, line, text) for line, text in _Visitor(name).collect(tree))
        for path in sorted((root / package).rglob("*.js")):
            if "site" in path.relative_to(root).parts:  # the built documentation, with its theme
                continue
            found.update(_in_script(path, root))
    return sorted(found)


class _Visitor(ast.NodeVisitor):
    """Collects the strings of one module that reach a person."""

    def __init__(self, name: str) -> None:
        # In pages and commands nearly every sentence is shown; in the library only messages and declarations are.
        self._everything = name.startswith(("webapp/", "jobs/cli/"))
        self._commands = name.startswith(("jobs/cli/", "jobs/console/"))
        self._found: list[tuple[int, str]] = []

    def collect(self, tree: ast.Module) -> list[tuple[int, str]]:
        self._visit(tree, self._everything)
        return self._found

    def _visit(self, node: ast.AST, shown: bool) -> None:
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module | ast.AsyncFunctionDef):
            self._documented(node)
        elif isinstance(node, ast.Constant | ast.JoinedStr):
            if shown and (text := _text(node)) and _is_prose(text):
                self._found.append((node.lineno, text))
        elif isinstance(node, ast.BinOp) and (text := _text(node)):
            if shown and _is_prose(text):
                self._found.append((node.lineno, text))
        elif isinstance(node, ast.Call):
            self._called(node, shown)
        else:
            for child in ast.iter_child_nodes(node):
                self._visit(child, shown)

    def _documented(self, node: ast.AST) -> None:
        assert isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module | ast.AsyncFunctionDef)
        body = node.body
        if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
            decorators = getattr(node, "decorator_list", [])
            command = any(re.search(r"command|group", ast.unparse(decorator)) for decorator in decorators)
            if self._commands and command and isinstance(body[0].value.value, str):
                self._found.append((body[0].lineno, " ".join(body[0].value.value.split())))
            body = body[1:]
        for child in [*getattr(node, "decorator_list", []), *_defaults(node), *body]:
            # A string that stands alone documents an attribute.
            if not (isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)):
                self._visit(child, self._everything)

    def _called(self, call: ast.Call, shown: bool) -> None:
        name = ast.unparse(call.func).rpartition(".")[2]
        raised = name.endswith(("Error", "Failed")) or name in _MESSAGES
        declared = name in _DECLARATIONS
        if name in ("getLogger", "compile", "import_module", "option_context") and not declared:
            return
        self._visit(call.func, shown)
        for argument in call.args:
            self._visit(argument, shown or raised or declared)
        for keyword in call.keywords:
            visible = keyword.arg not in _HIDDEN and (shown or raised or (declared and keyword.arg in _SHOWN))
            self._visit(keyword.value, visible or (keyword.arg == "help"))


def _defaults(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return [*node.args.defaults, *(default for default in node.args.kw_defaults if default is not None)]
    return []


def _text(node: ast.expr) -> str:
    """The text of a literal; parts that are computed become ``{}``, and joined literals one text."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = (_text(side) or "{}" for side in (node.left, node.right))
        return "" if left == right == "{}" else left + right
    return ""


def _is_prose(text: str) -> bool:
    plain = text.replace("{}", "").strip()
    if not _WORDS.search(plain) or _MARKUP.search(plain):
        return False
    one_word = _NOT_PROSE.match(plain)
    return not one_word or bool(re.fullmatch(r"[A-Z][a-zà-ÿ]+[:.?!…]?", plain))


def _in_script(path: Path, root: Path) -> Iterator[Shown]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        for found in _JS_STRING.finditer(line.partition("//")[0]):
            text = re.sub(r"\$\{[^}]*\}", "{}", found[2])
            if " " in text.strip() and _is_prose(text) and re.match(r"[A-Z{“]", text) and "=" not in text:
                yield Shown(path.relative_to(root).as_posix(), number, text)


def main() -> None:
    """Print the list."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, default=ROOT, help="checkout to list")
    parser.add_argument("--sample", type=int, default=0, help="print only so many strings, drawn with seed 0")
    options = parser.parse_args()
    listed = strings(options.root)
    if options.sample:
        listed = random.Random(0).sample(listed, options.sample)
    sys.stdout.writelines(str(shown).replace("\n", " ⏎ ") + "\n" for shown in listed)


if __name__ == "__main__":
    main()
