"""Settings of ``triplets-sen`` and ``triplets-titles``: the network's, and the word vectors it reads."""

from __future__ import annotations

from dataclasses import dataclass

from core.config import option
from core.models.triplet_network.config import TrainingConfig
from core.text.word_vectors import STORAGES


@dataclass(frozen=True)
class TripletNetConfig(TrainingConfig):
    """Settings of a triplet network as a method."""

    word_vectors: str = option(
        "glove-6b-50d",
        "Table of word vectors: a table's id, a file, or distilled:FOLDER of a sentence encoder.",
        file=True,
    )
    vocabulary_limit: int = option(0, "Read only this many words of the table, from its start; 0 reads all.", low=0)
    storage: str = option(
        "int8", "How the model keeps its word vectors, in training and in its file: int8 is half of fp16.",
        choices=STORAGES,
    )  # fmt: skip
