"""The transformer of the set encoder (after Lee et al. 2019, Set Transformer, without positions).

For the unit vectors X of the sentences of an article, centred in the article, and their tf-idf similarities S:

    H = A √d X,  H ← H + Attention(norm H; 5 β_h S)  and  H ← H + MLP(norm H) in each block,  Y = unit(X + B norm H)

β_h is learned for each head of each block and added to its attention logits, unless ``word_bias`` is off. The factor
√d gives the coordinates of X variance 1, so that the first block does not drown a sentence in the mean of its article.
B starts at zero, so that training starts from the vectors of the base model. The similarity of two sentences is
y·y′ + λ S with a learned λ.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor, nn
from torch.nn import functional

from themescope.core.models.bag_of_words import Tfidf, TfidfConfig
from themescope.core.models.base import unit_length
from themescope.core.models.checkpoints import digest_of_arrays
from themescope.core.models.contrastive.sampling import Batch, SectionedArticles
from themescope.core.protocols import Report
from themescope.core.types import FittedModel, Float32, Index, Sentence

_BIAS_SCALE = 5.0
_SHORTEST = 1e-4  # centred vectors below this length are rounding noise


class SetTransformer(nn.Module):
    """(a, n, dim) centred unit vectors of a sets of n sentences → (a, n, dim) unit vectors."""

    def __init__(
        self,
        dim: int,
        width: int = 256,
        layers: int = 3,
        heads: int = 4,
        dropout: float = 0.1,
        words: float = 0.5,
        word_bias: bool = True,
    ) -> None:
        super().__init__()
        self.bias_scale = _BIAS_SCALE if word_bias else 0.0
        self.inward = nn.Linear(dim, width)
        self.blocks = nn.ModuleList(_Block(width, heads, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.outward = nn.Linear(width, dim, bias=False)
        nn.init.zeros_(self.outward.weight)
        self.dropout = nn.Dropout(dropout)
        self.mix = nn.Parameter(torch.tensor(float(words)))

    @property
    def words(self) -> Tensor:
        """The weight λ ≥ 0 of the tf-idf similarity, against 1 for the cosine."""
        return self.mix.clamp(min=0)

    def forward(self, x: Tensor, similarity: Tensor, real: Tensor) -> Tensor:
        """Return the vectors of padded sets; padding has no influence and is zero.

        ``similarity`` is (a, n, n) by tf-idf, ``real`` (a, n) whether a row is a sentence and not padding.
        """
        padding = torch.zeros(real.shape, device=x.device).masked_fill(~real, torch.finfo(torch.float32).min)
        h = self.inward(self.dropout(x) * math.sqrt(x.shape[2]))
        for block in self.blocks:
            h = block(h, self.bias_scale * similarity, padding)
        moved: Tensor = functional.normalize(x + self.outward(self.norm(h)), dim=2)
        return moved * real.unsqueeze(2)


class _Block(nn.Module):
    """A pre-norm transformer block whose attention logits are biased by a similarity."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.rate = heads, dropout
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.queries_keys_values, self.joined = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.beta = nn.Parameter(torch.ones(heads))
        self.dropout = nn.Dropout(dropout)

    def forward(self, h: Tensor, bias: Tensor, padding: Tensor) -> Tensor:
        """Return (a, n, width) states. ``bias`` is (a, n, n); ``padding`` (a, n), very low where there is no row."""
        h = h + self.dropout(self._attention(self.first(h), bias, padding))
        moved: Tensor = self.dropout(self.narrow(functional.gelu(self.wide(self.second(h)))))
        return h + moved

    def _attention(self, h: Tensor, bias: Tensor, padding: Tensor) -> Tensor:
        a, n, width = h.shape
        parts = self.queries_keys_values(h).view(a, n, 3, self.heads, width // self.heads)
        queries, keys, values = parts.permute(2, 0, 3, 1, 4)
        logits = self.beta.view(1, -1, 1, 1) * bias.unsqueeze(1) + padding.view(a, 1, 1, n)
        rate = self.rate if self.training else 0.0
        found = functional.scaled_dot_product_attention(queries, keys, values, attn_mask=logits, dropout_p=rate)
        joined: Tensor = self.joined(found.transpose(1, 2).reshape(a, n, width))
        return joined


def centred(x: Tensor, real: Tensor) -> Tensor:
    """Return (a, n, dim) unit vectors of the rows of ``x`` minus the mean over the ``real`` (a, n) rows of their set.

    ``x`` has unit rows. A row equal to the mean, such as that of the only sentence of a set, is not centred.
    """
    shares = real.unsqueeze(2) / real.sum(dim=1).clamp(min=1).view(-1, 1, 1)
    moved = x - (x * shares).sum(dim=1, keepdim=True)
    usable = torch.linalg.vector_norm(moved, dim=2, keepdim=True) > _SHORTEST
    return functional.normalize(torch.where(usable, moved, x), dim=2) * real.unsqueeze(2)


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
        return digest_of_arrays(self.vectors, self.articles.sections, self.articles.starts, self.words.indices)


def set_data(
    sentences: Sequence[Sentence], articles: SectionedArticles, models: Sequence[FittedModel], report: Report
) -> SetData:
    """Embed the sentences of ``articles``, which are rows of ``sentences``, block by block of whole articles."""
    vectors, words, begin = [], [], 0
    for end in articles.starts[1:].tolist():
        if end - begin >= _BLOCK or end == articles.starts[-1]:
            report.progress(begin, len(articles.sentences), "sentences embedded")
            block = [sentences[i] for i in articles.sentences[begin:end].tolist()]
            vectors.append(base_vectors(block, models).astype(np.float16))
            words.append(tfidf(block))
            begin = end
    if not vectors:
        return SetData(articles, base_vectors([], models).astype(np.float16), tfidf([]))
    return SetData(articles, np.concatenate(vectors), sparse.csr_array(sparse.vstack(words, format="csr")))


def base_vectors(sentences: Sequence[Sentence], models: Sequence[FittedModel]) -> Float32:
    """Return (n, sum of dimensions) vectors of all models, each with the same weight; length 1, or 0 without words."""
    parts = [unit_length(np.asarray(model.embed(sentences), np.float32)) for model in models]
    return unit_length(np.concatenate(parts, axis=1))


def tfidf(sentences: Sequence[Sentence]) -> sparse.csr_array:
    """Return (n, columns) float32 tf-idf rows of length 1, each within its article and without stop words."""
    found: Any = Tfidf(TfidfConfig(stop_words=False), 0).embed(sentences)
    return sparse.csr_array(found, dtype=np.float32)


def word_similarities(words: sparse.csr_array) -> Float32:
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


def encode_set(network: SetTransformer, x: Float32, words: sparse.csr_array, device: torch.device) -> Float32:
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
        texts = {row: sentences[row].text.encode("utf-8", "surrogatepass") for row in rows.tolist()}
        hashes = {row: hashlib.blake2b(text, digest_size=8).digest() for row, text in texts.items()}
        hashed = np.array(sorted(hashes, key=lambda row: (hashes[row], sentences[row].id)), np.int64)
        yield from np.array_split(hashed, -(-len(rows) // limit))
