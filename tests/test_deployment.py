"""The files for deployment name commands, modules, settings, ports and extras that exist, and exact versions."""

import importlib.util
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

import themescope
from tests.environments import PROJECT
from tests.homes import SETTINGS
from tests.places import ROOT
from themescope.db.settings import Settings
from themescope.jobs.cli.main import main as commands

FOLDER = ROOT / "docs" / "deploy"
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
SERVICES = COMPOSE["services"]
DOCKERFILE = re.sub(r"\\\n", "", (ROOT / "Dockerfile").read_text("utf-8"))
OTHERS = {"FORWARDED_ALLOW_IPS", "HEALTH_URL", "OMP_WAIT_POLICY", "GRPC_ENABLE_FORK_SUPPORT"}
OTHERS |= {"RAY_AUTH_MODE", "RAY_AUTH_TOKEN"}
"""Variables that uvicorn, the health check of the image, OpenMP, Ray and gRPC read."""
EXACT = r"[\w./-]+:\d+\.\d+(\.\d+)?(\.dev\d+)?(-\w+)*"
UNITS = sorted(FOLDER.glob("*.service"))
OWN = [name for name, service in SERVICES.items() if service["image"].startswith("themescope:")]


def check_command(words: list[str]) -> None:
    """Fail unless a command of ours, of Python or of Ray exists with its options."""
    program, *arguments = words
    program = program.rpartition("/")[2]
    if program == "themescope":
        assert arguments[0] in commands.commands
    elif program == "python":
        assert arguments[0] == "-m" and importlib.util.find_spec(arguments[1])
    else:
        assert program == "ray"
        scripts = pytest.importorskip("ray.scripts.scripts", reason="pip install 'themescope[ray]'")
        command = scripts.cli.commands[arguments[0]]
        known = {name for option in command.params for name in option.opts}
        assert {word for word in arguments if word.startswith("--")} <= known


def variables(text: str) -> set[str]:
    """The names of the variables that a file of shell syntax sets."""
    return set(re.findall(r"^(?:export )?([A-Z_]+)=", text, re.MULTILINE))


def test_every_image_has_an_exact_version() -> None:
    (python,) = re.findall(r"^ARG PYTHON_IMAGE=(\S+)$", DOCKERFILE, re.MULTILINE)
    assert set(re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)) == {"${PYTHON_IMAGE}"}
    for image in [python, *(service["image"] for service in SERVICES.values())]:
        assert re.fullmatch(EXACT, image), image


def test_every_file_names_the_same_version() -> None:
    version, day = re.findall(r"^## (\S+) \((\S+)\)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)[0]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert version == PROJECT["version"] == themescope.__version__ == citation["version"]
    assert day == str(citation["date-released"])
    assert SERVICES["web1"]["image"] == f"themescope:{version}"


def test_the_image_is_installed_from_the_pins_and_from_files_that_are_sent() -> None:
    installs = re.findall(r"pip install (.*?)\s*(?:&&|$)", DOCKERFILE, re.MULTILINE)
    installed = [line.rpartition(" ")[2] for line in installs]
    assert installed == ["requirements/build.txt", "requirements/cpu.txt", "torch", "/dist/*.whl"]
    assert all("--require-hashes" in line for line in installs[:2]) and "-c constraints-cpu.txt" in installs[2]
    lines = re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE)
    copied = [word for line in lines for word in line.split()[:-1]]
    sent = set(re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text("utf-8"), re.MULTILINE))
    assert set(copied) == sent
    assert all((ROOT / name).exists() for name in copied)


def test_the_image_does_not_run_as_root() -> None:
    stage = DOCKERFILE.rpartition("\nFROM ")[2]
    (user,) = re.findall(r"^USER (\d+):\d+$", stage, re.MULTILINE)
    assert int(user) > 0 and stage.index("USER") < stage.index("CMD")
    assert f"--uid {user}" in stage and "HEALTHCHECK" in stage
    check_command([part.strip('" ') for part in re.findall(r"^CMD \[(.+)\]$", stage, re.MULTILINE)[-1].split(",")])


