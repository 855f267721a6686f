"""Every example in the documentation runs, and everything that it names exists.

Python blocks of the documents and doctests of the library are executed. Commands are parsed by the real command line,
without being run. Links, paths, modules, settings and extras are looked up.
"""

import ast
import doctest
import importlib
import importlib.util
import json
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import types
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import pairwise
from pathlib import Path

import click
import numpy as np
import pytest

import themescope
from benchmarks.inference import speed_table
from tests.environments import PROJECT
from tests.homes import SETTINGS
from tests.places import PACKAGES, ROOT
from themescope.core.models import REGISTRY as METHODS
from themescope.core.records.stored import Role
from themescope.db.store import Store
from themescope.jobs.cli.main import main
from themescope.jobs.services import people

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("docs/tutorials/*.md")])
GENERATED = ROOT / "docs" / "generated"
"""Pages that the build of the documentation site writes; tests/test_documentation_site.py follows links to them."""
BUILT = "webapp/site/"
"""Folder that ``make docs`` makes; a fresh checkout does not have it."""
IMPORTABLE = (*PACKAGES, "tests", "benchmarks")
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(ROOT.glob("core/**/*.py"))
    if ">>>" in path.read_text(encoding="utf-8")
]

each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=[path.name for path in DOCUMENTS])


def blocks(document: Path, *languages: str) -> list[str]:
    """The code blocks of a document in one of the languages, without their indentation."""
    text = document.read_text(encoding="utf-8")
    found = re.findall(r"^( *)```(\w*)\n(.*?)^\1```$", text, re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indent}", "", body, flags=re.MULTILINE) for indent, name, body in found if name in languages]


