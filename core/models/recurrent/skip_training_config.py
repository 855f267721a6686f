"""Settings of the training of Skip-Thought."""

from __future__ import annotations

from dataclasses import dataclass

from core.models.recurrent.recurrent_config import RecurrentTrainingConfig


@dataclass(frozen=True)
class SkipTrainingConfig(RecurrentTrainingConfig):
    """How Skip-Thought is built and trained: the small version of algorithms G.3."""
