import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from tests.core.estimates.studies import Study
from themescope.core.errors import DataError
from themescope.core.estimates.report import REFERENCES, estimates, paragraphs, replication_files
from themescope.core.estimates.shares import CodedUnits, ShareEstimate, composition, difference
from themescope.core.labelling.markup import latex_text, markdown

UNITS = Study(0.2, documents=150, per_document=20, correlation=0.1, unequal=True).draw(np.random.default_rng(1))
OPEN = np.isnan(UNITS.labels) & (np.arange(3000) % 50 == 0) | ~np.isnan(UNITS.labels)
GROUPS = np.array(["Party “Ä”, left", "Green\nparty", ""])[np.minimum(np.arange(3000) // 1400, 2)].tolist()
GROUPS[-30:] = ["tiny"] * 30


def printed(found: Sequence[ShareEstimate]) -> str:
    lines = ["group\testimate\tshare\tlow\thigh"]
    for one in found:
        for name in ("people", "machine", "corrected", "least", "most"):
            if (value := getattr(one, name)) is not None:
                numbers = "\t".join(f"{100 * x:.4f}" for x in (value.value, value.low, value.high))
                lines.append(f"{one.name or 'all units'}\t{name}\t{numbers}")
    return "\n".join(lines) + "\n"


def replicated(units: CodedUnits, groups: Sequence[str]) -> list[ShareEstimate]:
    of = np.array(groups, dtype=str)
    names = sorted({*groups} - {""})
    parts = [composition(units, of == name, f"of the code, {name}") for name in names]
    pairs = [difference(units, of == one, of == other, f"{one} – {other}") for one, other in combinations(names, 2)]
    return [*estimates(units, groups), *parts, *pairs]


@pytest.mark.parametrize("case", ["machine", "people", "not at random", "open", "open people"])
def test_replication_in_a_fresh_interpreter_gives_the_same_digits(tmp_path: Path, case: str) -> None:
    units = {
        "machine": UNITS,
        "people": CodedUnits(UNITS.labels, None, UNITS.probabilities, UNITS.documents),
        "not at random": CodedUnits(UNITS.labels, UNITS.codes, None),
        "open": replace(UNITS, given=OPEN),
        "open people": replace(UNITS, given=OPEN, codes=None),
    }[case]
    groups = [group.replace("\n", " ") for group in GROUPS]
    for name, text in replication_files(units, groups).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-I", "-X", "utf8", str(tmp_path / "replicate.py")]
    run = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True, cwd=tmp_path)
    assert run.stdout == printed(replicated(units, groups))
    assert ("\tleast\t" in run.stdout) == case.startswith("open")


def test_the_script_needs_numpy_alone_and_says_so() -> None:
    script = replication_files(UNITS, GROUPS)["replicate.py"]
    imported = {
        line.split()[1].split(".")[0] for line in script.splitlines() if line.strip().startswith(("import ", "from "))
    }
    assert imported - sys.stdlib_module_names == {"numpy"}
    assert "pip install numpy" in script[:300]


def test_a_group_with_the_name_of_the_line_of_all_units() -> None:
    with pytest.raises(DataError, match="Rename the group"):
        replication_files(UNITS, ["all units"] * 3000)


def test_notes_are_comments_of_the_script_whatever_is_in_them() -> None:
    script = replication_files(UNITS, GROUPS, notes=["Holds for “a\nraise SystemExit”\x0c\x85\u2028."])["replicate.py"]
    assert "# Holds for “a raise SystemExit” .\n" in script and "\nraise SystemExit”" not in script


def test_methods_paragraph() -> None:
    found = estimates(UNITS, GROUPS)
    text = markdown(paragraphs("housing", UNITS, found, "logistic regression"), REFERENCES)
    assert "3,000 units" in text and "300 units" in text and "logistic regression" in text
    assert "with probabilities from" in text and "clustered by document" in text
    one = found[0].corrected
    assert f"{100 * one.value:.1f} % (95 % interval {100 * one.low:.1f} to {100 * one.high:.1f})" in text
    assert "Angelopoulos" in text and "Egami" in text and "Too few labels to tell" in text
    assert r"\cite{egami2023}" in latex_text(paragraphs("housing", UNITS, found, "logistic regression"))
    alone = CodedUnits(UNITS.labels, None, None)
    text = markdown(paragraphs("housing", alone, estimates(alone, GROUPS), ""), REFERENCES)
    assert "not sampled at random" in text and "Angelopoulos" not in text and "clustered by unit" in text
