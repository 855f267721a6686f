"""Figures of maps for print: their size, whole names in the legend, greys, and what they escape."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.webapp.test_map_view import canvas_of, scene_of
from themescope.webapp.features.map import figure
from themescope.webapp.features.map.figure import BELOW, NO_LEGEND, RIGHT, FigureSettings
from themescope.webapp.map_view.component import Canvas
from themescope.webapp.map_view.scene import Colouring, frame_of
from themescope.webapp.shared.figures import tones

SVG = "{http://www.w3.org/2000/svg}"


def canvas(names: list[str], n: int = 60, shades: tuple[float, ...] = ()) -> Canvas:
    """Points of as many categories as there are names, and some without one."""
    points = np.random.default_rng(0).normal(size=(n, 2)).astype(np.float32)
    scene = scene_of([*range(n)], points, np.zeros(n, np.int64))
    colouring = Colouring(np.arange(n) % (len(names) + 1) - 1, names, "low confidence", shades=shades)
    drawn = canvas_of(scene, colouring.categories, len(names))
    return replace(drawn, colouring=colouring, tones=tones("dark"), frame=frame_of(scene.units))


def texts(picture: str) -> list[tuple[float, str]]:
    """The texts of a picture with their heights."""
    found = ElementTree.fromstring(picture).iter(f"{SVG}text")
    return [(float(one.get("y", "")), (one.text or "").replace("\u00a0", " ")) for one in found]


@pytest.mark.parametrize("legend", [RIGHT, BELOW])
def test_the_legend_has_whole_names(legend: str) -> None:
    names = [f"{place}. freedom of expression · human rights · blockade of Gaza" for place in range(1, 9)]
    picture = figure.svg(canvas(names), FigureSettings(legend=legend, names=False))
    told = " ".join(text for _, text in texts(picture))
    assert all(f"{name} (" in told for name in names) and "low confidence (" in told and "…" not in told
    assert 'width="180mm" height="120mm" viewBox="0 0 1800 1200"' in picture and 'fill="#ffffff"' in picture


@settings(deadline=None, max_examples=25)
@given(
    st.integers(40, 300), st.integers(40, 300), st.floats(4, 14), st.sampled_from([RIGHT, BELOW, NO_LEGEND]),
    st.integers(0, 70), st.sampled_from(["", "Sentences of a survey, by themes. " * 3]),
)  # fmt: skip
def test_texts_stay_inside(width: int, height: int, size: float, legend: str, kinds: int, caption: str) -> None:
    assume(not caption or (width > 80 and height > 80 and size < 9))  # a long caption in large type needs more room
    names = [f"{place}. theme of a survey" for place in range(kinds)]
    picture = figure.svg(canvas(names, 150), FigureSettings(width, height, size, legend, caption=caption))
    assert all(0 <= y <= 10 * height for y, _ in texts(picture))


def test_greys_and_shapes_differ() -> None:
    names = [f"theme {place}" for place in range(20)]
    picture = figure.svg(canvas(names, 400), FigureSettings(grey=True, names=False))
    colours = {*re.findall(r'(?:stroke|fill)="(#\w{6})"', picture)} - {tones("light").ink, tones("light").other}
    assert all(colour[1:3] == colour[3:5] == colour[5:7] for colour in colours)
    looks = [figure._in_grey({"other": False}, kind, 20, ordered=False) for kind in range(20)]
    assert len({(look["shape"], look["colour"]) for look in looks}) == 20


def test_ordered_categories_go_from_light_to_dark_in_grey() -> None:
    looks = [figure._in_grey({"other": False, "shape": 0}, kind, 5, ordered=True)["colour"] for kind in range(5)]
    assert looks == sorted(looks, reverse=True) and looks[-1] == "#000000"


def test_markup_and_what_xml_cannot_hold_are_text() -> None:
    names = ["<script>alert(1)</script>", "a & b", "c\x01\x1b\ufffe ]]> d"]
    picture = figure.svg(canvas(names), FigureSettings(caption="<img>\x08"))
    assert "<script" not in picture and "<img" not in picture
    for name in ("a & b", "c\ufffd\ufffd\ufffd ]]> d"):
        assert any(f"{name} (" in text for _, text in texts(picture))
