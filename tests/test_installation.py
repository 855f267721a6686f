"""Each extra, and what ``make run`` installs, has what it claims; the other tests run where all is installed."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests import environments
from tests.environments import PROJECT, extras_of_make_run
from tests.installation import clean_environment
from tests.places import ROOT

EXTRAS = sorted(PROJECT["optional-dependencies"])

IMPORTS = """
import importlib, sys
from pathlib import Path
from themescope.core.errors import MissingExtraError

root, packages = Path(sys.argv[1]), sys.argv[2].split(",")
installed, others = set(sys.argv[3].split(",")), set(sys.argv[4].split(","))
wrong, found = [], 0
for path in sorted(one for package in packages for one in (root / package).rglob("*.py")):
    parts = path.relative_to(root).with_suffix("").parts
    # Alembic runs these itself; Streamlit runs the page scripts, which draw when they are imported.
    if "migrations" in parts or parts[-1] in ("__main__", "page") or parts == ("webapp", "app"):
        continue
    name = ".".join(("themescope", *parts)).removesuffix(".__init__")
    try:
        importlib.import_module(name)
        found += 1
    except MissingExtraError as error:
        if set(error.extra.split(",")) <= installed:
            wrong.append(f"{name}: {error}")
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in others:
            wrong.append(f"{name}: {error}")
assert not wrong, "\\n".join(wrong)
assert found > 100, found
assert not {"core", "db", "jobs", "webapp"} & set(sys.modules)
"""

PAGES = """
import streamlit as st
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.webapp.features import REGISTRY

Store(Settings.from_environment()).migrate()
st.config.set_option("server.address", "127.0.0.1")
for id in REGISTRY.ids():
    page = AppTest.from_file(str(Path(sys.argv[1]) / "webapp" / "app.py"), default_timeout=300)
    if id != "home":
        page._page_hash = calc_hash(id)
    page.run()
    assert not page.exception, (id, page.exception)
    assert len(page.main) > 0, id
"""

LIBRARY = """
import inspect, pydoc
import themescope

assert not {"torch", "numpy", "scipy"} & set(sys.modules)
from themescope import *
assert hasattr(themescope, "show") and len(inspect.getmembers(themescope)) > 10 and themescope.__version__ > "0.2"
assert "find_themes" in pydoc.render_doc(themescope)
found = themescope.find_themes(["The cat sleeps.", "A dog barks.", "Shares fell.", "The bank lends."] * 3)
assert len(found.labels) == 12
labels = themescope.SentenceClusterer(themescope.load("default"), k=2).fit_predict(["Rain.", "Snow.", "A bank."])
assert len(labels) == 3
try:
    show(found)
except ImportError as error:
    assert "themescope[app,notebook]" in str(error), error

from pathlib import Path
from tests.core.readers.samples import sample
from themescope.core.errors import MissingExtraError
from themescope.core.types import SILENT
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


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment without extras."""
    return environments.make(tmp_path_factory.mktemp("library"))


def test_users_see_the_types(library: Path, tmp_path: Path) -> None:
    (tmp_path / "use.py").write_text(
        "import themescope\nreveal_type(themescope.find_themes(['A cat.']).level(0))\n"
        "reveal_type(themescope.load())\nthemescope.encode(1)\n"
    )
    # Types of the packages that ours uses take minutes and are not asked about.
    (tmp_path / "mypy.ini").write_text("[mypy]\nfollow_imports = skip\n[mypy-themescope.*]\nfollow_imports = silent\n")
    command = [sys.executable, "-m", "mypy", "--python-executable", library, "use.py"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=clean_environment()).stdout
    assert 'Revealed type is "themescope.core.themes.Themes"' in said
    assert 'Revealed type is "themescope.core.sentence_model.SentenceModel"' in said
    assert 'error: Argument 1 to "encode" has incompatible type "int"' in said


def done(interpreter: Path, code: str, *arguments: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    return environments.run(interpreter, "-c", f"import sys\n{code}", *arguments, folder=folder)


def test_there_are_few_dependencies_and_extras_and_the_tools_of_a_checkout_are_groups() -> None:
    assert len(PROJECT["dependencies"]) <= 15
    assert len(EXTRAS) <= 10 and not {"bench", "docs", "test"} & {*EXTRAS}


def test_the_library_of_the_readme_runs_with_the_extras_that_it_names(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text("utf-8").partition("## Python library")[2]
    named = re.search(r"pip install 'themescope\[([\w,]+)\]'", text)
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert named and code
    interpreter = environments.make(tmp_path / "environment", named[1].split(","))
    said = done(interpreter, code[1] + "assert vectors.shape == (4, 384), vectors.shape", folder=tmp_path)
    assert said.returncode == 0, said.stderr


def test_an_environment_has_what_its_extras_install_and_no_more(library: Path, tmp_path: Path) -> None:
    packages = ("streamlit", "sqlalchemy", "fastapi", "click", "httpx", "pypdfium2", "pytest", "numpy", "torch", "umap")
    found = f"from importlib.util import find_spec\nprint(*filter(find_spec, {packages}))"
    assert done(library, found, folder=tmp_path).stdout.split() == ["numpy", "torch", "umap"]


def test_the_library_works_without_extras(library: Path, tmp_path: Path) -> None:
    said = done(library, LIBRARY, folder=tmp_path)
    assert said.returncode == 0, said.stderr
    asked = ast.literal_eval(said.stdout)
    assert set(asked.values()) == {"app"}
    assert {"client", "markdown", "pdf"} <= set(asked) and "plain" not in asked and "table" not in asked


@pytest.mark.parametrize("start", ["main", "command"])
def test_the_commands_say_what_to_install(start: str, library: Path, tmp_path: Path) -> None:
    said = done(library, f"from themescope import __main__\n__main__.{start}()", folder=tmp_path)
    assert (said.returncode, said.stdout) == (1, "")
    assert "pip install 'themescope[app]'" in said.stderr and said.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "extras",
    [extras_of_make_run(), *(pytest.param((extra,), marks=pytest.mark.slow) for extra in EXTRAS)],
    ids=",".join,
)
def test_every_module_can_be_imported_or_says_what_to_install(extras: tuple[str, ...], tmp_path: Path) -> None:
    interpreter = environments.make(tmp_path / "environment", extras)
    _claims_hold(interpreter, extras, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("extra", ["", *EXTRAS])
def test_an_extra_installed_alone_by_pip(extra: str, tmp_path: Path) -> None:
    interpreter = tmp_path / "environment" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "environment"], check=True)
    project = f"{ROOT}[{extra}]" if extra else str(ROOT)
    pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile")
    said = environments.run(interpreter, *pip, "-c", ROOT / "constraints-cpu.txt", "-e", project, folder=tmp_path)
    assert said.returncode == 0, said.stderr
    _claims_hold(interpreter, (extra,) if extra else (), tmp_path)


def _claims_hold(interpreter: Path, extras: tuple[str, ...], folder: Path) -> None:
    """Import every module of the library, and with the application all modules, and open the pages."""
    application = "sqlalchemy" in environments.required(extras)
    packages = "core,db,jobs,webapp" if application else "core"
    # The server for MCP and the executor on Ray are imported by the command that needs them, which asks for the extra.
    declared = {Requirement(line).name.lower() for extra in EXTRAS for line in PROJECT["optional-dependencies"][extra]}
    others = sorted(declared - environments.required(extras))
    code = IMPORTS + PAGES if application else IMPORTS
    said = done(interpreter, code, ROOT, packages, ",".join(extras), ",".join(others), folder=folder)
    assert said.returncode == 0, said.stderr
