"""Themes of texts by a model: their vectors, and what is left out of a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from themescope.core.clustering.pairs import DEFAULT_CALIBRATION, PairCalibration
from themescope.core.clustering.repeats import distinct_texts
from themescope.core.errors import optional_module
from themescope.core.protocols import NullReport, Report
from themescope.core.sentence_model import EncoderLike, SentenceModel, vectors_of
from themescope.core.tasks.density import BASE_CALIBRATION, LEAST, is_list
from themescope.core.tasks.themes import ThemesConfig, find_themes
from themescope.core.text.sentence_lists import SentenceList
from themescope.core.themes import Themes
from themescope.core.types import Matrix


def themes_of(
    texts: Sequence[str],
    model: EncoderLike | None,
    config: ThemesConfig,
    seed: int,
    report: Report,
    in_order: bool = False,
    lists: bool = False,
    vectors: Matrix | None = None,
) -> Themes:
    """Return the themes of texts, see :func:`themescope.core.api.find_themes`.

    With ``lists``, the encoder is chosen by the kind of the texts, see :func:`suited`. Unless the texts are
    ``in_order``, each different one is encoded once, so that their order has no influence. ``vectors`` are known ones
    of the texts, which may have no model.
    """
    different = distinct_texts(texts)
    ours = model if isinstance(model, SentenceModel) else None
    if ours is not None and lists and not in_order and vectors is None:
        found = suited(ours, texts, config, seed, report)
    else:
        if vectors is None:
            assert model is not None
            vectors = model.encode(texts) if in_order else vectors_of(model, texts)
        found = Suited(model, vectors, ours.calibration if ours else DEFAULT_CALIBRATION)
    positions = np.arange(len(texts)) if in_order else None
    themes = find_themes(list(texts), found.vectors, config, seed, report, found.calibration, positions, found.plain)
    known = {field.name: getattr(themes, field.name) for field in fields(themes)}
    return Themes(
        **known,
        sentences=tuple(texts),
        left_out={},
        vectors=different.vectors(found.vectors),
        clusterer=config.clusterer,
        encoder=found.encoder,
    )


_TOLD = 1_000
"""Maximum number of texts by which a list is told from sentences on one subject, where only that has to be told."""


@dataclass(frozen=True)
class Suited:
    """An encoder and its (n, dim) vectors of texts; ``plain`` are those without context, if it has one."""

    encoder: EncoderLike | None
    vectors: Matrix
    calibration: PairCalibration
    plain: Matrix | None = None


def suited(
    model: SentenceModel,
    texts: Sequence[str],
    config: ThemesConfig,
    seed: int,
    report: Report,
    vectors: Matrix | None = None,
) -> Suited:
    """Return the encoder for texts whose order is not known; ``vectors`` are those of the model, if they are known.

    For a list whose number of themes is not given, it is the encoder from which the model was fine-tuned: fine-tuning
    on the sections of articles costs a little there. For sentences on one subject it is the model in their context. It
    is the model itself for other lists, if there is no such encoder, if themes are not found by density, and for fewer
    than :data:`.density.LEAST` different texts.
    """
    rows = distinct_texts(texts).rows
    before = model.base() if config.density and len(rows) >= LEAST else None
    if before is not None:
        if config.k:
            told = rows[np.sort(np.random.default_rng(seed).permutation(len(rows))[:_TOLD])].tolist()
            listed = is_list(vectors_of(before, [texts[row] for row in told]), seed, report)
        else:
            found = vectors_of(before, texts)
            if listed := is_list(found[rows], seed, report):
                return Suited(before, found, BASE_CALIBRATION)
        if not listed:
            plain = vectors_of(model, texts)  # those of a store differ in their last digits
            if (inside := model.in_context(plain[rows])) is not None:
                return Suited(inside, vectors_of(inside, texts), model.calibration, plain)
            vectors = plain
    return Suited(model, vectors_of(model, texts) if vectors is None else vectors, model.calibration)


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
