"""Training loop of the contrastive methods: AdamW and early stopping (:mod:`themescope.core.models.networks`)."""

from __future__ import annotations

import hashlib
import math
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import Tensor, nn

from themescope.core.errors import DataError, TrainingError
from themescope.core.models.base import unit_length
from themescope.core.models.contrastive.config import ContrastiveConfig, DistillationConfig
from themescope.core.models.contrastive.sampling import (
    Batch,
    EpochBatches,
    Mean,
    SectionedArticles,
    average_precision,
    contrastive_loss,
    distillation_loss,
    section_masks,
    validation_batches,
)
from themescope.core.models.networks import (
    Trained,
    ValidatedLoop,
    Weights,
    digest_of_arrays,
    read_arrays,
    seeded,
    thread_count,
    write_arrays,
)
from themescope.core.types import Corpus, FittedModel, Index, Report, Sentence, SubReport

_VALIDATION_SENTENCES = 200  # per article
VALIDATION = "validation precision"
"""Name of the measure that decides when training stops: mean average precision, averaged over articles."""


@dataclass(frozen=True)
class Examples:
    """Articles of one split and what the network says about a batch of them."""

    articles: SectionedArticles
    similarities: Callable[[Batch], Tensor]
    """Return the (m, m) float32 similarities of the sentences of a batch, by the network in its current mode.

    Those of sentences of different articles are ignored. The function computes on the device of the network.
    """
    fingerprint: str
    """Digest of the data, which a checkpoint belongs to."""
    teacher: Teacher | None = None
    """What a fitted model says about the same articles; None without distillation."""


def train(
    config: ContrastiveConfig, seed: int, network: nn.Module, training: Examples, validation: Examples, report: Report
) -> Trained:
    """Train ``network`` in place and return the weights with the best precision on ``validation``.

    The initial network is a candidate as well. Parameters that need no gradient are neither changed nor returned.
    Resumes from the checkpoint folder of ``report`` if it has a checkpoint of the same settings, seed and data. Raises
    ``TrainingError`` without articles, or when the loss is no longer finite.
    """
    for name, source in (("training", training), ("validation", validation)):
        if not len(source.articles):
            raise TrainingError(
                f"There are no {name} articles with two sections and two sentences in one of them. Use more articles, "
                "or less strict rules for sections."
            )
    with thread_count(config.threads):
        return _Training(config, seed, network, (training, validation), report).run()


def train_with_teacher(
    config: DistillationConfig,
    seed: int,
    network: nn.Module,
    training: Examples,
    validation: Examples,
    teaching: tuple[Corpus, Sequence[Sentence]],
    report: Report,
) -> Trained:
    """Train as :func:`train` does; the model of a corpus, if it has one, is the teacher.

    ``teaching`` are the corpus and the sentences that the articles of ``training`` refer to.
    """
    teacher = teacher_of(*teaching, training.articles, config, seed, SubReport(report, 0.0, 0.5))
    stage = SubReport(report, 0.5, 1.0) if teacher else report
    trained = train(config, seed, network, replace(training, teacher=teacher), validation, stage)
    drop_teacher(report)
    return trained


