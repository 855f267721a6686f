"""Trained models that encode plain sentences: loading one, and its vectors."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypedDict, cast, runtime_checkable

from themescope.core.errors import ConfigError, DataError, optional_module
from themescope.core.paths import DEFAULT, lacks_packages, model_folder, pretrained_folders

if TYPE_CHECKING:
    from themescope.core.clustering.inputs import PairCalibration
    from themescope.core.text.sentence_lists import Sentences
    from themescope.core.types import Matrix, Model, Sentence


@runtime_checkable
class EncoderLike(Protocol):
    """An object that turns sentences into vectors, such as a model of Themescope or of sentence-transformers."""

    def encode(self, sentences: Any) -> Any:
        """Return the (n, dim) vectors of a sequence of sentences."""
        ...


ModelLike: TypeAlias = "str | Path | EncoderLike"
Device: TypeAlias = Literal["auto", "cpu", "cuda"]
BASE = "before fine-tuning"
"""Key of :attr:`SentenceModel.info` of an encoder that :meth:`SentenceModel.before` returned."""
_TEXT = 0  # article of sentences given as strings, so that methods that read whole articles take them together
_PROGRESS = 256  # sentences between two steps of a progress bar


class EncodeOptions(TypedDict, total=False):
    """Options of :meth:`SentenceModel.encode` that encoders of other packages have too."""

    batch_size: int | None
    show_progress_bar: bool
    device: str | None
    normalize_embeddings: bool
    precision: Literal["float32"]


class SentenceModel:
    """A trained model that encodes plain sentences. Threads may share it.

    Attributes
    ----------
    name
        Name of a pretrained model, or of the folder it was loaded from.
    fitted
        The model itself, which keeps :class:`themescope.core.types.Model`.
    info
        What the model was trained on and with: method, settings, seed, data, scores.
    calibration
        Coefficients for the number of themes, those saved with the model or the general ones.
    source
        What :func:`load` finds the model by on this machine: a name, or the path of a folder.
    """

    def __init__(
        self, name: str, model: Model, info: Mapping[str, Any], calibration: PairCalibration, source: str = ""
    ) -> None:
        self.name, self.fitted, self.info, self.calibration, self.source = name, model, info, calibration, source

    def __repr__(self) -> str:
        return f"<SentenceModel {self.name!r}: {self.info['method']}>"

    def encode(
        self,
        sentences: Sentences,
        *,
        text: str | None = None,
        batch_size: int | None = None,
        show_progress_bar: bool = False,
        device: str | None = None,
        normalize_embeddings: bool = False,
        precision: Literal["float32"] = "float32",
    ) -> Matrix:
        """Return the vectors of sentences. The options are those of sentence-transformers, as far as they apply.

        Parameters
        ----------
        sentences
            One sentence; n ≥ 0 sentences in an iterable, an array or a column: strings, which count as consecutive
            sentences of one text, or :class:`themescope.core.types.Sentence` objects with their positions; or a table.
        text
            Name of the column of a table.
        batch_size
            Maximum number of sentences that are encoded at a time; None: chosen by the method. Vectors do not depend on
            it. Methods that read whole articles encode all sentences together.
        show_progress_bar
            Whether to show a bar in the terminal or the notebook.
        device
            None, or the device that the model was loaded for (:func:`load`); another one is an error.
        normalize_embeddings
            Whether to scale vectors to length 1; zero vectors stay zero.
        precision
            ``"float32"``.

        Returns
        -------
        (dim,) float32 for one sentence; (n, dim) float32, or a CSR array for sparse methods, otherwise.

        Warns
        -----
        UserWarning
            If the model reads only the beginning of some sentences, with their number.

        Raises
        ------
        ConfigError
            If an option is invalid or not supported by this model.
        DataError
            If an item is no string; the message has its place.
        """
        from themescope.core.clustering.inputs import unit_rows
        from themescope.core.models.base import cut_off
        from themescope.core.text.sentence_lists import read_sentences
        from themescope.core.types import Sentence

        self._check(batch_size, device, precision)
        items = enumerate(read_sentences(sentences, text, blank=True).items)
        placed = [Sentence(s, article_id=_TEXT, position=i) if isinstance(s, str) else s for i, s in items]
        if cut := cut_off(self.fitted, placed):
            warnings.warn(
                f"{self.name} reads only the beginning of {cut:,} of {len(placed):,} sentences, because they have more "
                "word pieces than its limit. Divide them, or use a model that reads long texts whole.",
                stacklevel=2,
            )
        vectors: Any = self._embedded(placed, batch_size, show_progress_bar)
        if normalize_embeddings:
            vectors = unit_rows(vectors).astype(vectors.dtype)
        if isinstance(sentences, str | Sentence):
            vectors = vectors[[0]].toarray()[0] if hasattr(vectors, "toarray") else vectors[0]
        return cast("Matrix", vectors)

    @property
    def device(self) -> str:
        """Device on which the model computes: "cpu" or "cuda"."""
        from themescope.core.models.networks import pick_device

        wanted = [part.config.device for part in _parts(self.fitted)]
        return pick_device(wanted[0]).type if wanted else "cpu"

    def for_lists(self) -> SentenceModel:
        """Return the pretrained model for lists that is built on this one; itself if there is none."""
        from themescope.core.models.artifact import built_on

        folder = built_on(str(self.info.get("digest")), "list-encoder")
        return self if folder is None or lacks_packages(folder.name) else load(folder)

    def of_articles(self) -> SentenceModel:
        """Return the model that one for lists is built on, to which the latter half of its vectors belongs; or it."""
        from themescope.core.models.artifact import built_of

        folder = built_of(str(self.info.get("digest")), "list-encoder")
        return self if folder is None else load(folder)

    def before(self) -> SentenceModel:
        """Return the encoder from which the model was fine-tuned: that of themes which versions up to 0.3 saved."""
        from themescope.core.clustering.inputs import DEFAULT_CALIBRATION

        info, fitted = {**self.info, BASE: True}, cast("Any", self.fitted).base()
        return SentenceModel(self.name, fitted, info, replace(DEFAULT_CALIBRATION, clear=0.13), self.source)

    def in_context(self, vectors: Matrix) -> SentenceModel | None:
        """Return the model that reads the mean of its (n, dim) ``vectors`` of sentences on one subject before each one.

        That is the pretrained ``context-encoder`` that is built on this model; None if there is none.
        """
        from themescope.core.models.artifact import built_on, load_model

        folder = built_on(str(self.info.get("digest")), "context-encoder")
        return None if folder is None else self.with_context(cast("Any", load_model(folder)[0]).article_vector(vectors))

    def with_context(self, context: Any) -> SentenceModel:
        """Return the model with a (dim,) vector before each sentence."""
        fitted = cast("Any", self.fitted).with_context(context)
        return SentenceModel(self.name, fitted, self.info, self.calibration, self.source)

    @property
    def context(self) -> Any:
        """(dim,) vector of :meth:`with_context`, or None."""
        return getattr(self.fitted, "context", None)

    def _check(self, batch_size: int | None, device: str | None, precision: str) -> None:
        if batch_size is not None and (isinstance(batch_size, bool) or batch_size < 1):
            raise ConfigError(f"batch_size must be a number from 1, or None, not {batch_size!r}.")
        if precision != "float32":
            raise ConfigError(
                f"precision must be 'float32', not {precision!r}: vectors are not quantised. For the signs of the "
                "numbers in bits, call numpy.packbits(vectors > 0, axis=1)."
            )
        if device is not None and str(device).partition(":")[0] != self.device:
            raise ConfigError(
                f"This model computes on {self.device!r}, not on {str(device)!r}. Choose the device when the model is "
                "loaded: load(name, device=…)."
            )

    def _embedded(self, sentences: Sequence[Sentence], batch_size: int | None, bar: bool) -> Any:
        """Return the vectors, in batches where there is a size or a progress bar."""
        import numpy as np
        from scipy import sparse

        from themescope.core.models import REGISTRY

        together = "per-article" in REGISTRY.get(self.info["method"]).tags
        size = len(sentences) if together or not (batch_size or bar) else batch_size or _PROGRESS
        starts: Iterable[int] = range(0, max(len(sentences), 1), max(size, 1))
        if bar:
            starts = optional_module("tqdm.auto", "A progress bar", "tqdm", "notebook").tqdm(starts, "Encode")
        parts = [self.fitted.embed(sentences[start : start + size]) for start in starts]
        if len(parts) == 1:
            return parts[0]
        return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)

    def similar(self, sentence: str, among: Sequence[str], top_k: int = 10) -> list[tuple[int, float]]:
        """Return (row, cosine) of the ``top_k`` sentences of ``among`` nearest to ``sentence``, the nearest first.

        All sentences are encoded at every call, the query and the others together as one text. For many queries encode
        them once and call :func:`themescope.core.compute.nearest_neighbours`.
        """
        import numpy as np

        from themescope.core.compute import nearest_neighbours

        if not among:
            return []
        vectors = self.encode([sentence, *among])
        return nearest_neighbours(vectors[:1], [(np.arange(len(among)), vectors[1:])], top_k)


def load(
    name: str | Path = DEFAULT, precision: Literal["fp32", "int8"] = "fp32", device: Device = "auto"
) -> SentenceModel:
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
    device
        ``"cpu"``, ``"cuda"``, or ``"auto"``: a CUDA GPU if there is one.

    Raises
    ------
    UnknownNameError
        If there is neither a pretrained model nor a folder of that name.
    ArtifactError
        If the saved model is damaged.
    ReadError
        If a sentence-transformers encoder is damaged, or of another kind.
    ConfigError
        If the method does not support the precision, or there is no such device.

    Examples
    --------
    >>> from themescope import load
    >>> load("default").encode("One sentence.").shape
    (384,)
    """
    from themescope.core.models.artifact import is_foreign, load_model, read_foreign
    from themescope.core.tasks.density import load_calibration

    folder = model_folder(name)
    model, info = read_foreign(folder) if is_foreign(folder) else load_model(folder)
    if precision not in ("fp32", "int8"):
        raise ConfigError(f"A precision is fp32 or int8, not {precision!r}.")
    if precision == "int8":
        if not hasattr(model, "inference"):
            raise ConfigError(
                f"{folder.name} cannot compute with 8 bits; triplet networks can. Use precision fp32, the default."
            )
        cast("Any", model).inference = precision
    if device != "auto":
        from themescope.core.models.networks import pick_device

        if device not in ("cpu", "cuda"):
            raise ConfigError(f"A device is auto, cpu or cuda, not {device!r}.")
        pick_device(device)
        for part in _parts(model):
            part.config = replace(part.config, device=device)
    source = folder.name if folder in pretrained_folders().values() else str(folder.resolve())
    return SentenceModel(folder.name, model, info, load_calibration(folder), source)


