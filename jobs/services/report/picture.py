"""Picture of a map for documents: points in the colours of their groups, with the number of each group."""

from __future__ import annotations

from io import BytesIO

import numpy as np

from themescope.core.types import Labels, Points

# Paul Tol's "muted" scheme (SRON/EPS/TN/09-002), reordered so that neighbours differ most.
PALETTE = ("#1b7f79", "#c2542d", "#4a5fb0", "#a8891b", "#8a2f6b", "#3f8f3f", "#2f89c5", "#c0587e", "#6b6b2a")
_WIDTH, _HEIGHT, _EDGE = 1800, 1200, 60
_PAPER, _INK, _NONE = "#ffffff", "#1f2a33", "#b9bcc0"


def numbered_picture(points: Points, labels: Labels) -> bytes:
    """Return a PNG image of (n, 2) points, n ≥ 1, with "1" at the median of the points with label 0, and so on.

    Points with the label -1 are grey, and have no number. Both axes have the same scale.
    """
    from PIL import Image, ImageDraw, ImageFont

    low, high = points.min(axis=0), points.max(axis=0)
    step = max(float(high[0] - low[0]) / (_WIDTH - 2 * _EDGE), float(high[1] - low[1]) / (_HEIGHT - 2 * _EDGE), 1e-9)
    centred = (points - (low + high) / 2) / step
    places = np.stack([_WIDTH / 2 + centred[:, 0], _HEIGHT / 2 - centred[:, 1]], axis=1)
    image = Image.new("RGB", (_WIDTH, _HEIGHT), _PAPER)
    draw = ImageDraw.Draw(image)
    radius = float(np.clip(240 / np.sqrt(len(points)), 1.5, 8))
    for (x, y), label in zip(places.tolist(), labels.tolist(), strict=True):
        colour = _NONE if label < 0 else PALETTE[label % len(PALETTE)]
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)
    font = ImageFont.load_default(size=34)
    for label in np.unique(labels[labels >= 0]).tolist():
        middle = np.median(places[labels == label], axis=0)
        draw.text(
            (float(middle[0]), float(middle[1])), str(label + 1), font=font, anchor="mm", fill=_INK,
            stroke_width=5, stroke_fill=_PAPER,
        )  # fmt: skip
    stream = BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()