class _Training(ValidatedLoop[Batch]):
    measure: ClassVar[str] = VALIDATION
    curves: ClassVar[tuple[str, ...]] = (VALIDATION, "validation loss")

    def __init__(
        self, config: ContrastiveConfig, seed: int, network: nn.Module, data: tuple[Examples, Examples], report: Report
    ) -> None:
        training, validation = data
        taught = [training.teacher.fingerprint] if training.teacher else []
        super().__init__(config, seed, [training.fingerprint, validation.fingerprint, *taught], report, rate=0.0)
        self.config, self.network = config, network
        self.training, self.validation = training, validation
        self.named = {name: p for name, p in network.named_parameters() if p.requires_grad}
        matrices = [p for p in self.named.values() if p.dim() > 1]  # vectors and numbers do not decay
        others = [p for p in self.named.values() if p.dim() <= 1]
        decays = ((matrices, config.weight_decay), (others, 0.0))
        groups = [{"params": part, "weight_decay": decay} for part, decay in decays if part]
        self.optimizer = torch.optim.AdamW(groups, lr=config.learning_rate)
        self.best = self._state()

    def run(self) -> Trained:
        """Train to the end, and give the network its best weights."""
        articles = self.training.articles
        counts = {"training articles": len(articles), "training sentences": len(articles.sentences)}
        trained = self._trained({name: float(count) for name, count in counts.items()})
        trained.metrics["sentences/s"] = self._speed()
        _take(self.network, self.best)
        return trained

    def _batches_of(self, epoch: int) -> EpochBatches:
        config = self.config
        return EpochBatches(self.training.articles, config.sample_size(), config.articles_per_batch, self.seed, epoch)

    def _step(self, batch: Batch, batches: int) -> None:
        total = batches * self.config.epochs  # the rate rises linearly, then falls linearly to 0 at the last step
        rising = math.ceil(self.config.warmup * total)
        step = self.at.step
        share = (step + 1) / (rising + 1) if step < rising else (total - step) / max(total - rising, 1)
        self._set_rate(self.config.learning_rate * share)
        self.network.train()
        with seeded((self.seed * 1_000_003 + self.at.step) % 2**63, next(self.network.parameters()).device):
            self._tick()
            loss, similarities, candidates = self._loss(self.training, batch)
            means, teacher = [loss], self.training.teacher
            if teacher is not None and teacher.knows(batch):
                means = teacher.mixed(loss, similarities, candidates, batch)
            self._descend(torch.stack([mean.value for mean in means]).sum(), self.named.values(), len(batch))

    def _loss(self, source: Examples, batch: Batch) -> tuple[Mean, Tensor, Tensor]:
        """Return the contrastive loss of a batch, the (m, m) similarities of its sentences, and their candidates."""
        similarities = source.similarities(batch)
        labels = (torch.from_numpy(x).to(similarities.device) for x in (batch.articles, batch.sections))
        candidates, positives = section_masks(*labels)
        return contrastive_loss(similarities / self.config.temperature, candidates, positives), similarities, candidates

    def _measured(self) -> dict[str, float]:
        """Return the mean precision and the mean loss over the validation articles in which they are defined."""
        self.network.eval()
        articles = self.validation.articles
        found = np.zeros((len(articles), 2))
        batches = validation_batches(articles, np.arange(len(articles)), _VALIDATION_SENTENCES, self.seed)
        with torch.inference_mode():
            for row, batch in enumerate(batches):
                self._tick()
                loss, similarities, _ = self._loss(self.validation, batch)
                precision = average_precision(similarities.float().cpu().numpy(), batch.sections)
                found[row] = precision, float(loss.value)
        precision, loss_of_all = np.nanmean(found, axis=0).tolist()
        return {VALIDATION: precision, "validation loss": loss_of_all}

    def _done(self) -> tuple[float, float]:
        return self.at.step, len(self._batches()) * self.config.epochs

    def _weights(self) -> tuple[Weights, Weights]:
        return self._state(), self.best

    def _restore(self, weights: Weights, best: Weights) -> None:
        _take(self.network, weights)
        self.best = dict(best)

    def _state(self) -> dict[str, Tensor]:
        return {name: p.detach().cpu().clone() for name, p in self.named.items()}


