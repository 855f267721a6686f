"""Functions of the public API: encode sentences, find themes, reproduce a paper.

The module imports numpy and everything heavier inside its functions, so that ``import themescope`` stays light.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from themescope.core.errors import DataError
from themescope.core.paths import DEFAULT
from themescope.core.sentence_model import EncodeOptions, ModelLike, SentenceModel, encoder
from themescope.core.types import Report

if TYPE_CHECKING:
    from themescope.core.text.sentence_lists import Invalid, Sentences
    from themescope.core.themes import Themes
    from themescope.core.types import Matrix


def encode(
    sentences: Sentences, model: ModelLike = DEFAULT, *, text: str | None = None, **options: Unpack[EncodeOptions]
) -> Matrix:
    """Return the vectors of sentences by a model, see :meth:`.SentenceModel.encode`.

    A model that is named is loaded at every call; keep the result of :func:`.load` for repeated use. An encoder of
    another package gets the options that are given.

    Examples
    --------
    >>> from themescope import encode
    >>> encode(["One sentence.", "Another one."]).shape
    (2, 384)
    """
    found = encoder(model)
    if isinstance(found, SentenceModel):
        return found.encode(sentences, text=text, **options)
    from themescope.core.text.sentence_lists import read_sentences

    texts = read_sentences(sentences, text, blank=True).texts
    other: Any = found
    vectors: Matrix = other.encode(texts[0] if isinstance(sentences, str) else texts, **options)
    return vectors


def similarity(first: Sentences, second: Sentences, model: ModelLike = DEFAULT) -> Matrix:
    """Return the (n, m) cosines of the vectors of n and of m sentences.

    Examples
    --------
    >>> from themescope import similarity
    >>> similarity(["The river floods."], ["The stream rises.", "She plays the violin."]).shape
    (1, 2)
    """
    from sklearn.metrics.pairwise import cosine_similarity

    found = encoder(model)
    cosines: Matrix = cosine_similarity(encode(first, found), encode(second, found))
    return cosines


def find_themes(
    sentences: Sentences,
    model: ModelLike = DEFAULT,
    k: int | Literal["auto"] = "auto",
    *,
    vectors: Matrix | None = None,
    text: str | None = None,
    invalid: Invalid = "error",
    in_order: bool = False,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    report: Report | None = None,
    show_progress_bar: bool = False,
) -> Themes:
    """Cluster sentences into themes and name the themes.

    Parameters
    ----------
    sentences
        At least 4 sentences in an iterable, an array, a column or a table. Their order has no influence, unless
        ``in_order``.
    model
        Name of a pretrained model, folder of a saved model, or an object with an ``encode`` method.
    k
        Number of themes, or ``"auto"``.
    vectors
        (n, dim) vectors of the sentences, if they are known: nothing is encoded then. Name the ``model`` by which they
        were made if :meth:`.Themes.predict` is to take sentences.
    text
        Name of the column of a table.
    invalid
        Whether None, NaN, empty texts and numbers are an error, or (``"drop"``) left out and counted.
    in_order
        Whether the sentences are a running text in its order: where neighbours are more alike than by chance, the
        order counts, too.
    settings
        Other settings, see :class:`themescope.core.tasks.themes.ThemesConfig`.
    seed
        Seed of everything random.
    report
        Receives progress and may cancel.
    show_progress_bar
        Whether to show a bar in the terminal or the notebook, where there is no ``report``.

    Returns
    -------
    Themes
        Labels, named themes by falling size, margins, and the curves behind the number of themes; tables, pictures
        and the themes of further sentences.

    Raises
    ------
    ConfigError
        If a setting is invalid.
    DataError
        If there are too few or too many sentences, or an item is no sentence; the message has its place.

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
    from themescope.core.config import checked_seed, config_from_dict
    from themescope.core.tasks.themes import ThemesConfig
    from themescope.core.text.sentence_lists import read_sentences
    from themescope.core.themes import ProgressBar, themes_of, themes_of_list
    from themescope.core.types import SILENT

    number = 0 if k == "auto" else k.__index__() if hasattr(k, "__index__") and not isinstance(k, bool) else k
    config = config_from_dict(ThemesConfig, {**(settings or {}), "k": number})
    given = read_sentences(sentences, text, invalid)
    if vectors is not None and len(vectors) != given.given:
        raise DataError(
            f"There are {given.given:,} sentences and {len(vectors):,} vectors. Give one for each sentence."
        )
    found = None if vectors is not None and model == DEFAULT else encoder(model)
    known = None if vectors is None else vectors[given.rows]
    shown = report or (ProgressBar() if show_progress_bar else SILENT)
    themes = themes_of(given.texts, found, config, checked_seed(seed), shown, in_order, model == DEFAULT, known)
    if isinstance(shown, ProgressBar):
        shown.bar.close()
    return themes_of_list(given, themes)


