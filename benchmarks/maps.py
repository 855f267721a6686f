"""Maps: what goes to the browser, how long a selection and a search take, and what landmarks cost and save.

    python benchmarks/maps.py [--sentences 1000000] [--layout 6000]

Points and vectors are made up, so that any size can be measured; all figures are of one run on one machine. How long a
page takes to stand is a matter of the browser: see the end-to-end tests.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

import benchmarks._runtime  # noqa: F401, before all of ours
from core.neighbours import cosines
from core.projection.geometry import inside
from core.projection.maps import UmapConfig, faithfulness, project
from core.protocols import SILENT
from webapp.map_view.component import Canvas, frame_of, points_data, view_data
from webapp.map_view.geometry import UNITS, Grid
from webapp.map_view.scene import Colouring, Scene
from webapp.map_view.view_state import MapState
from webapp.shared.figures import tones

T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Milliseconds of the best of three calls, and what they gave."""
    best, found = float("inf"), None
    for _ in range(3):
        start = time.perf_counter()
        found = work()
        best = min(best, 1e3 * (time.perf_counter() - start))
    assert found is not None
    return best, found


def canvas_of(n: int) -> Canvas:
    """A map of ``n`` made-up sentences in 18 colours."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(n, 2)).astype(np.float32)
    grid, ids = Grid.around(points), np.arange(n, dtype=np.int64)
    scene = Scene(ids, points, grid.units(points), ids // 50, ids % 50, np.zeros(n, np.int32), [""], {}, grid)
    colouring = Colouring(rng.integers(-1, 18, size=n), [f"colour {i}" for i in range(18)], "other")
    return Canvas(
        scene=scene, colouring=colouring, units=scene.units, found=np.arange(50), tones=tones("light"),
        paper="#ffffff", size=3, opacity=0.8, height=400, name="x", frame=frame_of(scene.units),
    )  # fmt: skip


def browser(n: int) -> None:
    """Print what a map of ``n`` points sends down, and what a lasso around the middle costs the server."""
    canvas = canvas_of(n)
    turns = np.linspace(0, 2 * np.pi, 30, endpoint=False)
    shape = np.rint(UNITS * (0.5 + 0.15 * np.stack([np.cos(turns), np.sin(turns)], axis=1)))
    making, sent = timed(lambda: points_data(canvas))
    choosing, flags = timed(lambda: inside(canvas.units, shape))
    choice = MapState(shape=shape, ids=canvas.scene.ids[flags])
    drawing, view = timed(lambda: view_data(canvas, choice))
    megabytes, kilobytes = len(json.dumps(sent)) / 1e6, len(json.dumps(view)) / 1e3
    print(
        f"{n:>9,} points  {megabytes:5.2f} MB in {making:4.0f} ms   lasso of {int(flags.sum()):,}: {choosing:.0f} ms, "
        f"then {kilobytes:.0f} kB in {drawing:.0f} ms"
    )


def search(n: int, dim: int) -> None:
    """Print how long an exact search by meaning takes over ``n`` stored vectors."""
    vectors = np.random.default_rng(0).standard_normal((n, dim), dtype=np.float32).astype(np.float16)
    spent, _ = timed(lambda: cosines(vectors[:1], vectors))
    print(f"{n:>9,} vectors of {dim}: {spent:.0f} ms for all cosines, {vectors.nbytes / 1e6:.0f} MB held")


def layout(n: int) -> None:
    """Print time and faithfulness with every sentence laid out, and with a third of them."""
    rng = np.random.default_rng(0)
    themes = rng.integers(20, size=n)
    vectors = (2 * rng.normal(size=(20, 60))[themes] + rng.normal(size=(n, 60))).astype(np.float32)
    project(vectors[:500], UmapConfig(epochs=5), 0, SILENT)  # compiled once
    for name, landmarks in (("all laid out", n), ("a third laid out", max(n // 3, 1_000))):
        start = time.process_time()
        points = project(vectors, UmapConfig(landmarks=landmarks), 0, SILENT)
        spent = time.process_time() - start
        print(f"{n:>9,} {name}: {spent:.1f} CPU s, {faithfulness(vectors, points):.1%} of 15 neighbours kept")


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=1_000_000, help="points of the largest map")
    parser.add_argument("--layout", type=int, default=6_000, help="sentences that are laid out")
    args = parser.parse_args()
    for n in sorted({min(100_000, args.sentences), args.sentences}):
        browser(n)
    for dim in (100, 600):
        search(100_000, dim)
    layout(args.layout)


if __name__ == "__main__":
    main()
