import dataclasses

import numpy as np
import pytest
import torch
from torch import nn

from tests.core.reports import Watched
from themescope.core.errors import Cancelled, TrainingError
from themescope.core.models.contrastive.config import ContrastiveConfig
from themescope.core.models.contrastive.sampling import sectioned_articles
from themescope.core.models.contrastive.training import VALIDATION, Examples, train
from themescope.core.types import SILENT, NullReport, Sentence

CONFIG = ContrastiveConfig(
    articles_per_batch=2, epochs=8, learning_rate=0.05, patience_stop=50, threads=1, device="cpu", checkpoint_seconds=0,
    precision="fp32",
)  # fmt: skip


class Linear(nn.Module):
    """A map to two dimensions with dropout, and a parameter that is not trained."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.map, self.dropout = nn.Linear(6, 2, bias=False), nn.Dropout(0.2)
        self.fixed = nn.Parameter(torch.ones(3), requires_grad=False)

    def forward(self, x):
        return nn.functional.normalize(self.map(self.dropout(x)), dim=1)


def source(network, seed, articles=6):
    """Articles of three sections, which the first two of six dimensions tell apart; the others are noise."""
    random = np.random.default_rng(seed)
    sentences = [Sentence("x", article_id=a, section=s) for a in range(articles) for s in range(3) for _ in range(5)]
    x = random.normal(0, 2, (len(sentences), 6)).astype(np.float32)
    angles = np.array([2 * np.pi * s.section / 3 for s in sentences])
    x[:, 0], x[:, 1] = np.cos(angles), np.sin(angles)

    def similarities(batch):
        y = network(torch.from_numpy(x[found.sentences[batch.rows]]))
        return y @ y.T

    found = sectioned_articles(sentences)
    return Examples(found, similarities, f"data {seed}")


def trained(config=CONFIG, report=SILENT, seed=1):
    network = Linear()
    return train(config, seed, network, source(network, 1), source(network, 2), report), network


def test_training_raises_the_precision_and_returns_the_best_weights():
    result, network = trained()
    precisions = [row[VALIDATION] for row in result.history]
    assert result.metrics[VALIDATION] == max(precisions) > precisions[0] + 0.1
    assert set(result.weights) == {"map.weight"}
    assert torch.equal(network.map.weight, result.weights["map.weight"]) and torch.equal(network.fixed, torch.ones(3))
    losses = [row["training loss"] for row in result.history if "training loss" in row]
    assert losses[-1] < losses[0]


def test_the_learning_rate_rises_and_falls_to_zero_and_training_stops_without_gains():
    rates = [row["learning rate"] for row in trained(dataclasses.replace(CONFIG, warmup=0.5))[0].history[1:]]
    top = int(np.argmax(rates))
    assert 0 < top < len(rates) - 1
    assert all(np.diff(rates[: top + 1]) > 0) and all(np.diff(rates[top:]) < 0)
    assert max(rates) <= CONFIG.learning_rate and rates[-1] < CONFIG.learning_rate / 5
    config = dataclasses.replace(CONFIG, learning_rate=1e-7, patience_stop=2)
    assert len(trained(config)[0].history) == 3


@pytest.mark.parametrize("count", [3, 17, 30])
def test_a_cancelled_training_resumes_to_the_same_weights(tmp_path, count):
    with pytest.raises(Cancelled):
        trained(report=Watched(tmp_path, count))
    assert list(tmp_path.iterdir())
    report = Watched(tmp_path)
    resumed, whole = trained(report=report)[0], trained()[0]
    assert len(report.calls) < len(whole.history) * 7 + int(whole.metrics["steps"])
    assert torch.equal(resumed.weights["map.weight"], whole.weights["map.weight"])
    assert resumed.history == whole.history
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_of_other_settings_is_not_used(tmp_path):
    with pytest.raises(Cancelled):
        trained(report=Watched(tmp_path, 30))
    other = dataclasses.replace(CONFIG, temperature=0.5)
    resumed = trained(other, NullReport(tmp_path))[0]
    assert torch.equal(resumed.weights["map.weight"], trained(other)[0].weights["map.weight"])


def test_what_cannot_be_learned_from_ends_the_training():
    network = Linear()
    with pytest.raises(TrainingError, match="no validation articles"):
        train(CONFIG, 1, network, source(network, 1), source(network, 2, articles=0), SILENT)
    found = source(network, 1)
    broken = dataclasses.replace(found, similarities=lambda batch: found.similarities(batch) * torch.nan)
    with pytest.raises(TrainingError, match="not finite"):
        train(CONFIG, 1, network, broken, found, SILENT)
