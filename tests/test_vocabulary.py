"""No identifier, docstring, label or message uses a word that the glossary rules out."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.places import PACKAGES, ROOT

GLOSSARY = ROOT / "docs" / "glossary.md"


def ruled_out(text: str) -> list[str]:
    """The words in code style in the last column of the glossary's tables."""
    rows = [line.split("|") for line in text.splitlines() if line.startswith("|") and "---" not in line]
    return sorted({word for row in rows for word in re.findall(r"`([^`]+)`", row[-2]) if row[-2].strip()})


def pattern(words: list[str]) -> re.Pattern[str]:
    """Matches any of the words, in the singular or plural, written as words or as parts of an identifier."""
    alternatives = "|".join(re.escape(word).replace(r"\ ", r"[ _-]").replace(r"\-", "[ _-]") for word in words)
    # ATLAS.ti is the name of another program; “Tough-to-Beat Baseline” stands in the title of a paper.
    return re.compile(rf"(?<![a-z])(?!ATLAS\.ti|Beat Baseline)(?:{alternatives})s?(?![a-z])", re.IGNORECASE)


@cache
def parts(name: str) -> str:
    """``lookAlike``, ``look_alike`` and ``LookAlike`` as ``look alike``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", " ", name).lower()


def identifiers_and_texts(source: str) -> Iterator[tuple[int, str]]:
    """(line, text) of every name that is defined, of every docstring, and of every sentence or label."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, parts(node.name)
        elif isinstance(node, ast.arg):
            yield node.lineno, parts(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, parts(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, parts(node.attr)
        elif (
            isinstance(node, ast.Constant) and isinstance(node.value, str) and re.search(r"[A-Za-z] [a-z]", node.value)
        ):
            yield node.lineno, node.value


def violations(root: Path, words: list[str]) -> list[str]:
    """``file:line: word`` of every use of a ruled-out word."""
    wanted, found = pattern(words), []
    # Most names occur many times.
    hits = cache(lambda text: [hit[0] for hit in wanted.finditer(text)])
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            name = path.relative_to(root).as_posix()
            texts = [(0, parts(path.stem)), *identifiers_and_texts(path.read_text(encoding="utf-8"))]
            found += [f"{name}:{line}: {hit}" for line, text in texts for hit in hits(text)]
    return found


def test_no_word_that_the_glossary_rules_out_is_used() -> None:
    found = violations(ROOT, ruled_out(GLOSSARY.read_text(encoding="utf-8")))
    assert not found, "\n".join([f"{len(found)} uses of words that docs/glossary.md rules out:", *found])
