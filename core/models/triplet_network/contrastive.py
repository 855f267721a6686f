"""The BiLSTM of Ein Dor et al. (2018), trained by the contrastive loss on whole articles: ``triplets-sen-contrastive``.

The paper trains on triplets of sentences that open paragraphs. Here a batch holds sentences of all sections of a few
articles, and each is compared with all others of its article (:mod:`themescope.core.models.contrastive`). Network, word
vectors and saved files are those of the triplet network.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from themescope.core.config import Config, option
from themescope.core.models.contrastive.config import DistillationConfig
from themescope.core.models.contrastive.sampling import SectionedArticles, sectioned_articles, training_and_validation
from themescope.core.models.triplet_network.bilstm import BiLstmModel
from themescope.core.models.triplet_network.config import SITES
from themescope.core.protocols import SILENT, Report, SubReport
from themescope.core.text.word_vectors import STORAGES, TokenIds, WordVectors, token_ids
from themescope.core.types import Corpus, Sentence

if TYPE_CHECKING:
    from torch import Tensor

    from themescope.core.models.contrastive.sampling import Batch
    from themescope.core.models.contrastive.training import Examples
    from themescope.core.models.triplet_network.network import BiLstmAttention, Dropout, NetworkEncoder

_READING, _TAUGHT = 0.05, 0.5  # shares of the progress after reading the sentences, and after a teacher has


@dataclass(frozen=True)
class ContrastiveNetConfig(DistillationConfig):
    """Settings of ``triplets-sen-contrastive``."""

    hidden: int = option(
        300, "Units of the LSTM in each direction; a sentence vector has twice as many dimensions.", low=2, high=2_000
    )
    attention: int = option(200, "Units of the attention layer.", low=1, high=2_000)
    dropout_rate: float = option(0.2, "Share of dimensions that is masked in training.", low=0, high=0.95)
    dropout_sites: tuple[str, ...] = option(
        ("input", "states"),
        "Where dropout is applied: word vectors, LSTM states or the sentence vector.",
        choices=SITES,
    )
    mask: str = option(
        "per-token", "Sample a new mask for every token, or one for the whole sentence.",
        choices=("per-token", "per-sequence"),
    )  # fmt: skip
    word_vectors: str = option(
        "glove-6b-50d",
        "Table of word vectors: the id of a table, a file, or distilled:FOLDER of a sentence encoder (distilled: alone "
        "uses the installed one).",
        file=True,
    )
    vocabulary_limit: int = option(0, "Read only the first words of the table, this many; 0 reads all.", low=0)
    storage: str = option(
        "int8", "Number format of the word vectors in training and in the saved model; int8 needs half of fp16.",
        choices=STORAGES,
    )  # fmt: skip


class ContrastiveNet(BiLstmModel):
    """BiLSTM with attention over fixed word vectors, cosine distance."""

    config_class: ClassVar[type[Config]] = ContrastiveNetConfig
    config: ContrastiveNetConfig

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Train on ``corpus.sections`` of the splits train and validation; a model of ``corpus`` is the teacher.

        Raises ``DataError`` without sections, and for a teacher with sparse vectors.
        """
        from themescope.core.models.contrastive.distillation import drop_teacher, teacher_of
        from themescope.core.models.contrastive.training import train
        from themescope.core.models.device import pick_device
        from themescope.core.models.triplet_network.network import Dropout

        parts = training_and_validation(corpus, "This network")
        report.progress(0, 1, "Reading word vectors")
        self._vectors = self._read_words()
        device = pick_device(self.config.device)
        net = self._initial_network(self._vectors.dim).to(device)
        drop = Dropout(self.config.dropout_rate, self.config.dropout_sites, self.config.mask)
        report.progress(0, 1, "Reading the sentences")
        limits = (self.config.training_limit, self.config.validation_limit)
        training, validation = (
            self._source(net, drop, _tokenised(part, self._vectors, limit, self.seed))
            for part, limit in zip(parts, limits, strict=True)
        )
        stage = SubReport(report, _READING, _TAUGHT)
        teacher = teacher_of(corpus, parts[0], training.articles, self.config, self.seed, stage)
        stage = SubReport(report, _TAUGHT if teacher else _READING, 1.0)
        trained = train(self.config, self.seed, net, replace(training, teacher=teacher), validation, stage)
        drop_teacher(report)
        self._net = net.cpu().eval()
        self.metrics, self.history = trained.metrics, trained.history
        return self

    def _initial_network(self, dim: int) -> BiLstmAttention:
        from themescope.core.models.device import seeded
        from themescope.core.models.triplet_network.network import BiLstmAttention

        with seeded(self.seed):
            return BiLstmAttention(dim, self.config.hidden, self.config.attention)

    def _source(self, net: BiLstmAttention, drop: Dropout, data: _Tokenised) -> Examples:
        """Return articles as training data of the network."""
        from themescope.core.models.contrastive.training import Examples
        from themescope.core.models.device import pick_precision
        from themescope.core.models.triplet_network.network import NetworkEncoder

        device = next(net.parameters()).device
        encoder = NetworkEncoder(net, data.tokens, pick_precision(self.config.precision, device))
        return Examples(data.articles, partial(_similarities, encoder, drop), data.fingerprint())


@dataclass(frozen=True)
class _Tokenised:
    """Tokenised sentences of articles."""

    articles: SectionedArticles
    tokens: TokenIds

    def fingerprint(self) -> str:
        """Return a digest of the tokens, their vectors and the sections."""
        digest = hashlib.blake2b(digest_size=8)
        for array in (self.tokens.ids, self.tokens.starts, self.tokens.table, self.articles.sections):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()


def _tokenised(sentences: Sequence[Sentence], vectors: WordVectors, limit: int, seed: int) -> _Tokenised:
    """Tokenise the sentences of at most ``limit`` articles, sampled with ``seed``; 0 takes all."""
    articles = sectioned_articles(sentences).limited(limit, seed)
    return _Tokenised(articles, token_ids((sentences[i].text for i in articles.sentences.tolist()), vectors))


def _similarities(encoder: NetworkEncoder, drop: Dropout, batch: Batch) -> Tensor:
    """Return the (m, m) cosines of the sentences of a batch; dropout is applied in training mode only."""
    import torch
    from torch.nn import functional

    training = encoder.net.training
    if training:
        drop.reseed(int(torch.randint(2**31, ())), 0)  # the training loop seeds torch in every step
    vectors = functional.normalize(encoder.encode(batch.rows, _no_tick, drop if training else None), dim=1)
    return vectors @ vectors.T


def _no_tick() -> None:
    """Do nothing between chunks of sentences: the training loop reports each batch."""
