"""Run the numeric tests under several settings of the numeric libraries: ``python -m tests.numeric_settings``.

Processors differ in the last bits of floating-point results: the libraries choose other instructions, and threads add
in another order. Each setting makes the libraries choose as on another processor. The table that is printed has one
row per setting; the exit status is 1 if any test failed. Settings that this processor cannot run are listed as such.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

FOLDERS = ("tests/core", "tests/contracts")
FOUND = np.show_config(mode="dicts")["SIMD Extensions"]["found"]  # type: ignore[call-overload]
AVX512 = [name for name in FOUND if name.startswith(("AVX512", "X86_V4"))]


def threads(number: int) -> dict[str, str]:
    """Environment that gives every library ``number`` threads."""
    return {f"{library}_NUM_THREADS": str(number) for library in ("OMP", "OPENBLAS", "MKL", "NUMBA")}


def instructions(openblas: str, numpy: list[str], torch: str, onednn: str, mkl: str) -> dict[str, str]:
    """Environment that limits the instruction sets; ``numpy`` names those that NumPy must not use."""
    return {
        "OPENBLAS_CORETYPE": openblas,
        "NPY_DISABLE_CPU_FEATURES": " ".join(numpy),
        "ATEN_CPU_CAPABILITY": torch,
        "ONEDNN_MAX_CPU_ISA": onednn,
        "MKL_ENABLE_INSTRUCTIONS": mkl,
    }


SETTINGS: dict[str, dict[str, str]] = {
    "default": {},
    "sse": instructions("Nehalem", FOUND, "default", "SSE41", "SSE4_2"),
    "avx": instructions("Sandybridge", FOUND, "default", "AVX", "AVX"),
    "avx2": instructions("Haswell", AVX512, "avx2", "AVX2", "AVX2"),
    "avx512": instructions("SkylakeX", [], "avx512", "AVX512_CORE_BF16", "AVX512"),
    "numba-generic": {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""},
    "one-thread": threads(1),
    "two-threads": threads(2),
}


def available(setting: Mapping[str, str]) -> bool:
    """Whether this processor can run the instructions that the setting asks for."""
    multiply = "import numpy as np; a = np.ones((64, 64)); a @ a"
    found = subprocess.run([sys.executable, "-c", multiply], env={**os.environ, **setting}, capture_output=True)
    return found.returncode == 0


def run(setting: Mapping[str, str], arguments: Sequence[str], folder: Path) -> tuple[dict[str, float], str]:
    """Run pytest in a process of its own; return counts and seconds, and what was printed.

    A process that crashes counts as one failure.
    """
    report, start = folder / "report.xml", time.monotonic()
    options = ("-p", "no:cacheprovider", "--tb=short", f"--junitxml={report}")
    command = [sys.executable, "-m", "pytest", *options, *arguments]
    environment = {**os.environ, **setting}
    if "NUMBA_CPU_NAME" in setting:  # loops that were compiled for this processor must not be loaded
        environment["NUMBA_CACHE_DIR"] = str(folder)
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    seconds = time.monotonic() - start
    if not report.exists():
        return {"passed": 0, "failed": 1, "skipped": 0, "seconds": seconds}, done.stdout
    (suite,) = ElementTree.parse(report).getroot().iter("testsuite")
    tests, failures, errors, skipped = (int(suite.attrib[key]) for key in ("tests", "failures", "errors", "skipped"))
    failed = failures + errors
    counts = {"passed": tests - failed - skipped, "failed": failed, "skipped": skipped, "seconds": seconds}
    return counts, done.stdout


def main() -> int:
    """Run every setting in turn; print its row of the table, then the output of those that failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--setting", action="append", choices=SETTINGS, help="only this setting; may be repeated")
    parser.add_argument("pytest", nargs="*", help=f"arguments of pytest; default: {' '.join(FOLDERS)}")
    options = parser.parse_args()
    failures = []
    print("| setting | passed | failed | skipped | seconds |\n|---|---|---|---|---|", flush=True)
    for name in options.setting or SETTINGS:
        if not available(SETTINGS[name]):
            print(f"| {name} | not available on this processor | | | |", flush=True)
            continue
        with tempfile.TemporaryDirectory() as folder:
            counts, output = run(SETTINGS[name], options.pytest or FOLDERS, Path(folder))
        print(f"| {name} | {' | '.join(f'{count:.0f}' for count in counts.values())} |", flush=True)
        if counts["failed"]:
            failures.append(f"== {name}\n{output}")
    print("\n".join(failures))
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