def prose(document: Path) -> str:
    """The text of a document without its code blocks."""
    return re.sub(r"^( *)```.*?^\1```$", "", document.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def code_words(document: Path) -> list[str]:
    """What stands in backticks outside of code blocks, on one line each."""
    return [" ".join(word.split()) for word in re.findall(r"`([^`]+)`", prose(document))]


PYTHON = [(path, number) for path in DOCUMENTS for number in range(len(blocks(path, "python")))]


@pytest.fixture
def files_of_a_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with the files that the example in docs/recurrent-weights.md converts."""
    monkeypatch.chdir(tmp_path)
    np.save("utable.npy", np.ones((2, 3)))
    Path("dictionary.txt").write_text("one\ntwo\n")
    return tmp_path


SERVER = "http://127.0.0.1:8501"
"""Address of the server in examples; they are run with a server on a free port."""


@pytest.fixture
def server(sqlite_store: Store, cheap_passwords: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a server on which people sign in; the environment has the token of an admin."""
    from tests.served import served
    from tests.webapp.browsers import APP, SECRET
    from tests.webapp.filled import fill

    fill(sqlite_store)
    people.add(sqlite_store, "ada", Role.ADMIN, SECRET)
    monkeypatch.setenv("THEMESCOPE_LOGIN", "always")
    monkeypatch.setenv("THEMESCOPE_TOKEN", people.create(sqlite_store, "ada", "examples").secret)
    with served(APP) as address:
        yield address


@pytest.mark.filterwarnings("ignore:Tensorflow not installed:ImportWarning")  # of umap-learn, imported by BERTopic
@pytest.mark.usefixtures("files_of_a_release")
@pytest.mark.parametrize(("document", "number"), PYTHON, ids=[f"{path.stem}-{n}" for path, n in PYTHON])
def test_python_blocks_run(
    document: Path, number: int, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    module = types.ModuleType("documented_example")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    code = blocks(document, "python")[number]
    if SERVER in code:
        code = code.replace(SERVER, request.getfixturevalue("server"))
    exec(compile(code, f"{document.name}, block {number}", "exec"), vars(module))


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_requests_with_curl_are_answered(server: str) -> None:
    lines = [line for block in blocks(ROOT / "docs" / "http-api.md", "sh") for line in block.splitlines()]
    requests = [line.replace(SERVER, server) for line in lines if line.startswith("curl ")]
    answers = [subprocess.run(["sh", "-c", one], capture_output=True, check=True).stdout for one in requests]
    assert [answer[:1] for answer in answers] == [b"[", b"{"] and all(json.loads(answer) for answer in answers)


def test_the_converted_table_of_word_vectors_is_readable(files_of_a_release: Path) -> None:
    from themescope.core.text.word_vectors import load_word_vectors

    for code in blocks(ROOT / "docs" / "recurrent-weights.md", "python"):
        exec(code, {})
    table = load_word_vectors(str(files_of_a_release / "utable.safetensors"))
    assert list(table.words) == ["one", "two"]


@pytest.mark.parametrize("module", MODULES)
def test_doctests_pass(module: str) -> None:
    result = doctest.testmod(importlib.import_module(f"themescope.{module}"), optionflags=doctest.ELLIPSIS)
    assert result.attempted > 0
    assert result.failed == 0


def test_the_public_names_have_examples() -> None:
    """All but ``reproduce``, which takes minutes, and the class that ``load`` returns."""
    for name in set(themescope.__all__) - {"reproduce", "SentenceModel"}:
        assert ">>>" in (getattr(themescope, name).__doc__ or ""), name


def arguments(document: Path) -> list[list[str]]:
    """Arguments of each command ``themescope`` in the shell blocks of a document."""
    lines = [line for block in blocks(document, "sh") for line in block.splitlines()]
    words = [shlex.split(line, comments=True) for line in lines]
    after_pipe = [line[len(line) - line[::-1].index("|") :] if "|" in line else line for line in words]
    return [line[1:] for line in after_pipe if line[:1] == ["themescope"]]


def parse(arguments: list[str]) -> tuple[str, dict]:
    """Parse arguments as the command line does, without running the command; its path and its parameters."""
    command: click.Command = main
    context = click.Context(main, info_name="themescope")
    while isinstance(command, click.Group) and arguments:
        name, found, arguments = command.resolve_command(context, arguments)
        assert name is not None and found is not None
        command = found
        if isinstance(found, click.Group):
            context = click.Context(found, info_name=name, parent=context)
        else:
            context = found.make_context(name, list(arguments), parent=context)
    return context.command_path.removeprefix("themescope "), context.params


@pytest.fixture
def missing_files_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of the examples are not there; their names are accepted."""
    monkeypatch.setattr(click.Path, "convert", lambda self, value, parameter, context: Path(value))


@pytest.mark.usefixtures("missing_files_allowed")
@each_document
def test_commands_are_accepted(document: Path) -> None:
    """An abridged command in a sentence may lack arguments; its name and its options exist."""
    for line in arguments(document):
        command, parameters = parse(line)
        if command == "train":
            given = [value.split("=", 1) for option, value in pairwise(line) if option == "--set"]
            METHODS.configure(parameters["method"], dict(given))
    for text in code_words(document):
        if not text.startswith("themescope "):
            continue
        words = [word for word in shlex.split(text)[1:] if "…" not in word]
        with suppress(click.MissingParameter, click.exceptions.NoArgsIsHelpError):
            parse([word for word in words if word != "--help"])


@each_document
def test_make_targets_and_python_modules_exist(document: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    texts = [*code_words(document), *blocks(document, "sh")]
    for target in re.findall(r"^make ([a-z-]+)", "\n".join(texts), re.MULTILINE):
        assert target in targets
    for module in re.findall(r"python -m ([\w.]+)", "\n".join(texts)):
        assert importlib.util.find_spec(module), module


GUIDES = [ROOT / "docs" / "pages.md", *sorted((ROOT / "docs" / "tutorials").glob("*.md"))]


@cache
def labels() -> set[str]:
    """Every text in the code of the pages and jobs, and the titles of what is registered."""
    families = runpy.run_path(str(ROOT / "docs" / "reference_tables.py"))["FAMILIES"]
    found = {card.title for _, registry in families for card in registry}
    for path in [*(ROOT / "webapp").rglob("*.py"), *(ROOT / "jobs").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.add(node.value)
    for path in (ROOT / "webapp").rglob("assets/*.js"):
        found |= set(re.findall(r'"([^"\n]+)"', path.read_text(encoding="utf-8")))
    return found


@pytest.mark.parametrize("document", GUIDES, ids=[path.stem for path in GUIDES])
def test_labels_in_guides_are_those_of_the_pages(document: Path) -> None:
    """What stands in bold is a label that a page shows, unless it ends in a full stop: then it names a task."""
    named = [" ".join(label.split()) for label in re.findall(r"\*\*(.+?)\*\*", prose(document), re.DOTALL)]
    assert named
    assert [label for label in named if label[-1] not in ".?" and not is_shown(label)] == []


def is_shown(label: str) -> bool:
    """Whether a label is in the code; “…” stands for a part that differs, and a noun may be in the plural."""
    parts = [part.strip().removesuffix(":") for part in label.split("…")]
    return all(part in labels() or part.removesuffix("s") in labels() or f"{part} " in labels() for part in parts)


@each_document
def test_links_lead_somewhere_and_named_files_and_modules_exist(document: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(document)):
        target = (document.parent / link.partition("#")[0]).resolve()
        if not re.match(r"https?:", link) and target.parent != GENERATED:
            assert target.exists(), link
    for word in code_words(document):
        if re.fullmatch(rf"(?:{'|'.join(IMPORTABLE)}|docs)/[\w./-]*", word):
            assert (ROOT / word).exists() or word == BUILT, word
        if re.fullmatch(rf"(?:{'|'.join(IMPORTABLE)})(?:\.\w+)+", word) and not (ROOT / word).exists():
            assert resolves(word.split(".")), word


def resolves(parts: list[str]) -> bool:
    """Whether a dotted name is a module, or an attribute of one."""
    depth = len(parts)
    while depth and not is_module(parts[:depth]):
        depth -= 1
    found = importlib.import_module(".".join(parts[:depth])) if depth and depth < len(parts) else None
    for part in parts[depth:]:
        if not hasattr(found, part):
            return False
        found = getattr(found, part)
    return depth > 0


def is_module(parts: list[str]) -> bool:
    path = ROOT.joinpath(*parts)
    return path.with_suffix(".py").is_file() or path.is_dir()


def test_the_deployment_guide_has_every_setting_and_every_extra_of_users() -> None:
    text, _, extras = (ROOT / "docs" / "deploy.md").read_text("utf-8").partition("## Extras")
    found = set(re.findall(r"^\| `([A-Z_]+)` \|", text + extras, re.MULTILINE))
    assert found == SETTINGS
    found_extras = re.findall(r"^\| `([a-z0-9]+)` \|", extras, re.MULTILINE)
    assert sorted(found_extras) == sorted(PROJECT["optional-dependencies"])


def test_the_speeds_of_models_are_those_of_the_record() -> None:
    record = json.loads((ROOT / "benchmarks" / "records" / "models.json").read_text("utf-8"))
    text = (ROOT / "docs" / "speed.md").read_text("utf-8")
    assert speed_table(record["sentences_per_cpu_second"]) in text
    assert record["processor"] in text and record["date"] in text


def test_the_scores_of_models_are_those_of_the_record() -> None:
    record = json.loads((ROOT / "benchmarks" / "records" / "model-scores.json").read_text("utf-8"))["models"]
    text = (ROOT / "docs" / "models.md").read_text("utf-8")
    columns = ("articles", "triplets", "titles", "papers", "bills", "claims")
    for name, scores in record.items():
        cells = [re.sub(r"\b0\.", ".", "{:.3f} [{:.3f}, {:.3f}]".format(*scores[c])) for c in columns[:-1]]
        assert f"| {name} | {' | '.join(cells)} | {scores['claims'][0]:.3f} |".replace("| 0.", "| .") in text
    assert text.count("\n| ") == len(record) + 1
