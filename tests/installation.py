"""Install a wheel with the locked requirements into a new environment and start it.

    python -m tests.installation dist/themescope-0.1.0-py3-none-any.whl

The commands are those of the Dockerfile, in a folder outside of the sources. The web server must answer on
``/healthz`` and have the documentation, and the library must cluster sentences with the default model. With ``--sbom
PROGRAM``, the environment is not started; ``cyclonedx-py`` writes its bill of materials beside the wheel. The index for
the wheel of torch is taken from the environment variable ``TORCH_INDEX``; without it, pip uses its own settings.
"""

import argparse
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from tests.places import ROOT

_START_S = 120.0
_LIBRARY = """
import themescope
found = themescope.find_themes(["The cat sleeps.", "A dog barks.", "Shares fell.", "The bank lends."] * 3)
assert len(found.labels) == 12, found
"""


def clean_environment() -> dict[str, str]:
    """Return the variables of this process without those that show it other packages or another store."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "THEMESCOPE_"))}


def run(*command: str | Path, folder: Path) -> None:
    """Run a command in a folder; raise ``CalledProcessError`` if it fails."""
    subprocess.run([str(word) for word in command], cwd=folder, env=clean_environment(), check=True)


def install(wheel: Path, folder: Path, python: str = sys.executable) -> Path:
    """Make an environment with the locked requirements for CPUs and a wheel; return its interpreter."""
    run(python, "-m", "venv", folder / "environment", folder=folder)
    interpreter = folder / "environment" / "bin" / "python"
    pip = (interpreter, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    index = ["--extra-index-url", os.environ["TORCH_INDEX"]] if "TORCH_INDEX" in os.environ else []
    run(*pip, "--require-hashes", "--no-deps", "-r", ROOT / "requirements" / "cpu.txt", folder=folder)
    run(*pip, *index, "-c", ROOT / "constraints-cpu.txt", "torch", folder=folder)
    run(*pip, "--no-deps", wheel, folder=folder)
    run(interpreter, "-m", "pip", "check", folder=folder)
    return interpreter


def start(interpreter: Path, folder: Path) -> float:
    """Start web server and worker on an empty store, wait for an answer, stop them; return the seconds.

    The documentation site must be in the wheel.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [str(interpreter), "-m", "themescope", "--no-demo", "--port", str(port)]
    variables = {**clean_environment(), "THEMESCOPE_HOME": str(folder / "home")}
    began = time.monotonic()
    process = subprocess.Popen(command, cwd=folder, env=variables)
    try:
        while not _answers(f"http://127.0.0.1:{port}/healthz"):
            if process.poll() is not None or time.monotonic() - began > _START_S:
                raise SystemExit(f"The web server did not answer on port {port} within {_START_S:.0f} s.")
            time.sleep(0.2)
        seconds = time.monotonic() - began
        if not _answers(f"http://127.0.0.1:{port}/docs/"):
            raise SystemExit("The wheel has no documentation site.")
        return seconds
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(address, timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def write_sbom(program: Path, interpreter: Path, wheel: Path) -> Path:
    """Write the bill of materials of an environment beside its wheel."""
    out = wheel.with_name("-".join(wheel.name.split("-")[:2]) + ".cdx.json")
    options = ("--pyproject", ROOT / "pyproject.toml", "--mc-type", "application", "--output-reproducible")
    run(program, "environment", *options, "--output-file", out, interpreter, folder=wheel.parent)
    return out


def main(arguments: Sequence[str] | None = None) -> None:
    """Install, and start or describe."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--python", default=sys.executable, help="interpreter of the environment (default: this one)")
    parser.add_argument("--sbom", type=Path, help="path of cyclonedx-py")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="themescope-installation-") as name:
        folder, wheel = Path(name), options.wheel.resolve()
        began = time.monotonic()
        interpreter = install(wheel, folder, options.python)
        print(f"Installed {wheel.name} in {time.monotonic() - began:.0f} s.")  # noqa: T201
        if options.sbom:
            print(f"Wrote {write_sbom(options.sbom.absolute(), interpreter, wheel)}.")  # noqa: T201
            return
        print(f"The web server answered after {start(interpreter, folder):.1f} s.")  # noqa: T201
        run(interpreter, "-c", _LIBRARY, folder=folder)
        print("The library found themes with the default model.")  # noqa: T201


if __name__ == "__main__":
    main()
