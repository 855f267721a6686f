"""The base installation is the library: what it does without the packages of the extras."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from tests.places import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WITHOUT_EXTRAS = """
import sys
from importlib.machinery import PathFinder

class Installed(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in {missing!r} else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Installed
"""


def distributions(extra: str = "") -> set[str]:
    """Normalised names of the packages that the project, or one of its extras, requires directly."""
    lines = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]
    return {re.split(r"[^\w.-]", line, maxsplit=1)[0].lower().replace("_", "-") for line in lines} - {"themescope"}


@pytest.fixture(scope="module")
def without_extras() -> str:
    """Code after which the packages that only extras install cannot be imported."""
    extras = set().union(*map(distributions, PROJECT["optional-dependencies"])) - distributions()
    # Installed by packages of the base installation too.
    extras -= {"fsspec", "pandas", "pillow"}
    owners = packages_distributions()
    missing = {name for name, of in owners.items() if {owner.lower().replace("_", "-") for owner in of} & extras}
    assert {"streamlit", "sqlalchemy", "fastapi", "click", "openpyxl", "httpx"} <= missing
    return WITHOUT_EXTRAS.format(missing=missing)


def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own, in ``folder``."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_library_has_at_most_15_dependencies() -> None:
    assert len(PROJECT["dependencies"]) == len(distributions()) <= 15


LIBRARY = """
import themescope

assert not {"torch", "numpy", "scipy"} & set(sys.modules)
found = themescope.find_themes(["The cat sleeps.", "A dog barks.", "Shares fell.", "The bank lends."] * 3)
assert len(found.labels) == 12
labels = themescope.SentenceClusterer(themescope.load("default"), k=2).fit_predict(["Rain.", "Snow.", "A bank."])
assert len(labels) == 3

from pathlib import Path
from tests.core.readers.samples import sample
from themescope.core.errors import MissingExtraError
from themescope.core.protocols import SILENT
from themescope.core.readers import REGISTRY

asked = {}
for id in REGISTRY.ids():
    try:
        assert list(REGISTRY.build(id).read(sample(Path(), id), SILENT))
    except MissingExtraError as error:
        asked[id] = error.extra
try:
    themescope.Client("http://127.0.0.1:1")
except MissingExtraError as error:
    asked["client"] = error.extra
assert not {"streamlit", "sqlalchemy", "fastapi", "core", "db", "jobs", "webapp"} & set(sys.modules)
print(asked)
"""


def test_the_library_works_without_the_packages_of_the_extras(without_extras: str, tmp_path: Path) -> None:
    done = run(without_extras + LIBRARY, tmp_path)
    assert done.returncode == 0, done.stderr
    asked = ast.literal_eval(done.stdout)
    assert asked.pop("client") == "client" and set(asked.values()) <= {"files", "documents"}
    assert {"markdown", "pdf"} <= set(asked) and "plain" not in asked and "table" not in asked


@pytest.mark.parametrize("start", ["main", "command"])
def test_the_commands_say_what_to_install(start: str, without_extras: str, tmp_path: Path) -> None:
    done = run(f"{without_extras}\nfrom themescope import __main__\n__main__.{start}()", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert "pip install 'themescope[app]'" in done.stderr and done.stderr.count("\n") == 1