@pytest.mark.parametrize("name", OWN)
def test_the_commands_of_services_exist_and_their_settings_are_valid(name: str) -> None:
    check_command(shlex.split(SERVICES[name]["command"]))
    environment: dict[str, str] = SERVICES[name]["environment"]
    assert set(environment) <= SETTINGS | OTHERS
    if name.startswith("ray-"):
        assert set(environment) == {"THEMESCOPE_HOME", "RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "GRPC_ENABLE_FORK_SUPPORT"}
        assert SERVICES[name]["volumes"] == ["data:/data:ro"]
        return
    given = {key: re.sub(r"\$\{(\w+):[?-][^}]*\}", "example", value) for key, value in environment.items()}
    settings = Settings.from_environment(given)
    assert settings.login == "always" and settings.home == Path("/data")
    assert {"web1", "web2"} <= set(settings.allowed_hosts)
    hosts = [settings.database_url.partition("@")[2], settings.executor_url]
    assert [re.sub(r"^\w+://", "", host).split(":")[0] for host in hosts] == ["postgres", "ray-head"]


def port_of(options: str, name: str) -> str:
    (found,) = re.findall(rf"{re.escape(name)} (\d+)", options)
    return str(found)


def test_the_ports_agree() -> None:
    web, worker, head = SERVICES["web1"], SERVICES["worker"], SERVICES["ray-head"]
    port = port_of(web["command"], "--server.port")
    assert web["expose"] == [port] and f":{port}/" in web["environment"]["HEALTH_URL"]
    assert SERVICES["caddy"]["environment"]["THEMESCOPE_WEB"] == f"web1:{port} web2:{port}"
    assert "expose" not in worker and worker["healthcheck"] == {"disable": True}
    assert set(re.findall(r"^EXPOSE (.+)$", DOCKERFILE, re.MULTILINE)) == {port}
    client, ray = port_of(head["command"], "--ray-client-server-port"), port_of(head["command"], "--port")
    assert worker["environment"]["EXECUTOR_URL"] == f"ray://ray-head:{client}"
    assert f"ray-head:{ray}" in SERVICES["ray-worker"]["command"] and set(head["expose"]) == {ray, client}


def test_only_the_proxy_is_published_and_volumes_and_dependencies_are_declared() -> None:
    assert [name for name, service in SERVICES.items() if "ports" in service] == ["caddy"]
    for service in SERVICES.values():
        named = {volume.partition(":")[0] for volume in service.get("volumes", [])}
        assert {name for name in named if not name.startswith(".")} <= set(COMPOSE["volumes"])
        assert all((ROOT / name).is_file() for name in named if name.startswith("."))
        for other in service.get("depends_on", {}):
            assert "healthcheck" in SERVICES[other] or other in OWN, other


@pytest.mark.parametrize("unit", UNITS, ids=[unit.name for unit in UNITS])
def test_the_commands_of_units_exist(unit: Path) -> None:
    (line,) = re.findall(r"^ExecStart=(.+)$", unit.read_text("utf-8"), re.MULTILINE)
    check_command(shlex.split(line))
    assert set(re.findall(r"^Environment=(\w+)=", unit.read_text("utf-8"), re.MULTILINE)) <= SETTINGS


def test_the_environment_file_is_valid() -> None:
    text = (FOLDER / "themescope.env").read_text("utf-8")
    given: dict[str, Any] = dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))
    assert set(given) <= SETTINGS | OTHERS
    assert Settings.from_environment(given).login == "always"


def test_the_script_for_slurm_is_valid() -> None:
    script = FOLDER / "ray-cluster.sbatch"
    subprocess.run(["bash", "-n", str(script)], check=True)
    text = re.sub(r"\\\n", "", script.read_text("utf-8"))
    started = re.findall(r"^ *(?:srun .*)?(ray (?:start|health-check) [^&>]+)", text, re.MULTILINE)
    assert len(started) == 3
    for line in [*started, *re.findall(r"^themescope \w+", text, re.MULTILINE)]:
        check_command(shlex.split(line))
    assert variables(text) & {"EXECUTOR_URL", "DATABASE_URL"} == {"EXECUTOR_URL"}
