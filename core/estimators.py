"""Estimators with the interface of scikit-learn: sentence vectors and clusters of sentences.

They work in a ``sklearn.pipeline.Pipeline``, with ``sklearn.base.clone`` and wherever a library accepts an estimator,
such as the clustering step of a BERTopic model. Their model may be any object with an ``encode`` method, such as a
sentence-transformers model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.clustering.inputs import (
    DEFAULT_CALIBRATION,
    canonical_labels,
    distinct_texts,
    row_order,
    unit_rows,
)
from themescope.core.config import checked_seed
from themescope.core.errors import ConfigError, DataError
from themescope.core.sentence_model import EncoderLike, ModelLike, SentenceModel, encoder, vectors_of
from themescope.core.tasks.density import suggest
from themescope.core.text.sentence_lists import Invalid, SentenceList, Sentences, read_sentences
from themescope.core.types import Labels, Matrix

_MOST_CLUSTERS = 200


class SentenceVectorizer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Turn sentences into vectors by a trained model.

    Parameters
    ----------
    model
        Name of a pretrained model, folder of a saved model, or an object with an ``encode`` method.
    text
        Name of the column of a table.

    Attributes
    ----------
    model_
        The loaded model, after :meth:`fit`.

    Examples
    --------
    >>> from themescope import SentenceVectorizer
    >>> SentenceVectorizer().fit_transform(["One sentence.", "Another one."]).shape
    (2, 384)
    """

    def __init__(self, model: ModelLike = "default", text: str | None = None) -> None:
        self.model, self.text = model, text

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.requires_fit = True
        return tags

    def fit(self, sentences: Any = None, y: Any = None) -> Self:
        """Load the model; nothing is learned. ``sentences`` and ``y`` are ignored."""
        self.model_ = encoder(self.model)
        return self

    @property
    def _n_features_out(self) -> int:
        return int(self.model_.encode(["dimensions"]).shape[1])

    def transform(self, sentences: Sentences) -> Matrix:
        """Return (n, dim) vectors, dense or CSR; row i belongs to sentence i."""
        check_is_fitted(self)
        vectors: Matrix = self.model_.encode(read_sentences(sentences, self.text, blank=True).items)
        return vectors


