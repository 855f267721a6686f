"""Estimators with the interface of scikit-learn: sentence vectors and clusters of sentences.

They work in a ``sklearn.pipeline.Pipeline``, with ``sklearn.base.clone`` and wherever a library accepts an estimator,
such as the clustering step of a BERTopic model. Their model may be any object with an ``encode`` method, such as a
sentence-transformers model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from themescope.core.api import EncoderLike, ModelLike, SentenceModel, encoder
from themescope.core.clustering import REGISTRY as CLUSTERERS
from themescope.core.clustering.inputs import canonical_labels, unit_rows
from themescope.core.clustering.pairs import DEFAULT_CALIBRATION
from themescope.core.clustering.repeats import distinct_texts
from themescope.core.errors import ConfigError
from themescope.core.tasks.theme_counts import suggest
from themescope.core.types import Labels, Matrix

_MOST_CLUSTERS = 200


class SentenceVectorizer(TransformerMixin, BaseEstimator):
    """Turn sentences into vectors by a trained model.

    Parameters
    ----------
    model
        Name of a pretrained model, folder of a saved model, or an object with an ``encode`` method.

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

    def __init__(self, model: ModelLike = "default") -> None:
        self.model = model

    def fit(self, sentences: Any = None, y: Any = None) -> Self:
        """Load the model; nothing is learned. ``sentences`` and ``y`` are ignored."""
        self.model_ = encoder(self.model)
        return self

    def transform(self, sentences: Sequence[str]) -> Matrix:
        """Return (n, dim) vectors, dense or CSR; row i belongs to sentence i."""
        check_is_fitted(self)
        vectors: Matrix = self.model_.encode(list(sentences))
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
        (:func:`themescope.core.tasks.theme_counts.suggest`).
    clusterer
        Id of a registered clusterer, see ``themescope list clusterers``.
    settings
        Settings of the clusterer in place of its defaults.
    seed
        Seed of everything random. The same seed and input give the same labels.

    Attributes
    ----------
    model_
        The loaded model; None after fitting vectors.
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
    ) -> None:
        self.model, self.k, self.clusterer, self.settings, self.seed = model, k, clusterer, settings, seed

    def fit(self, x: Sequence[str] | Matrix, y: Any = None) -> Self:
        """Cluster (n,) sentences, or the rows of (n, dim) vectors. ``y`` is ignored.

        Identical sentences count once and share a cluster (:mod:`themescope.core.clustering.repeats`).

        Raises
        ------
        ConfigError
            If ``k`` is neither a number nor ``"auto"``, or a setting of the clusterer is invalid.
        DataError
            If there are fewer different sentences than clusters, or a vector is not finite.
        """
        if not (self.k == "auto" or (isinstance(self.k, int | np.integer) and not isinstance(self.k, bool))):
            raise ConfigError(f"k must be a whole number or 'auto', not {self.k!r}.")
        self.model_: EncoderLike | None = None
        vectors = self._vectors(x)
        rows = place = np.arange(vectors.shape[0])
        if self.model_ is not None:
            different = distinct_texts(list(x))
            vectors, rows, place = different.vectors(vectors), different.rows, different.place
        if self.k == "auto":
            model = self.model_
            calibration = model.calibration if isinstance(model, SentenceModel) else DEFAULT_CALIBRATION
            found = suggest(vectors, calibration, _MOST_CLUSTERS, self.seed)
            k, self.reason_ = found.k, found.reason
        else:
            k, self.reason_ = int(self.k), ""
        clustered = CLUSTERERS.build(self.clusterer, self.settings).fit_predict(vectors, k, self.seed)
        self.labels_: Labels = canonical_labels(clustered[place])
        self.n_clusters_ = int(self.labels_.max(initial=-1)) + 1
        labels = self.labels_[rows]
        assigned = np.flatnonzero(labels >= 0)
        places, shape = (labels[assigned], assigned), (self.n_clusters_, len(labels))
        sums: Any = sparse.csr_array((np.ones(len(assigned)), places), shape=shape) @ unit_rows(vectors)
        dense = sums.toarray() if sparse.issparse(sums) else np.asarray(sums)
        sizes = np.bincount(labels[assigned], minlength=self.n_clusters_)
        self.cluster_centers_: npt.NDArray[np.float64] = dense / sizes[:, None]
        return self

    def predict(self, x: Sequence[str] | Matrix) -> Labels:
        """Return the (n,) label of the cluster with the highest mean cosine to each sentence or vector."""
        check_is_fitted(self)
        products: Any = unit_rows(self._vectors(x)) @ self.cluster_centers_.T
        labels: Labels = np.asarray(products).argmax(axis=1).astype(np.int32)
        return labels

    def _vectors(self, x: Sequence[str] | Matrix) -> Matrix:
        """Return given vectors unchanged, or encode sentences; the model is loaded once per fit."""
        if sparse.issparse(x):
            return sparse.csr_array(x)
        if isinstance(x, np.ndarray) and x.ndim == 2:
            return x
        if self.model_ is None:
            self.model_ = encoder(self.model)
        vectors: Matrix = self.model_.encode(list(x))
        return vectors
