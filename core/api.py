"""Functions of the public API: load a trained model, encode sentences, find themes, reproduce a paper.

The module imports numpy and everything heavier inside its functions, so that ``import core`` stays light.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

from themescope.core.errors import ConfigError, DataError
from themescope.core.paths import DEFAULT, model_folder

if TYPE_CHECKING:
    from themescope.core.clustering.pairs import PairCalibration
    from themescope.core.protocols import Model, Report
    from themescope.core.tasks.themes import Themes, ThemesConfig
    from themescope.core.types import Matrix, Sentence


@runtime_checkable
class EncoderLike(Protocol):
    """An object that turns sentences into vectors, such as a model of Themescope or of sentence-transformers."""

    def encode(self, sentences: Any) -> Any:
        """Return the (n, dim) vectors of a sequence of sentences."""
        ...


ModelLike: TypeAlias = "str | Path | EncoderLike"
_TEXT = 0  # article of sentences given as strings, so that methods that read whole articles take them together


class SentenceModel:
    """A trained model that encodes plain sentences. Threads may share it.

    Attributes
    ----------
    name
        Name of a pretrained model, or of the folder it was loaded from.
    fitted
        The model itself, which keeps :class:`themescope.core.protocols.Model`.
    info
        What the model was trained on and with: method, settings, seed, data, scores.
    calibration
        Coefficients for the number of themes, those saved with the model or the general ones.
    """

    def __init__(self, name: str, model: Model, info: Mapping[str, Any], calibration: PairCalibration) -> None:
        self.name, self.fitted, self.info, self.calibration = name, model, info, calibration

    def __repr__(self) -> str:
        return f"<SentenceModel {self.name!r}: {self.info['method']}>"

    def encode(self, sentences: str | Sequence[str | Sentence]) -> Matrix:
        """Return the vectors of sentences.

        Parameters
        ----------
        sentences
            One sentence, or a sequence of n ≥ 0 sentences: strings, which count as consecutive sentences of one text,
            or :class:`themescope.core.types.Sentence` objects with their positions.

        Warns
        -----
        UserWarning
            If the model reads only the beginning of some sentences, with their number.

        Returns
        -------
        (dim,) float32 for one sentence; (n, dim) float32, or a CSR array for sparse methods, for a sequence.
        """
        from themescope.core.models.base import cut_off
        from themescope.core.types import Sentence

        if isinstance(sentences, str):
            row: Any = self.encode([sentences])[[0]]
            vector: Matrix = (row.toarray() if hasattr(row, "toarray") else row)[0]
            return vector
        given = enumerate(sentences)
        placed = [Sentence(s, article_id=_TEXT, position=i) if isinstance(s, str) else s for i, s in given]
        if cut := cut_off(self.fitted, placed):
            warnings.warn(
                f"{self.name} reads only the beginning of {cut:,} of {len(placed):,} sentences, because they have more "
                "word pieces than its limit. Divide them, or use a model that reads long texts whole.",
                stacklevel=2,
            )
        return self.fitted.embed(placed)

    def find_themes(
        self, texts: list[str], config: ThemesConfig, seed: int, report: Report, in_order: bool, lists: bool
    ) -> Themes:
        """Return the themes of sentences, see :func:`find_themes`.

        With ``lists``, themes of a list are found by the vectors of the encoder from which the model was fine-tuned:
        fine-tuning on the sections of articles helps on texts, and costs a little on lists.
        """
        import numpy as np

        from themescope.core.clustering.repeats import distinct_texts
        from themescope.core.tasks.density import BASE_CALIBRATION, LEAST, is_list
        from themescope.core.tasks.themes import find_themes as find

        base = getattr(self.fitted, "base", None)
        usable = lists and config.density and not config.k and not in_order and len(texts) >= LEAST
        before = base() if usable and base is not None else None
        if before is not None:
            plain = SentenceModel(self.name, before, self.info, BASE_CALIBRATION).encode(texts)
            if is_list(plain[distinct_texts(texts).rows], seed, report):
                return find(texts, plain, config, seed, report, BASE_CALIBRATION)
        positions = np.arange(len(texts)) if in_order else None
        return find(texts, self.encode(texts), config, seed, report, self.calibration, positions)

    def similar(self, sentence: str, among: Sequence[str], top_k: int = 10) -> list[tuple[int, float]]:
        """Return (row, cosine) of the ``top_k`` sentences of ``among`` nearest to ``sentence``, the nearest first.

        All sentences are encoded at every call, the query and the others together as one text. For many queries encode
        them once and call :func:`themescope.core.compute.neighbours.nearest_neighbours`.
        """
        import numpy as np

        from themescope.core.compute.neighbours import nearest_neighbours

        if not among:
            return []
        vectors = self.encode([sentence, *among])
        return nearest_neighbours(vectors[:1], [(np.arange(len(among)), vectors[1:])], top_k)


def load(name: str | Path = DEFAULT, precision: Literal["fp32", "int8"] = "fp32") -> SentenceModel:
    """Load a trained model.

    Parameters
    ----------
    name
        Name of a pretrained model, ``"default"``, the folder of a saved model, or that of a sentence-transformers
        encoder (a transformer with mean or first-token pooling).
    precision
        ``"int8"`` makes a triplet network, such as ``"triplets-sen-titles-wikipedia"``, compute with 8-bit integers on
        a CPU: faster, with a cosine of at least .999 to the exact vectors (``benchmarks/inference.py``). Other methods
        refuse it.

    Raises
    ------
    UnknownNameError
        If there is neither a pretrained model nor a folder of that name.
    ArtifactError
        If the saved model is damaged.
    ReadError
        If a sentence-transformers encoder is damaged, or of another kind.
    ConfigError
        If the method does not support the precision.

    Examples
    --------
    >>> from themescope import load
    >>> load("default").encode("One sentence.").shape
    (384,)
    """
    from themescope.core.models.artifact import is_foreign, load_model, read_foreign
    from themescope.core.tasks.pair_calibration import load_calibration

    folder = model_folder(name)
    model, info = read_foreign(folder) if is_foreign(folder) else load_model(folder)
    if precision not in ("fp32", "int8"):
        raise ConfigError(f"A precision is fp32 or int8, not {precision!r}.")
    if precision == "int8":
        if not hasattr(model, "inference"):
            raise ConfigError(
                f"{folder.name} cannot compute with 8 bits; triplet networks can. Use precision fp32, the default."
            )
        network: Any = model
        network.inference = precision
    return SentenceModel(folder.name, model, info, load_calibration(folder))


def encoder(model: ModelLike) -> EncoderLike:
    """Return the encoder that ``model`` is or names. Raises what :func:`load` raises, or ``ConfigError``."""
    if isinstance(model, str | Path):
        return load(model)
    if isinstance(model, EncoderLike):
        return model
    raise ConfigError("A model is a name, the folder of a saved model, or an object with an encode method.")


def encode(sentences: str | Sequence[str], model: ModelLike = DEFAULT) -> Matrix:
    """Return the vectors of sentences by a model, see :meth:`SentenceModel.encode`.

    The model is loaded at every call; keep the result of :func:`load` for repeated use.

    Examples
    --------
    >>> from themescope import encode
    >>> encode(["One sentence.", "Another one."]).shape
    (2, 384)
    """
    vectors: Matrix = encoder(model).encode(sentences)
    return vectors


def find_themes(
    sentences: Sequence[str],
    model: ModelLike = DEFAULT,
    k: int | Literal["auto"] = "auto",
    *,
    in_order: bool = False,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    report: Report | None = None,
) -> Themes:
    """Cluster sentences into themes and name the themes.

    Parameters
    ----------
    sentences
        At least 4 sentences.
    model
        Name of a pretrained model, folder of a saved model, or an object with an ``encode`` method.
    k
        Number of themes, or ``"auto"``.
    in_order
        Whether the sentences are a running text in its order: where neighbours are more alike than by chance, the
        order counts, too. Otherwise it has no influence.
    settings
        Other settings, see :class:`themescope.core.tasks.themes.ThemesConfig`.
    seed
        Seed of everything random.
    report
        Receives progress and may cancel.

    Returns
    -------
    Themes
        Labels, named themes by falling size, margins, and the curves behind the number of themes.

    Raises
    ------
    ConfigError
        If a setting is invalid.
    DataError
        If there are too few or too many sentences.

    Examples
    --------
    >>> from themescope import find_themes
    >>> themes = find_themes([
    ...     "The river floods every spring.", "The stream runs into the river.",
    ...     "The orchestra played a symphony.", "She plays the violin in an orchestra.",
    ... ], k=2)
    >>> sorted(theme.size for theme in themes.themes)
    [2, 2]
    """
    import numpy as np

    from themescope.core.clustering.pairs import DEFAULT_CALIBRATION
    from themescope.core.config import config_from_dict
    from themescope.core.protocols import SILENT
    from themescope.core.tasks.themes import ThemesConfig
    from themescope.core.tasks.themes import find_themes as find

    config = config_from_dict(ThemesConfig, {**(settings or {}), "k": 0 if k == "auto" else k})
    texts, loaded = list(sentences), encoder(model)
    if isinstance(loaded, SentenceModel):
        return loaded.find_themes(texts, config, seed, report or SILENT, in_order, lists=model == DEFAULT)
    positions = np.arange(len(texts)) if in_order else None
    return find(texts, loaded.encode(texts), config, seed, report or SILENT, DEFAULT_CALIBRATION, positions)


def reproduce(
    paper: str, profile: str = "quick", folder: str | Path | None = None, **options: Any
) -> dict[str, dict[str, Any]]:
    """Reproduce the tables of a paper and return them by id.

    Experiments are jobs, which belong to the installed application, so that an interrupted reproduction resumes and
    nothing is computed twice.

    Parameters
    ----------
    paper
        ``"ed18"``, ``"sjh17"``, or ``"modern"`` for both with newer models.
    profile
        ``"quick"`` (minutes), ``"full"`` (hours) or ``"published"`` (the papers' sizes); ``modern`` has
        ``"validation"`` instead of the last one.
    folder
        Data folder that keeps data, models and results; None for the application's own.
    options
        Further options of ``themescope reproduce``: ``tables``, ``data``, ``corpus``, ``seeds``, ``models``, …

    Raises
    ------
    UnknownNameError
        If there is no such paper or profile.
    DataError
        If the data for it are missing, or only ``core`` is installed.
    """
    from importlib.metadata import entry_points

    runner = next(iter(entry_points(group="themescope.paper_runner")), None)
    if runner is None:
        raise DataError("No installed package runs experiments. Install Themescope with its jobs: pip install -e .")
    tables: dict[str, dict[str, Any]] = runner.load()(paper, profile, Path(folder) if folder else None, options)
    return tables
