from pathlib import Path

import pytest

from tests.core.models.triplet_network.themes import SUBJECTS
from tests.tiny_encoder import write_encoder


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an untrained BERT over the words of the subjects."""
    words = ["the", "of", "in", "it", "and", "query", *" ".join(SUBJECTS).split()]
    return write_encoder(tmp_path_factory.mktemp("encoder"), words)
