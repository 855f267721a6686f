"""The BiLSTM of Ein Dor et al. (2018), trained by the contrastive loss on whole articles: ``triplets-sen-contrastive``.

The paper trains on triplets of sentences that open paragraphs. Here a batch holds sentences of all sections of a few
articles, and each is compared with all others of its article (:mod:`themescope.core.models.contrastive`). Network, word
vectors and saved files are those of the triplet network.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Self

from themescope.core.config import Config
from themescope.core.models.contrastive.sampling import DistillationConfig, split_articles
from themescope.core.models.training_loop import digest_of_arrays
from themescope.core.models.triplet_network.config import BiLstmConfig
from themescope.core.models.triplet_network.model import BiLstmModel
from themescope.core.protocols import SILENT, Report, SubReport
from themescope.core.text.word_vectors import token_ids
from themescope.core.types import Corpus

if TYPE_CHECKING:
    from torch import Tensor

    from themescope.core.models.contrastive.sampling import Batch
    from themescope.core.models.triplet_network.network import Dropout, NetworkEncoder

_READ = 0.05  # share of the progress after reading the sentences


@dataclass(frozen=True)
class ContrastiveNetConfig(BiLstmConfig, DistillationConfig):
    """Settings of ``triplets-sen-contrastive``."""


class ContrastiveNet(BiLstmModel):
    """BiLSTM with attention over fixed word vectors, cosine distance."""

    config_class: ClassVar[type[Config]] = ContrastiveNetConfig
    config: ContrastiveNetConfig

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Train on ``corpus.sections`` of the splits train and validation; a model of ``corpus`` is the teacher.

        Raises ``DataError`` without sections, and for a teacher with sparse vectors.
        """
        from themescope.core.models.contrastive.training import Examples, train_with_teacher
        from themescope.core.models.device import pick_device, pick_precision, seeded
        from themescope.core.models.triplet_network.network import BiLstmAttention, Dropout, NetworkEncoder

        parts = split_articles(corpus, self.config, self.seed, "This network")
        report.progress(0, 1, "Reading word vectors")
        self._vectors = self._read_words()
        device = pick_device(self.config.device)
        with seeded(self.seed):
            net = BiLstmAttention(self._vectors.dim, self.config.hidden, self.config.attention).to(device)
        drop = Dropout(self.config.dropout_rate, self.config.dropout_sites, self.config.mask)
        report.progress(0, 1, "Reading the sentences")
        examples = []
        for sentences, articles in parts:
            tokens = token_ids((sentences[i].text for i in articles.sentences.tolist()), self._vectors)
            encoder = NetworkEncoder(net, tokens, pick_precision(self.config.precision, device))
            digest = digest_of_arrays(tokens.ids, tokens.starts, tokens.table, articles.sections)
            examples.append(Examples(articles, partial(_similarities, encoder, drop), digest))
        teaching, stage = (corpus, parts[0][0]), SubReport(report, _READ, 1.0)
        training, validation = examples
        trained = train_with_teacher(self.config, self.seed, net, training, validation, teaching, stage)
        self._net = net.cpu().eval()
        self.metrics, self.history = trained.metrics, trained.history
        return self


def _similarities(encoder: NetworkEncoder, drop: Dropout, batch: Batch) -> Tensor:
    """Return the (m, m) cosines of the sentences of a batch; dropout is applied in training mode only."""
    import torch
    from torch.nn import functional

    training = encoder.net.training
    if training:
        drop.reseed(int(torch.randint(2**31, ())), 0)  # the training loop seeds torch in every step
    vectors = functional.normalize(encoder.encode(batch.rows, lambda: None, drop if training else None), dim=1)
    return vectors @ vectors.T