class SentenceClusterer(ClusterMixin, BaseEstimator):
    """Cluster sentences by theme.

    Parameters
    ----------
    model
        Name of a pretrained model, folder of a saved model, or an object with an ``encode`` method. Unused when
        vectors are given in place of sentences.
    k
        Number of clusters, or ``"auto"``: between 2 and 200, estimated from the similarities
        (:func:`themescope.core.tasks.density.suggest`).
    clusterer
        Id of a registered clusterer, see ``themescope list clusterers``.
    settings
        Settings of the clusterer in place of its defaults.
    seed
        Seed of everything random. The same seed and input, in any order, give the same clusters.
    text
        Name of the column of sentences in a table. A table of numbers without it has vectors in its rows.
    invalid
        Whether None, NaN, empty texts and numbers among sentences are an error, or (``"drop"``) get the label -1.
    n_clusters, random_state
        What scikit-learn calls ``k`` and ``seed``; they count where they are given.

    Attributes
    ----------
    model_
        The loaded model; None after fitting vectors.
    n_features_in_
        Number of dimensions of the vectors.
    labels_
        (n,) int32 label of each sentence in order of first appearance, -1 for unassigned.
    n_clusters_
        Number of clusters found.
    cluster_centers_
        (number of clusters, dim) mean unit vector of each cluster.
    reason_
        Why this number of clusters was chosen; empty for a given number.

    Examples
    --------
    >>> from themescope import SentenceClusterer
    >>> sentences = [
    ...     "The river floods every spring.", "The stream runs into the river.",
    ...     "The orchestra played a symphony.", "She plays the violin in an orchestra.",
    ... ]
    >>> SentenceClusterer(k=2).fit_predict(sentences).tolist()
    [0, 0, 1, 1]
    """

    def __init__(
        self,
        model: ModelLike = "default",
        k: int | Literal["auto"] = "auto",
        clusterer: str = "iclust",
        settings: Mapping[str, Any] | None = None,
        seed: int = 0,
        text: str | None = None,
        invalid: Invalid = "error",
        n_clusters: int | None = None,
        random_state: int | None = None,
    ) -> None:
        self.n_clusters, self.random_state = n_clusters, random_state
        self.model, self.k, self.clusterer, self.settings, self.seed = model, k, clusterer, settings, seed
        self.text, self.invalid = text, invalid

    def __sklearn_tags__(self) -> Any:
        tags: Any = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.sparse = True
        return tags

    def fit(self, x: Sentences | Matrix, y: Any = None) -> Self:
        """Cluster (n,) sentences, or the rows of (n, dim) vectors. ``y`` is ignored.

        Identical sentences count once and share a cluster (:mod:`themescope.core.clustering.inputs`).

        Raises
        ------
        ConfigError
            If ``k`` is neither a number nor ``"auto"``, or a setting of the clusterer is invalid.
        DataError
            If there are fewer different sentences than clusters, or a vector is not finite.
        """
        wanted = self.k if self.n_clusters is None else self.n_clusters
        seed = checked_seed(self.seed if self.random_state is None else self.random_state)
        if not (wanted == "auto" or (isinstance(wanted, int | np.integer) and not isinstance(wanted, bool))):
            raise ConfigError(f"k must be a whole number or 'auto', not {wanted!r}.")
        self.model_: EncoderLike | None = None
        vectors, given = self._vectors(x, new=True, least=1 if wanted == "auto" else int(wanted))
        if given is None:
            rows = row_order(vectors)
            vectors, place = vectors[rows], rows.argsort()
        else:
            different = distinct_texts(given.texts)
            vectors, rows, place = different.vectors(vectors), different.rows, different.place
        self.n_features_in_ = int(vectors.shape[1])
        if wanted == "auto":
            model = self.model_
            calibration = model.calibration if isinstance(model, SentenceModel) else DEFAULT_CALIBRATION
            suggestion = suggest(vectors, calibration, _MOST_CLUSTERS, seed)
            k, self.reason_ = suggestion.k, suggestion.reason
        else:
            k, self.reason_ = int(wanted), ""
        clustered = CLUSTERERS.build(self.clusterer, self.settings).fit_predict(vectors, k, seed)
        found = canonical_labels(clustered[place])
        self.labels_: Labels = _in_rows(found, given)
        self.n_clusters_ = int(found.max(initial=-1)) + 1
        labels = found[rows]
        assigned = np.flatnonzero(labels >= 0)
        places, shape = (labels[assigned], assigned), (self.n_clusters_, len(labels))
        sums: Any = sparse.csr_array((np.ones(len(assigned)), places), shape=shape) @ unit_rows(vectors)
        dense = sums.toarray() if sparse.issparse(sums) else np.asarray(sums)
        sizes = np.bincount(labels[assigned], minlength=self.n_clusters_)
        self.cluster_centers_: npt.NDArray[np.float64] = dense / sizes[:, None]
        return self

    def predict(self, x: Sentences | Matrix) -> Labels:
        """Return the (n,) label of the cluster with the highest mean cosine to each sentence or vector."""
        check_is_fitted(self)
        vectors, given = self._vectors(x, new=False)
        products: Any = unit_rows(vectors) @ self.cluster_centers_.T
        return _in_rows(np.asarray(products).argmax(axis=1).astype(np.int32), given)

    def _vectors(self, x: Any, new: bool, least: int = 1) -> tuple[Matrix, SentenceList | None]:
        """Return given vectors after a check, or encode sentences; the model is loaded once per fit."""
        if self.text is None and _are_vectors(x):
            try:
                vectors = validate_data(
                    self, x, reset=new, accept_sparse="csr", dtype=(np.float64, np.float32), ensure_min_samples=least
                )
            except ValueError as error:
                raise DataError(str(error)) from None
            return sparse.csr_array(vectors) if sparse.issparse(vectors) else vectors, None
        given = read_sentences(x, self.text, self.invalid)
        if self.model_ is None:
            self.model_ = encoder(self.model)
        found = vectors_of(self.model_, given.texts)
        if not new and found.shape[1] != self.n_features_in_:
            raise DataError(
                f"The vectors that were fitted have {self.n_features_in_} dimensions, those of sentences by "
                f"{self.model!r} {found.shape[1]}. Name the model by which the fitted vectors were made."
            )
        return found, given


def _are_vectors(x: Any) -> bool:
    """Return whether these are rows of numbers: a matrix, a table of numbers or a list of lists."""
    if sparse.issparse(x):
        return True
    if isinstance(x, list | tuple):
        return bool(x) and isinstance(x[0], list | tuple | np.ndarray)
    kind = np.asarray(x).dtype.kind if hasattr(x, "ndim") else ""
    # A matrix of objects may have numbers or not, which the check tells; a table of objects has texts.
    return kind in tuple("biufc") or (kind == "O" and x.ndim == 2 and not hasattr(x, "columns"))


def _in_rows(labels: Labels, given: SentenceList | None) -> Labels:
    """Return labels in the rows of what was given, -1 where a row was left out."""
    if given is None:
        return labels
    placed = np.full(given.given, -1, np.int32)
    placed[given.rows] = labels
    return placed