def _take(network: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Give the parameters that are trained these weights, by name."""
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if parameter.requires_grad:
                parameter.copy_(weights[name])


# Distillation: a fitted model as the teacher of a contrastive method (Hinton et al. 2015)

_BLOCK = 4_096  # sentences embedded, and written to the checkpoint folder, at once
_FOLDER = "teacher"
_TOLERANCE = 0.02  # of a coordinate of a unit vector: another teacher differs by more, bfloat16 by less

Float16 = npt.NDArray[np.float16]


@dataclass(frozen=True)
class Teacher:
    """Vectors of a fitted model for the training articles, and their part in the loss."""

    vectors: Float16
    """(k, dim) unit vectors, at half precision because a corpus has many."""
    places: Index
    """(n,) row of ``vectors`` of each row of the training data, -1 where the teacher has not read it."""
    weight: float
    temperature: float

    def knows(self, batch: Batch) -> bool:
        """Return whether the teacher has read a sentence of the batch."""
        return bool((self.places[batch.rows] >= 0).any())

    def mixed(self, loss: Mean, similarities: Tensor, candidates: Tensor, batch: Batch) -> list[Mean]:
        """Return the parts of (1 − α)·``loss`` + α·divergence; the second concerns what the teacher has read."""
        places = self.places[batch.rows]
        known = torch.from_numpy(places >= 0).to(similarities.device)
        x = torch.from_numpy(self.vectors[np.maximum(places, 0)].astype(np.float32)).to(similarities.device)
        logits, teacher = similarities / self.temperature, (x @ x.T) / self.temperature
        divergence = distillation_loss(logits, teacher, candidates & known)
        parts = ((1 - self.weight, loss), (self.weight, divergence))
        return [Mean(share * part.total, part.weight) for share, part in parts]

    @property
    def fingerprint(self) -> str:
        """Digest of the vectors and of the rows they belong to."""
        return digest_of_arrays(self.vectors, self.places)


def teacher_of(
    corpus: Corpus,
    sentences: Sequence[Sentence],
    articles: SectionedArticles,
    config: DistillationConfig,
    seed: int,
    report: Report,
) -> Teacher | None:
    """Embed ``articles``, which are rows of ``sentences``, with the model of ``corpus``; None without a model.

    Finished blocks are kept in the checkpoint folder of ``report``, so that an interrupted training does not embed them
    again; :func:`drop_teacher` removes them. Raises ``DataError`` for several models and for one with sparse vectors.
    """
    if not corpus.models or not config.distillation or not len(articles):
        return None
    if len(corpus.models) > 1:
        raise DataError(f"A training has one teacher, but {len(corpus.models)} models are given. Name one model.")
    chosen = np.arange(len(articles.sentences))
    if config.teacher_limit and config.teacher_limit < len(articles):
        numbers = np.sort(np.random.default_rng(seed).permutation(len(articles))[: config.teacher_limit])
        chosen = np.concatenate([articles.rows(number) for number in numbers.tolist()])
    vectors = _Embedding(corpus.models[0], sentences, articles, report).of(chosen)
    places = np.full(len(articles.sentences), -1, np.int64)
    places[chosen] = np.arange(len(chosen))
    return Teacher(vectors, places, config.distillation, config.distillation_temperature)


def drop_teacher(report: Report) -> None:
    """Remove the vectors of the teacher from the checkpoint folder of a finished training."""
    folder = report.checkpoint_folder()
    if folder is not None and (folder / _FOLDER).is_dir():
        shutil.rmtree(folder / _FOLDER)


@dataclass(frozen=True)
class _Embedding:
    """Embeds rows of articles, whole articles at once, and keeps finished blocks as files."""

    model: FittedModel
    sentences: Sequence[Sentence]
    articles: SectionedArticles
    report: Report

    def of(self, rows: Index) -> Float16:
        """Return (len(rows), dim) unit vectors of ``rows``, which are in the order of articles.

        The first article is always embedded: its vectors tell whether the files are of this teacher. If not, they are
        removed. Vectors of a file are returned, because those of another processor may differ in the last digit.
        """
        parts: list[Float16] = []
        folder = self.report.checkpoint_folder()
        for number, block in enumerate(self._blocks(rows)):
            if number:
                self.report.progress(sum(map(len, parts)), len(rows), "sentences embedded by the teacher")
            path, key = (folder / _FOLDER / f"{number:06d}.safetensors", self._key(block)) if folder else (None, "")
            stored = read_arrays(path, key) if path else None
            found = None if stored is None else np.asarray(stored[1]["vectors"], np.float16)
            if found is None or not number:
                vectors = self._embedded(block)
                if found is None or found.shape != vectors.shape or not np.allclose(found, vectors, atol=_TOLERANCE):
                    if not number:
                        drop_teacher(self.report)
                    if path:
                        write_arrays(path, key, {}, {"vectors": vectors})
                    found = vectors
            parts.append(found)
        return np.concatenate(parts)

    def _blocks(self, rows: Index) -> list[Index]:
        """Divide ``rows`` between articles into blocks of at least ``_BLOCK`` rows; the first block is one article."""
        numbers = np.searchsorted(self.articles.starts, rows, side="right")
        bounds: list[int] = []
        begin = 0
        for end in [*(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(rows)]:
            if end - begin >= _BLOCK or not bounds or end == len(rows):
                bounds.append(end)
                begin = end
        return np.split(rows, bounds[:-1])

    def _key(self, block: Index) -> str:
        """Return a digest of the texts of a block."""
        digest = hashlib.blake2b(digest_size=8)
        for sentence in self._sentences(block):
            digest.update(sentence.text.encode("utf-8", "surrogatepass") + b"\n")
        return digest.hexdigest()

    def _embedded(self, block: Index) -> Float16:
        found: Any = self.model.embed(self._sentences(block))
        if sparse.issparse(found):
            raise DataError("The vectors of this teacher are sparse. Name a model with dense vectors.")
        return unit_length(np.asarray(found, np.float32)).astype(np.float16)

    def _sentences(self, block: Index) -> list[Sentence]:
        return [self.sentences[row] for row in self.articles.sentences[block].tolist()]
