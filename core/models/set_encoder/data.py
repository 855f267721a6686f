"""Sets of sentences as arrays: vectors of the base models, tf-idf, and padded batches."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor

from themescope.core.errors import DataError
from themescope.core.models.bag_of_words import Tfidf, TfidfConfig
from themescope.core.models.base import unit_length
from themescope.core.models.contrastive.sampling import Batch, Index, SectionedArticles
from themescope.core.models.set_encoder.network import SetTransformer, centred
from themescope.core.protocols import Report
from themescope.core.types import FittedModel, Sentence

Floats = npt.NDArray[np.float32]
_BLOCK = 4_096  # sentences embedded at once


@dataclass(frozen=True)
class SetData:
    """Sentences of articles as the network reads them."""

    articles: SectionedArticles
    vectors: npt.NDArray[np.float16]
    """(n, dim) unit vectors of the base models, at half precision because a corpus has many."""
    words: sparse.csr_array
    """(n, columns) tf-idf within the article."""

    def fingerprint(self) -> str:
        """Return a digest of the vectors and the sections."""
        digest = hashlib.blake2b(digest_size=8)
        for array in (self.vectors, self.articles.sections, self.articles.starts, self.words.indices):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()


def set_data(
    sentences: Sequence[Sentence], articles: SectionedArticles, models: Sequence[FittedModel], report: Report
) -> SetData:
    """Embed the sentences of ``articles``, which are rows of ``sentences``, block by block of whole articles."""
    vectors, words = [], []
    for rows in _blocks(articles):
        report.progress(rows[0], len(articles.sentences), "sentences embedded")
        block = [sentences[i] for i in articles.sentences[rows].tolist()]
        vectors.append(base_vectors(block, models).astype(np.float16))
        words.append(tfidf(block))
    if not vectors:
        return SetData(articles, base_vectors([], models).astype(np.float16), tfidf([]))
    return SetData(articles, np.concatenate(vectors), sparse.csr_array(sparse.vstack(words, format="csr")))


def _blocks(articles: SectionedArticles) -> Iterator[Index]:
    begin = 0
    for end in articles.starts[1:].tolist():
        if end - begin >= _BLOCK or end == articles.starts[-1]:
            yield np.arange(begin, end)
            begin = end


def base_vectors(sentences: Sequence[Sentence], models: Sequence[FittedModel]) -> Floats:
    """Return (n, sum of dimensions) vectors of all models, each with the same weight; length 1, or 0 without words.

    Raises ``DataError`` for a model with sparse vectors.
    """
    found = [model.embed(sentences) for model in models]
    if any(sparse.issparse(x) for x in found):
        raise DataError("The set encoder includes tf-idf already. Name models with dense vectors only.")
    return unit_length(np.concatenate([unit_length(np.asarray(x, np.float32)) for x in found], axis=1))


def tfidf(sentences: Sequence[Sentence]) -> sparse.csr_array:
    """Return (n, columns) float32 tf-idf rows of length 1, each within its article and without stop words."""
    found: Any = Tfidf(TfidfConfig(stop_words=False), 0).embed(sentences)
    return sparse.csr_array(found, dtype=np.float32)


def word_similarities(words: sparse.csr_array) -> Floats:
    """Return the (n, n) cosines of tf-idf rows, with a zero diagonal."""
    similarity: Any = (words @ words.T).toarray()
    np.fill_diagonal(similarity, 0)
    return np.asarray(similarity, np.float32)


def batch_similarities(network: SetTransformer, data: SetData, batch: Batch) -> Tensor:
    """Return (m, m) similarities y·y′ + λS of the sentences of a batch."""
    device = network.mix.device
    words = torch.from_numpy(word_similarities(data.words[batch.rows])).to(device)
    x = torch.from_numpy(data.vectors[batch.rows].astype(np.float32)).to(device)
    places = torch.from_numpy(_padded(batch.articles)).to(device)
    real, filled = places >= 0, places.clamp(min=0)
    moved = network(*_sets(x[filled], words[filled.unsqueeze(2), filled.unsqueeze(1)], real))
    flat: Tensor = moved[real]  # the rows of a batch are in order of their articles
    return flat @ flat.T + network.words * words


def encode_set(network: SetTransformer, x: Floats, words: sparse.csr_array, device: torch.device) -> Floats:
    """Return (n, dim) unit vectors of the sentences of one set; ``x`` are unit rows, none of which is zero."""
    real = torch.ones((1, len(x)), dtype=torch.bool, device=device)
    vectors, similarity = (torch.from_numpy(part).to(device).unsqueeze(0) for part in (x, word_similarities(words)))
    with torch.inference_mode():
        return np.asarray(network(*_sets(vectors, similarity, real))[0].cpu().numpy())


def _sets(x: Tensor, similarity: Tensor, real: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return what the network reads: centred rows, similarities of real rows, and which rows are real."""
    pairs = real.unsqueeze(2) & real.unsqueeze(1)
    return centred(x * real.unsqueeze(2), real), similarity * pairs, real


def _padded(articles: Index) -> Index:
    """Return (articles, longest) places of the rows of each article, -1 for padding."""
    counts = np.bincount(articles)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    columns = np.arange(counts.max())
    return np.where(columns < counts[:, None], starts[:, None] + columns, -1).astype(np.int64)


def sets_of(sentences: Sequence[Sentence], limit: int) -> Iterator[Index]:
    """Yield the rows of the sentences of each article; a longer one in parts of about equal size, by a hash of texts.

    Sentences without an article form one set.
    """
    _, groups = np.unique([s.article_id for s in sentences], return_inverse=True)
    order = np.argsort(groups, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        if len(rows) <= limit:
            yield rows
            continue
        hashed = np.array(sorted(rows.tolist(), key=lambda row: _hashed(sentences[row])), np.int64)
        yield from np.array_split(hashed, -(-len(rows) // limit))


def _hashed(sentence: Sentence) -> tuple[bytes, int]:
    return hashlib.blake2b(sentence.text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), sentence.id