def train(
    method: str,
    triplets: str | Path | Iterable[tuple[str, str, str]],
    folder: str | Path,
    *,
    settings: Mapping[str, Any] | None = None,
    seed: int = 0,
    report: Report | None = None,
    show_progress_bar: bool = False,
) -> SentenceModel:
    """Train a method on triplets of sentences, save the model in a folder and return it.

    A tenth of the triplets is held out, with whole groups where there are ten: they decide when the training ends, and
    which of its states is kept.

    Parameters
    ----------
    method
        Id of a method that learns from triplets, such as ``"triplets-sen"``.
    triplets
        At least 20 tuples of pivot, positive and negative, or a CSV or JSON lines file with columns of these names. A
        column ``group`` says which triplets belong together; by default those that share sentences.
    folder
        New folder of the model, which :func:`load` reads.
    settings
        Settings of the method in place of its defaults.
    seed
        Seed of everything random.
    report
        Receives progress and may cancel.
    show_progress_bar
        Whether to show a bar in the terminal or the notebook, where there is no ``report``.

    Raises
    ------
    ConfigError
        If the method does not learn from triplets, or a setting is invalid.
    DataError, ReadError
        If there are too few triplets, or the file cannot be read.
    TrainingError
        If nothing was learned: no state is better than the one before the first step.

    Examples
    --------
    >>> from themescope import train
    >>> train("triplets-sen", [("It rains.", "It pours.", "She sings.")], "my-model")
    Traceback (most recent call last):
    ...
    themescope.core.errors.DataError: There are 1 triplets. A training needs at least 20, of which some are held out.
    """
    import numpy as np

    from themescope.core.config import checked_seed
    from themescope.core.errors import ArtifactError, ConfigError
    from themescope.core.models import REGISTRY
    from themescope.core.models.artifact import save_model
    from themescope.core.models.base import require_learned
    from themescope.core.sentence_model import load
    from themescope.core.themes import ProgressBar
    from themescope.core.triplets.sample import divided, read_triplets, taken
    from themescope.core.types import SILENT, Corpus, Split, TripletTexts

    able = [card.id for card in REGISTRY if "needs-triplets" in card.tags and "needs-models" not in card.tags]
    if REGISTRY.get(method).id not in able:
        known = ", ".join(able)
        raise ConfigError(f"{method!r} does not learn from triplets; these do: {known}.")
    target = Path(folder)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise ArtifactError(f"{str(target)!r} exists and is not an empty folder. Choose a new one.")
    if isinstance(triplets, str | Path):
        texts = read_triplets(Path(triplets))
    else:
        columns: list[list[str]] = [list(column) for column in zip(*triplets, strict=True)]
        if len(columns) != 3 or not all(isinstance(text, str) and text.strip() for one in columns for text in one):
            raise DataError("Triplets are tuples of three sentences: pivot, positive, negative.")
        pivots, positives, negatives = columns
        texts = TripletTexts(pivots, positives, negatives, np.full(len(columns[0]), -1, np.int64))
    parts = {split: taken(texts, rows) for split, rows in divided(texts, (Split.VALIDATION,)).items()}
    shown = report or (ProgressBar() if show_progress_bar else SILENT)
    fitted = REGISTRY.build(method, settings, seed=checked_seed(seed)).fit(Corpus(triplets=parts), shown)
    if isinstance(shown, ProgressBar):
        shown.bar.close()
    metrics = dict(getattr(fitted, "metrics", None) or {})
    require_learned(metrics)
    save_model(fitted, method, target, {"triplets": len(texts), "metrics": metrics})
    return load(target)


def reproduce(
    paper: str, profile: str = "quick", folder: str | Path | None = None, **options: Any
) -> dict[str, dict[str, Any]]:
    """Reproduce the tables of a paper and return them by id.

    Experiments are jobs, which belong to the installed application, so that an interrupted reproduction resumes and
    nothing is computed twice.

    Parameters
    ----------
    paper
        ``"ed18"`` or ``"sjh17"``.
    profile
        ``"quick"`` (minutes) or ``"full"`` (about an hour for each network).
    folder
        Data folder that keeps data, models and results; None for the application's own.
    options
        Further options of ``themescope reproduce``: ``tables``, ``data``, ``corpus``, ``seeds``, …

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
