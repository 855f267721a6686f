"""Lists of labelled texts of public repositories, by the sources in a record of `benchmarks.list_themes`.

A source names a kind, a language, and the repository, commit and files (a regular expression) of the texts: the columns
of text and code in a table, or a regular expression with the groups ``text`` and ``code``, or ``head`` for the code of
all texts up to the next one. A code can also be a group of the names of files.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import subprocess
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

CODES, FEWEST, LONGEST = 20, 8, 1_000


def found(source: dict[str, Any], clones: Path) -> Iterator[tuple[str, str]]:
    """Yield the texts of a source with their codes."""
    git = ["git", "-C", str(clones / source["repository"].rpartition("/")[2])]
    listed = subprocess.run([*git, "ls-tree", "-rz", "--name-only", source["commit"]], capture_output=True, check=True)
    for name in listed.stdout.decode().split("\0"):
        if not (place := re.fullmatch(source["path"], name)):
            continue
        content = subprocess.run([*git, "show", f"{source['commit']}:{name}"], capture_output=True, check=True).stdout
        if name.endswith("zip"):
            content = zipfile.ZipFile(io.BytesIO(content)).read(source["member"])
        content = gzip.decompress(content) if name.endswith("gz") else content
        text = content.decode(source.get("encoding", "utf-8-sig"), "replace").replace("\r\n", "\n")
        code = place.groupdict().get("code", "")
        if pattern := source.get("pattern"):
            for groups in (match.groupdict() for match in re.finditer(pattern, text, re.M | re.S)):
                code = groups.get("head") or code
                yield groups["text"] or "", groups.get("code") or code
        else:
            columns = source["columns"].split("\t") if "columns" in source else None
            for row in csv.DictReader(io.StringIO(text), columns, delimiter=source.get("delimiter", ",")):
                yield row[source["text"]] or "", row[source["code"]] or ""


def public_lists(sources: Sequence[dict[str, Any]], clones: Path) -> Iterator[list[Any]]:
    """Yield kind, texts in random order, codes, language and name of each source, and note its sizes.

    Taken are different texts with one code, cut, of some random codes that have enough texts. The folder has clones
    named like the repositories.
    """
    for source in sources:
        codes, of_code = dict[str, set[str]](), dict[str, list[str]]()
        for text, code in found(source, clones):
            codes.setdefault(" ".join(text.split())[:LONGEST], set()).add(code.strip())
        for text, own in sorted(codes.items()):
            if text and len(own) == 1 and all(own):
                of_code.setdefault(min(own), []).append(text)
        random = np.random.default_rng(0)
        usual = random.permutation([code for code in sorted(of_code) if len(of_code[code]) >= FEWEST])[:CODES].tolist()
        pairs = [(text, code) for code in usual for text in of_code[code]]
        mixed = [pairs[i] for i in random.permutation(len(pairs))]
        source.update(texts=len(mixed), codes=len(usual))
        yield [source["kind"], *([pair[part] for pair in mixed] for part in (0, 1)), source["language"], source["name"]]
