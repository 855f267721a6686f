from pathlib import Path

import pytest

from tests.core.models.con_s2v.topics import SMALL, build, topic_sentences
from tests.core.models.triplet_network.themes import SUBJECTS
from tests.tiny_encoder import write_encoder
from themescope.core.types import Corpus


@pytest.fixture(scope="session")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an untrained BERT over the words of the subjects."""
    words = ["the", "of", "in", "it", "and", "query", *" ".join(SUBJECTS).split()]
    return write_encoder(tmp_path_factory.mktemp("encoder"), words)


@pytest.fixture(scope="session")
def corpus():
    """Sentences of documents, and their topics."""
    sentences, topics = topic_sentences(documents=40)
    return Corpus(sentences=sentences), topics


@pytest.fixture(scope="session")
def content(corpus):
    return build("sen2vec", corpus, **SMALL, memory_rate=0.2)
