"""Sphinx extension of the documentation site: pages that are generated from the code, and formulas as MathML."""

from __future__ import annotations

import importlib
import inspect
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import reference_tables
from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

PACKAGE = "themescope"
ROOT = Path(__file__).resolve().parents[1]
GENERATED = ROOT / "docs" / "generated"
OUTSIDE = {"README.md": "settings.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Document outside of ``docs`` → page that has its content; of the README, only the settings are linked to."""
MODULES = (
    "types", "registry", "config", "errors", "sentence_model", "text.sentence_lists", "tasks.themes",
    "tasks.waves",
)  # fmt: skip
"""Modules of ``core`` whose names appear in the interface of the library and of plug-ins."""


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the parts of the extension."""
    app.connect("builder-inited", _generate)
    app.connect("source-read", _link_generated_pages)
    app.connect("missing-reference", _without_page)
    app.connect("autodoc-skip-member", _skipped)
    app.add_html_math_renderer("mathml", (_inline_formula, None), (_block_formula, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


# References to Python names


def _without_page(app: Sphinx, env: Any, node: nodes.Element, content: nodes.Element) -> nodes.Element | None:
    """Show a name without a link if it has no page but exists; None, hence a warning, if it does not."""
    if node.get("refdomain") != "py":
        return None
    target = str(node["reftarget"])
    ours = target.split(".")[0] == PACKAGE and "." in target
    return content if not ours or _exists(target) else None


def _exists(name: str) -> bool:
    parts = name.split(".")
    for depth in range(len(parts), 0, -1):
        with suppress(ImportError):
            found: Any = importlib.import_module(".".join(parts[:depth]))
            return all((found := getattr(found, part, None)) is not None for part in parts[depth:])
    return False


def _skipped(app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Skip the methods that scikit-learn adds to estimators, which are described in its own documentation."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


# Formulas


def _inline_formula(translator: Any, node: nodes.Element) -> None:
    translator.body.append(_mathml(node, "inline"))
    raise nodes.SkipNode


def _block_formula(translator: Any, node: nodes.Element) -> None:
    translator.body.append(f'<div class="formula">{_mathml(node, "block")}</div>')
    raise nodes.SkipNode


def _mathml(node: nodes.Element, display: str) -> str:
    """Return a formula as MathML; warn of one that cannot be converted whole."""
    found: str = ""
    try:
        found = convert(node.astext(), display=display)
    except Exception as error:
        logger.warning("This formula cannot be converted (%r): %s", error, node.astext(), location=node)
    if "\\" in found:
        logger.warning("A command of this formula is unknown: %s", node.astext(), location=node)
    return found


# Generated pages


def _generate(app: Sphinx) -> None:
    GENERATED.mkdir(exist_ok=True)
    pages = {
        "reference.md": reference_tables.document(),
        "library.md": library_page(),
        "commands.md": commands_page(),
        "settings.md": settings_page(),
        "formats.md": formats_page(),
        "http-api.md": api_page(),
        "contributing.md": _included("CONTRIBUTING.md"),
        "changelog.md": _included("CHANGELOG.md"),
    }
    for name, text in pages.items():
        path = GENERATED / name
        # An unchanged file keeps its time, so that Sphinx does not read it again.
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            unfinished = path.with_suffix(f".{os.getpid()}")
            unfinished.write_text(text, encoding="utf-8")
            unfinished.replace(path)


def _link_generated_pages(app: Sphinx, name: str, source: list[str]) -> None:
    """Let links to documents outside of ``docs`` lead to the pages that are made of them."""
    for file, page in OUTSIDE.items():
        source[0] = re.sub(rf"\]\(\.\./{re.escape(file)}(?:#[\w-]+)?\)", f"](generated/{page})", source[0])


def _included(name: str) -> str:
    return f"```{{include}} ../../{name}\n:relative-docs: docs/\n```\n"


def settings_page() -> str:
    """Return the table of settings, from the documentation of :mod:`themescope.db.settings`."""
    from themescope.db import settings

    rows: list[tuple[str, str]] = []
    for line in (settings.__doc__ or "").splitlines():
        if found := re.match(r"``(\w+)``\s+(.*)", line):
            rows.append((found[1], found[2]))
        elif rows and line.startswith("   "):
            rows[-1] = (rows[-1][0], f"{rows[-1][1]} {line.strip()}")
    table = [f"| `{name}` | {_cell(meaning)} |" for name, meaning in rows]
    head = "Settings are environment variables of the web server, of workers and of commands."
    return "\n".join(["# Settings", "", head, "", "| variable | meaning |", "|---|---|", *table, ""])


def library_page() -> str:
    """Return the interface of the library: its public names, and the modules that they and plug-ins refer to."""
    import themescope

    lines = [
        "# Python library",
        "",
        "The public names of `themescope`, and the modules that their arguments come from.",
        "",
    ]
    for name in themescope.__all__:
        kind = "class" if inspect.isclass(getattr(themescope, name)) else "function"
        members = "\n:members:\n:inherited-members: object" if kind == "class" else ""
        if name in ("SentenceClusterer", "SentenceVectorizer"):
            members = "\n:members:"  # what scikit-learn adds is documented there
        lines += [f"## {name}", "", f"```{{eval-rst}}\n.. auto{kind}:: themescope.{name}{_indented(members)}\n```", ""]
    for module in MODULES:
        options = _indented("\n:members:\n:undoc-members:")
        lines += [
            f"## themescope.core.{module}",
            "",
            f"```{{eval-rst}}\n.. automodule:: themescope.core.{module}{options}\n```",
            "",
        ]
    return "\n".join(lines)


def _indented(text: str) -> str:
    return text.replace("\n", "\n   ")


def formats_page() -> str:
    """Return the formats of files that readers recognise, each with a tiny file."""
    from themescope.core.readers import REGISTRY

    head = (
        "Formats that imports recognise from the content of a file, each with a tiny file. "
        "[Files](../sharing.md#files) "
        "lists the files that are exported and exchanged, and [readers](reference.md#readers) the settings."
    )
    lines = ["# File formats", "", head, ""]
    for card in REGISTRY:
        suffixes = ", ".join(f"`.{suffix}`" for suffix in card.suffixes)
        lines += [f"## {_literal(card.title)}", "", _literal(card.summary), "", f"Suffixes: {suffixes}.", ""]
        if "binary" not in card.tags:
            module, _, name = card.sample.partition(":")
            sample = getattr(importlib.import_module(module), name)
            text = sample.decode("latin-1" if "latin-1" in card.tags else "utf-8").strip()
            lines += ["````text", text, "````", ""]
    return "\n".join(lines)


def api_page() -> str:
    """Return the operations and records of the HTTP API, from its OpenAPI document."""
    from themescope.jobs.api.application import TAGS, description

    document = description()
    about = document["info"]
    head = (
        f"Version {about['version']}, under `{document['servers'][0]['url']}`. {about['description']} "
        "[Use the HTTP API](../http-api.md) says how to begin. The OpenAPI document is at `/api/v1/openapi.json`."
    )
    lines = ["# HTTP API", "", head, ""]
    for tag, meaning in TAGS.items():
        lines += [f"## {tag.capitalize()}", "", meaning, ""]
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                if operation["tags"][-1] == tag:
                    lines += _operation(f"{method.upper()} {path}", operation)
    lines += ["## Records", ""]
    for name, schema in sorted(document["components"]["schemas"].items()):
        if "properties" in schema:
            lines += [f"### {_record(name)}", "", _literal(schema.get("description", "")), ""]
            lines += _fields(schema["properties"], schema.get("required", []))
    return "\n".join(lines)


def _operation(name: str, operation: dict[str, Any]) -> Iterator[str]:
    """Yield an operation with its parameters, its body and its answer."""
    yield from (f"### {operation['summary']}", "", f"    {name}", "", _literal(operation["description"]), "")
    parameters = {one["name"]: one["schema"] for one in operation.get("parameters", ())}
    required = [one["name"] for one in operation.get("parameters", ()) if one["required"]]
    yield from _fields(parameters, required) if parameters else ()
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if body:
        yield from (f"Body: {_type(body['schema'])}.", "")
    success = next(one for status, one in operation["responses"].items() if status.startswith("2"))
    answers = [_type(one["schema"]) for kind, one in success.get("content", {}).items() if kind == "application/json"]
    yield from (f"Answer: {answers[0] if answers else 'a file' if 'content' in success else 'none'}.", "")


def _fields(fields: dict[str, Any], required: list[str]) -> Iterator[str]:
    yield from ("| name | type | meaning |", "|---|---|---|")
    for name, schema in fields.items():
        default = "" if name in required or schema.get("default") in (None, "") else f" Default: `{schema['default']}`."
        meaning = _literal(schema.get("description", "")) + default
        yield f"| `{name}` | {_cell(_type(schema))} | {_cell(meaning)} |"
    yield ""


def _type(schema: dict[str, Any]) -> str:
    """Return the type of a JSON schema in words, with links to records."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        if (choices := _enumeration(name)) is not None:
            return " or ".join(f"`{choice}`" for choice in choices)
        return f"[{_record(name)}](#{_record(name).lower().replace(' ', '-')})"
    if "anyOf" in schema:
        return " or ".join(_type(part) for part in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'])}"
    bounds = [f"{sign} {schema[key]:,}" for key, sign in (("minimum", "≥"), ("maximum", "≤")) if key in schema]
    shown = [bound for bound in bounds if f"{2**63 - 1:,}" not in bound]
    kind = {"string": "text", "object": "object", None: "any"}.get(schema.get("type"), schema.get("type"))
    return ", ".join([schema.get("format", kind) or kind, *shown])


def _enumeration(name: str) -> list[str] | None:
    """Return the values of a schema that is an enumeration."""
    from themescope.jobs.api.application import description

    found: list[str] | None = description()["components"]["schemas"][name].get("enum")
    return found


def _record(name: str) -> str:
    """Return the name of a schema in words: ``Page_Article_`` → "Page of Article"."""
    return re.sub(r"^Page_(\w+)_$", r"Page of \1", name)


def commands_page() -> str:
    """Return the commands of ``themescope`` with their arguments and options."""
    from themescope.jobs.cli.main import main

    context = click.Context(main, info_name="themescope")
    head = "Each command prints its options with `--help`, and JSON with `--json` where it has results."
    return "\n".join(["# Commands", "", head, "", *_commands(main, context)])


def _commands(group: click.Group, context: click.Context) -> Iterator[str]:
    for name in sorted(group.list_commands(context)):
        command = group.resolve_command(context, [name])[1]
        if command is None or command.hidden:
            continue
        own = click.Context(command, info_name=name, parent=context)
        yield from _command(command, own)
        if isinstance(command, click.Group):
            yield from _commands(command, own)


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    yield from (f"## {context.command_path}", "", f"    {usage}", "")
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(command.help or "")):
        yield from (" ".join(_literal(paragraph.replace("\b", "")).split()), "")
    options = [option for option in command.params if isinstance(option, click.Option) and not option.hidden]
    rows = [record for option in options if (record := option.get_help_record(context))]
    if rows:
        yield from ("| option | meaning |", "|---|---|")
        yield from (f"| `{_cell(names)}` | {_cell(_literal(help))} |" for names, help in rows)
        yield ""


def _literal(text: str) -> str:
    """Return a help text as Markdown: what would be markup stands in it as written."""
    return re.sub(r"([\\*_<>\[\]])", r"\\\1", text)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").replace("``", "`").split())
