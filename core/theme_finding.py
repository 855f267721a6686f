"""Themes of texts by a model: their vectors, and what is left out of a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from themescope.core.clustering.pairs import DEFAULT_CALIBRATION
from themescope.core.clustering.repeats import distinct_texts
from themescope.core.errors import optional_module
from themescope.core.protocols import NullReport, Report
from themescope.core.sentence_model import EncoderLike, SentenceModel, vectors_of
from themescope.core.tasks.density import BASE_CALIBRATION, LEAST, is_list
from themescope.core.tasks.themes import ThemesConfig, find_themes
from themescope.core.text.sentence_lists import SentenceList
from themescope.core.themes import Themes


def themes_of(
    texts: Sequence[str],
    model: EncoderLike,
    config: ThemesConfig,
    seed: int,
    report: Report,
    in_order: bool = False,
    lists: bool = False,
) -> Themes:
    """Return the themes of texts, see :func:`themescope.core.api.find_themes`.

    With ``lists``, themes of a list are found by the vectors of the encoder from which the model was fine-tuned:
    fine-tuning on the sections of articles helps on texts, and costs a little on lists. Unless the texts are
    ``in_order``, each different one is encoded once, so that their order has no influence.
    """
    different = distinct_texts(texts)
    ours = model if isinstance(model, SentenceModel) else None
    calibration = ours.calibration if ours else DEFAULT_CALIBRATION
    base = base_for_list(ours, texts, config, seed, report) if ours is not None and lists and not in_order else None
    if base is not None:
        model, vectors = base
        calibration = BASE_CALIBRATION
    else:
        vectors = model.encode(texts) if in_order else vectors_of(model, texts)
    positions = np.arange(len(texts)) if in_order else None
    found = find_themes(list(texts), vectors, config, seed, report, calibration, positions)
    known = {field.name: getattr(found, field.name) for field in fields(found)}
    return Themes(
        **known,
        sentences=tuple(texts),
        left_out={},
        vectors=different.vectors(vectors),
        clusterer=config.clusterer,
        encoder=model,
    )


def base_for_list(
    model: SentenceModel, texts: Sequence[str], config: ThemesConfig, seed: int, report: Report
) -> tuple[SentenceModel, Any] | None:
    """Return the encoder from which a model was fine-tuned, and its (n, dim) vectors of the texts.

    None if there is none, if themes are not found by density, and if the texts are no list but on one subject.
    """
    before = model.base() if config.density and not config.k and len(texts) >= LEAST else None
    if before is None:
        return None
    vectors = vectors_of(before, texts)
    return (before, vectors) if is_list(vectors[distinct_texts(texts).rows], seed, report) else None


def themes_of_list(given: SentenceList, found: Themes) -> Themes:
    """Return the themes of the sentences of a list in its rows, with what was left out."""
    rows = np.array(given.rows, np.int64)
    sentences = [""] * given.given
    for row, text in zip(given.rows, found.sentences, strict=True):
        sentences[row] = text
    frequent = tuple((int(rows[row]), copies) for row, copies in found.frequent)
    placed = found.placed(found.themes, rows, given.given)
    return replace(placed, frequent=frequent, sentences=tuple(sentences), left_out=given.left_out, index=given.index)


class ProgressBar(NullReport):
    """Report that shows progress as a bar of tqdm, in the terminal or the notebook."""

    def __init__(self) -> None:
        super().__init__()
        form = "{desc} {percentage:3.0f} %|{bar}| {elapsed}"
        tqdm = optional_module("tqdm.auto", "A progress bar", "tqdm", "notebook")
        self.bar = tqdm.tqdm(total=1.0, bar_format=form)

    def progress(self, done: float, total: float, message: str = "") -> None:
        """Move the bar."""
        self.bar.n = min(done / total, 1.0) if total else 0.0
        self.bar.set_description(message)
