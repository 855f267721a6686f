import dataclasses
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from tests.core.reports import Watched
from themescope.core.errors import Cancelled, DataError
from themescope.core.models.contrastive import sampling, training
from themescope.core.models.contrastive.config import DistillationConfig
from themescope.core.models.contrastive.training import drop_teacher, teacher_of
from themescope.core.types import SILENT, Corpus, NullReport, Sentence

CONFIG = DistillationConfig(distillation=0.25, distillation_temperature=0.5)


class Model:
    """A teacher whose vectors are determined by the texts; counts the sentences it embeds."""

    def __init__(self, seed=0):
        self.seed, self.embedded = seed, 0

    def embed(self, sentences):
        self.embedded += len(sentences)
        rows = [np.random.default_rng([self.seed, *s.text.encode()]).normal(size=5) for s in sentences]
        return np.array(rows, np.float32).reshape(-1, 5)


class Sparse(Model):
    def embed(self, sentences):
        return sparse.csr_array(super().embed(sentences))


SENTENCES = [
    Sentence(f"{article} {section} {number}", article_id=article, section=section)
    for article in range(6)
    for section in range(3)
    for number in range(4)
]
ARTICLES = sampling.sectioned_articles(SENTENCES)


def teacher(model, config=CONFIG, report=SILENT):
    return teacher_of(Corpus(models=(model,)), SENTENCES, ARTICLES, config, 0, report)


def batches():
    return sampling.EpochBatches(ARTICLES, CONFIG.sample_size(), 2, 0, 0)


def probabilities(row, kept):
    values = [math.exp(row[k]) for k in kept]
    return [value / sum(values) for value in values]


def divergence_by_loops(logits, taught, candidates):
    found = []
    for i in range(len(logits)):
        kept = np.flatnonzero(candidates[i])
        if len(kept):
            ours, theirs = probabilities(logits[i], kept), probabilities(taught[i], kept)
            found.append(sum(q * math.log(q / p) for p, q in zip(ours, theirs, strict=True)))
    return sum(found) / max(len(found), 1)


@given(st.lists(st.integers(0, 2), min_size=1, max_size=9), st.integers(0, 1_000))
def test_the_divergence_equals_its_definition_and_is_least_for_a_student_that_equals_its_teacher(articles, seed):
    random = np.random.default_rng(seed)
    logits, taught = random.normal(0, 2, (2, len(articles), len(articles)))
    candidates, _ = sampling.section_masks(torch.tensor(articles), torch.tensor(articles))
    found = sampling.distillation_loss(torch.tensor(logits), torch.tensor(taught), candidates).value
    assert float(found) == pytest.approx(divergence_by_loops(logits, taught, candidates.numpy()), abs=1e-4)
    similarities = torch.tensor(np.random.default_rng(seed).normal(0, 2, (len(articles),) * 2), requires_grad=True)
    loss = sampling.distillation_loss(similarities, similarities.detach(), candidates).value
    loss.backward()
    assert float(loss.detach()) == pytest.approx(0, abs=1e-5)
    assert torch.allclose(similarities.grad, torch.zeros_like(similarities), atol=1e-6)
    moved = similarities.detach() + torch.tensor(np.random.default_rng(seed + 1).normal(0, 1, similarities.shape))
    assert float(sampling.distillation_loss(moved, similarities.detach(), candidates).value) >= -1e-5


def test_the_loss_mixes_both_parts_and_a_weight_of_one_leaves_that_of_the_teacher_alone():
    taught, batch = teacher(Model()), batches()[0]
    similarities = torch.tensor(np.random.default_rng(3).normal(0, 1, (len(batch), len(batch))))
    candidates, _ = sampling.section_masks(torch.tensor(batch.articles), torch.tensor(batch.sections))
    x = torch.tensor(taught.vectors[batch.rows].astype(np.float32))
    divergence = sampling.distillation_loss(similarities / 0.5, (x @ x.T) / 0.5, candidates).value
    found = taught.mixed(sampling.Mean(torch.tensor(6.0), torch.tensor(3.0)), similarities, candidates, batch)
    assert float(sum(mean.value for mean in found)) == pytest.approx(0.75 * 2 + 0.25 * float(divergence), abs=1e-5)
    taught = teacher(Model(), dataclasses.replace(CONFIG, distillation=1.0))
    batch = batches()[0]
    x = torch.tensor(taught.vectors[batch.rows].astype(np.float32), requires_grad=True)
    candidates, positives = sampling.section_masks(torch.tensor(batch.articles), torch.tensor(batch.sections))
    similarities = x @ x.T
    contrast = sampling.contrastive_loss(similarities, candidates, positives)
    loss = sum(mean.value for mean in taught.mixed(contrast, similarities, candidates, batch))
    loss.backward()
    assert float(loss.detach()) == pytest.approx(0, abs=1e-5)
    assert float(x.grad.abs().max()) < 1e-5


def test_a_teacher_is_one_dense_model_that_reads_only_as_many_articles_as_allowed():
    assert teacher_of(Corpus(), SENTENCES, ARTICLES, CONFIG, 0, SILENT) is None
    assert teacher(Model(), dataclasses.replace(CONFIG, distillation=0.0)) is None
    with pytest.raises(DataError, match="sparse"):
        teacher(Sparse())
    with pytest.raises(DataError, match="one teacher"):
        teacher_of(Corpus(models=(Model(), Model())), SENTENCES, ARTICLES, CONFIG, 0, SILENT)
    model = Model()
    taught = teacher(model, dataclasses.replace(CONFIG, teacher_limit=2))
    assert model.embedded == len(taught.vectors) == 24 and (taught.places >= 0).sum() == 24
    known = taught.places >= 0
    assert len({SENTENCES[i].article_id for i in ARTICLES.sentences[known]}) == 2
    unread = np.flatnonzero(~known)[:6]
    batch = sampling.Batch(unread, np.zeros(6, np.int64), ARTICLES.sections[unread])
    assert not taught.knows(batch) and taught.knows(sampling.Batch(np.arange(len(known)), unread, unread))


def test_an_interrupted_embedding_continues_with_the_vectors_of_the_same_teacher_only(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "_BLOCK", 20)
    first, second = Model(), Model()
    with pytest.raises(Cancelled):
        teacher(first, report=Watched(tmp_path, 3))
    resumed = teacher(second, report=NullReport(tmp_path))
    assert first.embedded + second.embedded == len(SENTENCES) + 12  # the first article identifies the teacher
    assert np.array_equal(resumed.vectors, teacher(Model()).vectors)
    assert resumed.fingerprint == teacher(Model()).fingerprint != teacher(Model(1)).fingerprint
    drop_teacher(NullReport(tmp_path))
    assert not list(tmp_path.iterdir())
    teacher(Model(), report=NullReport(tmp_path))
    found = teacher(Model(1), report=NullReport(tmp_path))
    assert np.array_equal(found.vectors, teacher(Model(1)).vectors)
