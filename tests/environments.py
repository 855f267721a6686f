"""Environments that have exactly what an extra installs, made in a second from the packages of this one.

An environment is a new one of ``venv`` with links to the files of the packages that the project and the chosen extras
require, directly and indirectly, and to this checkout. What another extra, or the test tools, would install is not
there. ``make slow`` installs the same extras with pip (``tests/test_installation.py``).
"""

import re
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cache
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.installation import clean_environment
from tests.places import ROOT

_DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
PROJECT = _DECLARED["project"]
EXTRAS = PROJECT["optional-dependencies"] | _DECLARED["dependency-groups"]
"""Extras, and the groups of tools for a checkout, with what they require."""


def extras_of_make_run() -> tuple[str, ...]:
    """Return the extras and the group that ``make run`` installs, as the Makefile names them."""
    made = r"^\s*@\$\(PIP\) --no-compile -e '\.\[([\w,-]+)\]' --group (\w+)$"
    found = re.search(made, (ROOT / "Makefile").read_text("utf-8"), re.M)
    assert found
    return (*found[1].split(","), found[2])


def make(folder: Path, extras: Collection[str] = ()) -> Path:
    """Make an environment in ``folder`` with the project and some of its extras; return its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    site = next(folder.glob("lib/python3*/site-packages"))
    for name in sorted(required(extras)):
        _link(_installed()[name], site)
    (site / "themescope-checkout.pth").write_text(f"{ROOT}\n", encoding="utf-8")
    return folder / "bin" / "python"


def run(interpreter: Path, *arguments: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the interpreter of an environment in ``folder``, with a data folder there and no variables of the tests."""
    command = [str(interpreter), *map(str, arguments)]
    variables = clean_environment() | {"THEMESCOPE_HOME": str(folder / "home")}
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)


def required(extras: Collection[str]) -> set[str]:
    """Return the normalised names of all packages that the project with ``extras`` requires and that are installed."""
    lines = [*PROJECT["dependencies"], *(line for extra in extras for line in EXTRAS[extra])]
    found: set[str] = set()
    seen: set[tuple[str, str]] = set()
    waiting = [Requirement(line) for line in lines]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        for extra in requirement.extras or {""}:
            if (name, extra) not in seen:
                seen.add((name, extra))
                waiting += _requirements(name, extra)
        if name in _installed():
            found.add(name)
    return found - {"themescope"}


def _requirements(name: str, extra: str) -> Iterator[Requirement]:
    """Yield what a package requires, without its extras and with one of them."""
    if name == "themescope":
        yield from map(Requirement, EXTRAS[extra])
        return
    if name not in _installed():
        return
    for requirement in map(Requirement, _installed()[name].requires or ()):
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": one}) for one in ("", extra)):
            yield requirement


def _link(distribution: Distribution, site: Path) -> None:
    """Link the files of a package; a folder as a whole, unless other packages have files in it too."""
    for top in {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}:
        source = Path(str(distribution.locate_file(top)))
        if _owners()[top] == 1:
            (site / top).symlink_to(source)
            continue
        for file in distribution.files or ():
            if file.parts[0] == top and "__pycache__" not in file.parts:
                (site / file).parent.mkdir(parents=True, exist_ok=True)
                (site / file).symlink_to(str(distribution.locate_file(file)))


@cache
def _installed() -> dict[str, Distribution]:
    return {canonicalize_name(one.metadata["Name"]): one for one in distributions()}


@cache
def _owners() -> Counter[str]:
    """Count the packages that have files in each folder at the top of site-packages."""
    return Counter(top for one in _installed().values() for top in {file.parts[0] for file in one.files or ()})
