"""Sentence encoders in the transformers format: a local folder of configuration, tokenizer and safetensors weights.

Nothing is fetched. A text's vector is the mean of the encoder's last states over its word pieces, as MiniLM-like
encoders pool (Reimers and Gurevych 2019, section 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from core.errors import ConfigError, MissingExtraError, ReadError


@dataclass(frozen=True)
class Encoder:
    """A tokenizer and a network."""

    tokenizer: Any
    network: Any

    def means(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """(n, dim) mean last states of at least one text, all in one batch."""
        import torch

        with torch.inference_mode():
            inputs = self.tokenizer(list(texts), padding=True, truncation=True, return_tensors="pt")
            inputs = inputs.to(self.network.device)
            states = self.network(**inputs).last_hidden_state
            mask = inputs["attention_mask"].unsqueeze(2).to(states.dtype)
            means = (states * mask).sum(1) / mask.sum(1)
        return np.asarray(means.float().cpu().numpy())

    def save(self, folder: Path) -> None:
        """Write JSON, text and safetensors files from which :func:`load_encoder` reads."""
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        if backend is not None:  # what the last batch was padded to is no part of the model
            backend.no_padding()
            backend.no_truncation()
        self.network.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)


def load_encoder(folder: Path, what: str) -> Encoder:
    """The encoder in ``folder``; ``what`` names the feature that needs it.

    Raises ``MissingExtraError`` without transformers, ``ConfigError`` where there is no folder, ``ReadError`` where it
    holds no encoder.
    """
    if not folder.is_dir():
        raise ConfigError(
            f"There is no sentence encoder at {str(folder)!r}: give the folder of a model on this machine."
        )
    try:
        from transformers import AutoModel, AutoTokenizer
    except ImportError:
        raise MissingExtraError(what, "transformers", "encoder") from None
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        network = AutoModel.from_pretrained(folder, local_files_only=True, use_safetensors=True).eval()
    except (OSError, ValueError, KeyError) as error:
        raise ReadError(folder, f"holds no sentence encoder ({error}).") from None
    return Encoder(tokenizer, network)
