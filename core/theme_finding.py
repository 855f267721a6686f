"""Themes of texts by a model: their vectors, and what is left out of a list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np

from themescope.core.clustering.inputs import unit_rows
from themescope.core.clustering.pairs import DEFAULT_CALIBRATION, PairCalibration
from themescope.core.clustering.repeats import distinct_texts
from themescope.core.errors import optional_module
from themescope.core.protocols import NullReport, Report
from themescope.core.sentence_model import EncoderLike, SentenceModel, vectors_of
from themescope.core.tasks.density import LEAST, is_article
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
        ours = ours.for_lists()
        found = suited(ours, texts, vectors_of(ours, texts))
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


@dataclass(frozen=True)
class Suited:
    """An encoder and its (n, dim) vectors of texts; ``plain`` are those without context, if it has one."""

    encoder: EncoderLike | None
    vectors: Matrix
    calibration: PairCalibration
    plain: Matrix | None = None


def suited(model: SentenceModel, texts: Sequence[str], vectors: Matrix) -> Suited:
    """Return the encoder for texts whose order is not known, by the model that ``vectors`` are of.

    For the sentences of an article it is the thematic encoder that a model for lists is built on, in their context if
    it has one; for fewer than :data:`.density.LEAST` different texts that thematic encoder; for others the model.
    """
    rows = distinct_texts(texts).rows
    enough = len(rows) >= LEAST
    if enough and not is_article([texts[row] for row in rows], vectors[rows], model.calibration):
        return Suited(model, vectors, model.calibration)
    own = model.of_articles()
    plain = vectors if own is model else unit_rows(vectors[:, vectors.shape[1] // 2 :])
    if enough and (inside := own.in_context(plain[rows])) is not None:
        return Suited(inside, vectors_of(inside, texts), own.calibration, plain)
    return Suited(own, plain, own.calibration)


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
