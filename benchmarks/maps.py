"""Measure the size of the data of maps, and selections in them.

    python -m benchmarks.maps [--sentences 1000000]

Points are synthetic, so that any size can be measured. For page load times, see ``benchmarks.every_page``.
Streamlit warns that it does not run, which changes nothing here.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from themescope.webapp.map_view.component import Canvas, points_data, view_data
from themescope.webapp.map_view.labels import levels_of
from themescope.webapp.map_view.scene import SHAPE, UNITS, Colouring, MapPart, MapState, Scene, frame_of, units_of
from themescope.webapp.shared.figures import tones

T = TypeVar("T")


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Return the milliseconds of the fastest of three calls, and the result."""
    best, result = float("inf"), None
    for _ in range(3):
        start = time.perf_counter()
        result = work()
        best = min(best, 1e3 * (time.perf_counter() - start))
    assert result is not None
    return best, result


def canvas_of(n: int) -> Canvas:
    """Return a map of ``n`` random points in 18 colours."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(n, 2)).astype(np.float32)
    ids = np.arange(n, dtype=np.int64)
    scene = Scene(ids, points, units_of(points), ids // 50, ids % 50, np.zeros(n, np.int32), [""], {})
    colouring = Colouring(rng.integers(-1, 18, size=n), [f"colour {i}" for i in range(18)], "other")
    return Canvas(
        scene=scene, colouring=colouring, units=scene.units, found=np.arange(50), tones=tones("light"),
        size=3, opacity=0.8, height=400, name="x", frame=frame_of(scene.units),
    )  # fmt: skip


def browser(n: int) -> None:
    """Print the size of the data of a map of ``n`` points, and the server time of a lasso around its centre."""
    canvas = canvas_of(n)
    angles = np.linspace(0, 2 * np.pi, 30, endpoint=False)
    shape = np.rint(UNITS * (0.5 + 0.15 * np.stack([np.cos(angles), np.sin(angles)], axis=1)))
    start = time.perf_counter()
    levels = levels_of(canvas.units)
    levels_ms = 1e3 * (time.perf_counter() - start)
    data_ms, data = timed(lambda: points_data(canvas))
    part = MapPart(SHAPE, tuple(shape.ravel().astype(int).tolist()))
    selection_ms, rows = timed(lambda: part.rows(canvas.units, canvas.colouring.categories, []))
    state = MapState(parts=[part], ids=canvas.scene.ids[rows])
    view_ms, view = timed(lambda: view_data(canvas, state))
    megabytes, kilobytes = len(json.dumps(data)) / 1e6, len(json.dumps(view)) / 1e3
    print(
        f"{n:>9,} points in {len(levels.tiles):,} tiles ({levels_ms:.0f} ms)  first {megabytes:5.2f} MB in "
        f"{data_ms:4.0f} ms   lasso of {len(rows):,}: "
        f"{selection_ms:.0f} ms, reply {kilobytes:.0f} kB in {view_ms:.0f} ms"
    )


def main() -> None:
    """Print all measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=1_000_000, help="points of the largest map")
    args = parser.parse_args()
    for n in sorted({min(100_000, args.sentences), args.sentences}):
        browser(n)


if __name__ == "__main__":
    main()
