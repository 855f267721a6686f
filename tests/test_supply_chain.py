"""The locked requirements are those of ``pyproject.toml``, have hashes, and two builds of the sources are equal."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.places import PACKAGES, ROOT

LOCKS = ("all", "cpu", "build", "tools")
PYTHONS = ("3.11", "3.12", "3.13")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
DEPENDENCIES, EXTRAS = PROJECT["project"]["dependencies"], PROJECT["project"]["optional-dependencies"]
NOT_LOCKED = {"notebook"}
CUDA = [line for line in (ROOT / "requirements" / "cuda.in").read_text("utf-8").splitlines() if line[0] != "#"]


class Locked(NamedTuple):
    """A line of a lock file with its hashes."""

    name: str
    version: Version
    marker: Marker | None
    hashes: tuple[str, ...]


@cache
def locked(name: str) -> tuple[Locked, ...]:
    text = (ROOT / "requirements" / f"{name}.txt").read_text("utf-8")
    found = []
    for entry in re.split(r"\n(?=\w)", re.sub(r"\A(#.*\n)+", "", text)):
        requirement = Requirement(entry.split("\\")[0])
        (version,) = requirement.specifier
        assert version.operator == "==", entry
        hashes = tuple(re.findall(r"--hash=sha256:([0-9a-f]{64})\b", entry))
        found.append(Locked(requirement.name, Version(version.version), requirement.marker, hashes))
    return tuple(found)


def on(name: str, python: str) -> dict[str, Version]:
    """The versions that a lock file has for Linux and a version of Python."""
    place = {"python_version": python, "python_full_version": f"{python}.4", "implementation_name": "cpython"}
    place |= {"platform_python_implementation": "CPython", "sys_platform": "linux", "platform_machine": "x86_64"}
    return {entry.name: entry.version for entry in locked(name) if not entry.marker or entry.marker.evaluate(place)}


def required(extras: set[str]) -> list[Requirement]:
    """The requirements of the project and of some of its extras, which may name each other."""
    lines = DEPENDENCIES + [line for extra in sorted(extras) for line in EXTRAS[extra]]
    return [found for line in lines if (found := Requirement(line)).name != "themescope"]


@pytest.mark.parametrize("name", LOCKS)
def test_every_requirement_has_a_version_and_hashes(name: str) -> None:
    assert all(entry.hashes for entry in locked(name))
    for python in PYTHONS:
        names = [entry.name for entry in locked(name)]
        assert len(on(name, python)) > 5 and {*on(name, python)} <= {*names} and names == sorted(names)


@pytest.mark.parametrize("python", PYTHONS)
def test_the_locked_versions_are_those_of_the_project_and_of_the_pins(python: str) -> None:
    versions = on("all", python)
    for requirement in required(set(EXTRAS) - NOT_LOCKED):
        assert requirement.specifier.contains(versions[canonicalize_name(requirement.name)]), requirement
    pins = re.findall(r"^([\w-]+)==(\S+)$", (ROOT / "constraints-cpu.txt").read_text("utf-8"), re.MULTILINE)
    assert {name: versions[name] for name, _ in pins if name in versions} == {
        name: Version(version) for name, version in pins if name in versions
    }
    assert [canonicalize_name(Requirement(line).name) for line in PROJECT["build-system"]["requires"]] == ["hatchling"]
    assert "hatchling" in on("build", python)


@pytest.mark.parametrize("python", PYTHONS)
def test_without_gpus_only_torch_and_cuda_are_left_out(python: str) -> None:
    everything, cpu = on("all", python), on("cpu", python)
    left_out = {*everything} - {*cpu}
    assert {"torch", *CUDA} <= left_out
    assert all(re.match("torch|triton|cuda-|nvidia-", name) for name in left_out), left_out
    assert cpu.items() <= everything.items()
    for requirement in required(set(EXTRAS) - NOT_LOCKED):
        assert requirement.name == "torch" or canonicalize_name(requirement.name) in cpu, requirement


def test_the_locked_versions_have_the_fixes_of_the_advisories_that_were_read() -> None:
    fixed = tomllib.loads((ROOT / "requirements" / "advisories.toml").read_text("utf-8"))["fixed"]
    versions = on("all", "3.11")
    for name, advisories in fixed.items():
        assert all(versions[name] >= Version(version) for version in advisories), name


def build(source: Path, out: Path, *options: str) -> dict[str, str]:
    """Build wheel and sdist of a folder; return file name → SHA-256."""
    variables = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(out), *options]
    subprocess.run(command, cwd=source, env=variables, check=True, capture_output=True)
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(out.iterdir())}


def test_two_builds_are_equal_and_the_wheel_of_the_sdist_is_the_same(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="pip install 'themescope[test]'")
    first = tmp_path / "first"
    hidden = shutil.ignore_patterns("__pycache__", "*.py[cod]", "data", ".*cache", "node_modules")
    for folder in ("themescope", *PACKAGES, "tests", "requirements"):
        shutil.copytree(ROOT / folder, first / folder, ignore=hidden)
    for file in ROOT.iterdir():
        if file.is_file() and file.name != ".git":
            shutil.copy(file, first)
    (first / "core" / "data").mkdir()
    second = shutil.copytree(first, tmp_path / "elsewhere" / "second")
    for path in [second, *second.rglob("*")]:
        path.chmod(0o700 if path.is_dir() else 0o600)
        os.utime(path, (1_000_000_000, 1_000_000_000))
    files = build(first, tmp_path / "a")
    version = PROJECT["project"]["version"]
    assert [*files] == [f"themescope-{version}-py3-none-any.whl", f"themescope-{version}.tar.gz"]
    assert build(second, tmp_path / "b") == files
    wheel, sdist = sorted((tmp_path / "a").iterdir())
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    assert build(unpacked, tmp_path / "c", "-t", "wheel") == {wheel.name: files[wheel.name]}
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        tops = {name.partition("/")[0] for name in names}
    assert {"themescope/py.typed", *(f"themescope/{package}/__init__.py" for package in PACKAGES)} < {*names}
    assert len({name.lower() for name in names}) == len(names)  # Windows and macOS ignore case
    assert not [name for name in names if set(name) & set('\\:*?"<>|')]
    assert tops == {"themescope", f"themescope-{version}.dist-info"}