def _parts(model: Any) -> Iterator[Any]:
    """Yield those of a model and the models that it is built on that have a device."""
    if hasattr(getattr(model, "config", None), "device"):
        yield model
    for part in getattr(model, "submodels", getattr(model, "components", ())):
        yield from _parts(part)


def encoder(model: ModelLike) -> EncoderLike:
    """Return the encoder that ``model`` is or names. Raises what :func:`load` raises, or ``ConfigError``."""
    if isinstance(model, str | Path):
        return load(model)
    if isinstance(model, EncoderLike):
        return model
    raise ConfigError("A model is a name, the folder of a saved model, or an object with an encode method.")


def vectors_of(model: EncoderLike, texts: Sequence[str]) -> Matrix:
    """Return the (n, dim) vectors of texts by any encoder, dense or CSR, whatever their order and spaces.

    The different texts are encoded once each, with single spaces and in ascending order, since the vectors of a network
    depend on the order in their last digits. Raises ``DataError`` if the encoder does not return a row for each.
    """
    import numpy as np
    from scipy import sparse

    flat = [" ".join(text.split()) for text in texts]
    different = sorted(set(flat))
    found: Any = model.encode(different)
    if not sparse.issparse(found):
        found = np.asarray(found)
    if found.ndim != 2 or found.shape[0] != len(different):
        raise DataError(f"The encoder returned an array of shape {found.shape} for {len(different):,} sentences.")
    place = {text: row for row, text in enumerate(different)}
    return cast("Matrix", found[[place[text] for text in flat]])
