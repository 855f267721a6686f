"""Settings of ``skip-thought``: the network's, and the word vectors by which it reads words it did not learn."""

from __future__ import annotations

from dataclasses import dataclass

from core.config import option
from core.models.recurrent.skip_training_config import SkipTrainingConfig
from core.text.word_vectors import STORAGES


@dataclass(frozen=True)
class SkipThoughtConfig(SkipTrainingConfig):
    """Settings of Skip-Thought as a method."""

    word_vectors: str = option(
        "glove-6b-50d", "Table of word vectors for words that are not learned; with weights, the table that they read.",
        file=True,
    )  # fmt: skip
    vocabulary_limit: int = option(0, "Read only this many words of the table, from its start; 0 reads all.", low=0)
    storage: str = option("int8", "How the saved model keeps its word vectors.", choices=STORAGES)
    weights: str = option(
        "", "Instead of training: a .safetensors or .npz file with the weights of a recurrent encoder, named as in the "
        "release of Kiros et al. 2015 (encoder_U, encoder_Ux, encoder_W, …; encoder_r_… for the way back).",
        file=True,
    )  # fmt: skip
    lowercase: bool = option(True, "With weights: read upper-case letters as lower-case ones. Training always does.")
