"""Themescope is one importable package: folders and other wheels called core, db or jobs change nothing.

The wheel is installed into an environment that sees the packages of this one.
"""

import base64
import hashlib
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from tests.installation import clean_environment
from tests.places import ROOT

PACKAGES = ("core", "db", "jobs", "webapp")
USES = """
import sys
import themescope
import themescope.jobs.cli.main
import themescope.webapp.shared.pages
from themescope.core.clustering import REGISTRY
assert "kmeans" in REGISTRY and callable(themescope.find_themes)
bare = {"core", "db", "jobs", "webapp"} & set(sys.modules)
assert not bare, bare
print(themescope.core.__file__)
"""


def environment(folder: Path) -> Path:
    """Make an environment that sees the packages of this one, but no Themescope; return its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    site = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    # The name of a folder, whose own .pth files are not read: an editable Themescope is not seen.
    (Path(site) / "these.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def pip(python: Path, *arguments: str | Path) -> None:
    command = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check", "--quiet", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def run(python: Path, folder: Path, *arguments: str) -> str:
    """Run Python in a folder, as a user does; return what it prints."""
    variables = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "THEMESCOPE_"))}
    done = subprocess.run(
        [python, *arguments], cwd=folder, env=variables | {"HOME": str(folder)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def wheel_of_another(folder: Path) -> Path:
    """A wheel of somebody else that has a package ``core``."""
    files = {
        "core/__init__.py": b"WHOSE = 'somebody else'\n",
        "core/errors.py": b"",
        "other_core-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: other-core\nVersion: 1.0\n",
        "other_core-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(content)}\n"
    files["other_core-1.0.dist-info/RECORD"] = (record + "other_core-1.0.dist-info/RECORD,,\n").encode()
    path = folder / "other_core-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("hatchling", reason="pip install 'themescope[test]'")
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (path,) = out.iterdir()
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the wheel."""
    python = environment(tmp_path_factory.mktemp("wheel"))
    pip(python, "install", "--no-deps", "--no-index", wheel)
    return python


@pytest.fixture(scope="module")
def editable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with an editable installation of this checkout."""
    pytest.importorskip("hatchling", reason="pip install 'themescope[test]'")
    python = environment(tmp_path_factory.mktemp("editable"))
    pip(python, "install", "--no-deps", "--no-index", "--no-build-isolation", "-e", ROOT)
    return python


@pytest.fixture
def crowded(tmp_path: Path) -> Path:
    """A working folder with packages of the user that are called as ours were."""
    for name in PACKAGES:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("WHOSE = 'the user'\n")
    return tmp_path


def test_the_wheel_has_one_top_level_and_names_that_every_system_can_write(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.partition("/")[0] for name in names if ".dist-info/" not in name} == {"themescope"}
    assert {f"themescope/{package}/__init__.py" for package in PACKAGES} < set(names)
    assert len({name.lower() for name in names}) == len(names)  # Windows and macOS ignore case
    assert not [name for name in names if set(name) & set('\\:*?"<>|')]


@pytest.mark.parametrize("kind", ["installed", "editable"])
def test_it_works_in_a_folder_with_packages_of_the_same_names(
    kind: str, crowded: Path, request: pytest.FixtureRequest
) -> None:
    python: Path = request.getfixturevalue(kind)
    file = Path(run(python, crowded, "-c", USES).strip())
    assert file.is_relative_to(ROOT) == (kind == "editable")
    assert "Usage:" in run(python, crowded, "-m", "themescope.jobs.cli", "--help")
    assert "--no-demo" in run(python, crowded, "-m", "themescope", "--help")
    assert run(python, crowded, "-c", "import themescope.core, core; print(core.WHOSE)").strip() == "the user"


def test_users_see_the_types(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "use.py").write_text(
        "import themescope\nreveal_type(themescope.find_themes(['A cat.']).level(0))\n"
        "reveal_type(themescope.load())\nthemescope.encode(1)\n"
    )
    # Types of the packages that ours uses take minutes and are not asked about.
    (tmp_path / "mypy.ini").write_text("[mypy]\nfollow_imports = skip\n[mypy-themescope.*]\nfollow_imports = silent\n")
    command = [sys.executable, "-m", "mypy", "--python-executable", installed, "use.py"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=clean_environment())
    assert 'Revealed type is "themescope.core.themes.Themes"' in said.stdout, said.stdout + said.stderr
    assert 'Revealed type is "themescope.core.sentence_model.SentenceModel"' in said.stdout
    assert 'error: Argument 1 to "encode" has incompatible type "int"' in said.stdout


def test_another_wheel_with_a_package_core_leaves_it_whole(installed: Path, tmp_path: Path) -> None:
    pip(installed, "install", "--no-deps", "--no-index", wheel_of_another(tmp_path))
    run(installed, tmp_path, "-c", USES)
    assert run(installed, tmp_path, "-c", "import themescope.core, core; print(core.WHOSE)").strip() == "somebody else"
    pip(installed, "uninstall", "--yes", "other-core")
    run(installed, tmp_path, "-c", USES)
