"""Settings of the thematic encoder.

This module imports no torch, so that a form can be drawn without it.
"""

from __future__ import annotations

from dataclasses import dataclass

from themescope.core.config import option
from themescope.core.models.contrastive.config import ContrastiveConfig


@dataclass(frozen=True)
class ThematicEncoderConfig(ContrastiveConfig):
    """Settings of ``thematic-encoder``."""

    folder: str = option(
        "", "Folder of the sentence encoder to fine-tune, as sentence-transformers writes it; empty uses the installed "
        "all-MiniLM-L6-v2.",
        file=True,
    )  # fmt: skip
    prefix: str = option(
        "", "Text put before every sentence, for encoders that were trained with one, such as “query: ” of E5."
    )
    adapter: str = option(
        "lora", "lora: learn a low-rank change of every linear layer, which makes a small file; full: learn all "
        "weights of the transformer's layers.",
        choices=("lora", "full"),
    )  # fmt: skip
    rank: int = option(16, "With lora: rank of the change of a layer.", low=1, high=1_024)
    alpha: float = option(32.0, "With lora: the change is multiplied by alpha over rank.", low=1e-3, high=1e4)
    lora_dropout: float = option(0.05, "With lora: share of inputs of the change that is masked.", low=0.0, high=0.95)
    max_tokens: int = option(64, "Word pieces after which a sentence is cut off.", low=4, high=8_192)
    chunk_tokens: int = option(
        2_048, "Word pieces, padding included, that pass through the encoder at once when embedding; more use more "
        "memory.",
        low=16, high=1_000_000,
    )  # fmt: skip
    epochs: int = option(3, "Maximum number of visits to each article.", low=1, high=10_000)
    learning_rate: float = option(
        2e-4, "Highest learning rate of AdamW; with full fine-tuning about 5e-5 is better.", low=1e-7, high=1.0
    )
    evaluations_per_epoch: int = option(4, "Number of validations in each epoch.", low=1, high=100)
