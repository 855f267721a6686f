"""Training of the set encoder as a model."""

import numpy as np
import pytest
from scipy import sparse

from themescope.core.errors import ConfigError, DataError
from themescope.core.models.set_encoder.model import SetEncoder, SetEncoderConfig
from themescope.core.protocols import NullReport
from themescope.core.types import Corpus, Sentence, Split

CONFIG = SetEncoderConfig(width=16, layers=1, heads=2, epochs=3, threads=1, device="cpu", articles_per_batch=2)


class Base:
    """A model whose vectors encode topic and section of texts such as "3 1 7", with noise."""

    def embed(self, sentences):
        out = np.zeros((len(sentences), 8), np.float32)
        for row, sentence in zip(out, sentences, strict=True):
            topic, section, number = map(int, sentence.text.split())
            row[:] = np.random.default_rng([topic, section, number]).normal(0, 0.5, 8)
            row[topic % 4] += 5
            row[4 + section] += 1
        return out


class Sparse(Base):
    def embed(self, sentences):
        return sparse.csr_array(super().embed(sentences))


def sections(first, count=6):
    return [
        Sentence(f"{a} {s} {n}", article_id=a, section=s, position=10 * s + n)
        for a in range(first, first + count)
        for s in range(3)
        for n in range(4)
    ]


def corpus(*models):
    return Corpus(
        "c", sections={Split.TRAIN: sections(0), Split.VALIDATION: sections(50, 3)}, models=models or (Base(),)
    )


def test_training_reports_its_progress_and_keeps_the_best_state():
    class Log(NullReport):
        done: list[float] = []  # noqa: RUF012  # one test

        def progress(self, done, total, message=""):
            self.done.append(done / total)

    model = SetEncoder(CONFIG, 0).fit(corpus(), Log())
    assert Log.done == sorted(Log.done) and Log.done[0] >= 0 and Log.done[-1] <= 1
    values = [row["validation precision"] for row in model.history]
    assert model.metrics["validation precision"] == max(values) >= values[0]
    assert model.metrics["tf-idf weight"] == model.words_weight >= 0
    assert model.metrics["training articles"] == 6


def test_several_base_models_have_the_same_weight():
    model = SetEncoder(CONFIG, 0).fit(corpus(Base(), Base()))
    assert model.embed(sections(80, 1)).shape == (12, 16)


def test_sparse_models_are_refused():
    with pytest.raises(DataError, match="dense"):
        SetEncoder(CONFIG, 0).fit(corpus(Sparse()))


def test_heads_must_divide_the_width():
    with pytest.raises(ConfigError, match="multiple"):
        SetEncoderConfig(width=10, heads=4)
