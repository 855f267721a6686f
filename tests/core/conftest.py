"""A saved model without training, for tests of what is done with any model."""

from pathlib import Path

import pytest

import themescope
from themescope.core.models import REGISTRY
from themescope.core.models.artifact import save_model
from themescope.core.sentence_model import SentenceModel
from themescope.core.types import SILENT, Corpus


@pytest.fixture(scope="session")
def folder_of_means(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a model whose vectors are the means of 5,000 words."""
    folder = tmp_path_factory.mktemp("models") / "means"
    model = REGISTRY.build("mean-vectors", {"vocabulary_limit": 5_000}, seed=0).fit(Corpus(), SILENT)
    save_model(model, "mean-vectors", folder, {})
    return folder


@pytest.fixture(scope="session")
def means(folder_of_means: Path) -> SentenceModel:
    return themescope.load(folder_of_means)
