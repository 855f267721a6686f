"""Settings of ``sae`` and ``sdae`` as methods."""

from __future__ import annotations

from dataclasses import dataclass

from core.config import option
from core.models.recurrent.autoencoder_config import AutoencoderTrainingConfig, DenoisingTrainingConfig
from core.text.word_vectors import STORAGES

_STORAGE = "How the saved model keeps its word vectors."


@dataclass(frozen=True)
class SaeConfig(AutoencoderTrainingConfig):
    """Settings of the sequential autoencoder."""

    storage: str = option("fp16", _STORAGE, choices=STORAGES)


@dataclass(frozen=True)
class SdaeConfig(DenoisingTrainingConfig):
    """Settings of the sequential denoising autoencoder."""

    storage: str = option("fp16", _STORAGE, choices=STORAGES)
