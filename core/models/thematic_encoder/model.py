"""The thematic encoder as a model: ``thematic-encoder``.

A pretrained sentence encoder, fine-tuned by the contrastive loss on whole articles. The saved model of the installed
base encoder contains only what was learned; that of another encoder contains the whole encoder.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from copy import copy
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from themescope.core.config import Config
from themescope.core.errors import ArtifactError, ConfigError, DataError, ReadError
from themescope.core.models.artifact import damaged, half_precision, read_json, read_tensors, write_json, write_tensors
from themescope.core.models.base import CombiningModel, TrainedModel
from themescope.core.models.contrastive.config import ContextEncoderConfig, ContrastiveConfig, ThematicEncoderConfig
from themescope.core.models.contrastive.sampling import Batch, SectionedArticles, split_articles
from themescope.core.models.contrastive.training import Examples, train
from themescope.core.models.networks import digest_of_arrays, pick_device, pick_precision
from themescope.core.models.thematic_encoder.network import (
    TextNetwork,
    learned,
    merged,
    prepare,
    reads_context,
    windows,
    with_lora,
    word_pieces,
)
from themescope.core.paths import expand_home
from themescope.core.text.encoders import (
    BASE_ENCODER,
    LARGE_ENCODER,
    Encoder,
    Pooling,
    Reading,
    installed_encoder,
    large_encoder,
    load_encoder,
    load_plain,
    pooling_of,
    weights_digest,
    write_reading,
)
from themescope.core.text.word_vectors import NumberedTexts
from themescope.core.types import SILENT, Corpus, Float32, Index, Report, Sentence, SubReport, Vectors

_DELTA, _BASE = "delta.safetensors", "base-encoder.json"
_INSTALLED = "installed"
_FEATURE = "The thematic encoder"
_READING = 0.05  # share of the progress that reading the sentences takes
_WINDOW = 256  # word pieces read at once when embedding; the vector of a longer text is the mean of its windows
_BLOCK = 8_192  # sentences tokenised and sorted by length at once
_PROCESSOR_TOKENS = 512  # word pieces at once on a processor; the states of more do not fit into its cache


class ThematicEncoder(TrainedModel, config=ThematicEncoderConfig):
    """Pooled states of a fine-tuned transformer, cosine distance."""

    config: ThematicEncoderConfig

    def __init__(self, config: ThematicEncoderConfig, seed: int) -> None:
        super().__init__(config, seed)
        self._encoder: Encoder | None = None
        self.pooling = Pooling()
        """How the states of word pieces become a vector."""
        self._delta: dict[str, Any] = {}
        self._base: dict[str, str] = {}
        self.context: Float32 | None = None
        """(dim,) vector that the transformer reads before each sentence, see :meth:`with_context`; None in training."""

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Fine-tune the encoder on ``corpus.sections`` of the splits train and validation.

        Raises ``DataError`` without sections, ``MissingExtraError`` without the packages of the extra encoder, and
        ``ConfigError`` if the encoder reads fewer word pieces than the setting allows.
        """
        parts = split_articles(corpus, self.config, self.seed, _FEATURE)
        report.progress(0, 1, "Reading the encoder")
        folder = expand_home(self.config.folder) if self.config.folder else installed_encoder(_FEATURE)
        encoder = load_encoder(folder, _FEATURE)
        check_length(encoder, self.config)
        self.pooling = pooling_of(folder)
        source, name = ("folder", folder.name) if self.config.folder else (_INSTALLED, BASE_ENCODER)
        self._base = {"source": source, "name": name, "digest": weights_digest(folder), "pooling": self.pooling.mode}
        adapted = prepare(encoder.network, self.config, self.seed)
        self._encoder = Encoder(encoder.tokenizer, adapted)
        text = text_network(self, self.config)
        (training, validation), cut = zip(*(self._source(text, *part, report) for part in parts), strict=True)
        warn_of_cut(sum(cut), self.config)
        trained = train(self.config, self.seed, adapted, training, validation, SubReport(report, _READING, 1.0))
        self._delta = half_precision(learned(adapted))  # as saved, so that a loaded model returns the same vectors
        self._encoder = Encoder(encoder.tokenizer, merged(adapted.cpu(), self._delta))
        self.metrics, self.history = trained.metrics | {"sentences cut off": float(sum(cut))}, trained.history
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dim) vectors of length 1; a sentence without letters or digits is the zero vector."""
        encoder = self.encoder
        out = np.zeros((len(sentences), int(encoder.network.config.hidden_size)), np.float32)
        filled = np.array([i for i, s in enumerate(sentences) if any(map(str.isalnum, s.text))], np.int64)
        with torch.inference_mode():
            text = text_network(self, self.config)
            most = _PROCESSOR_TOKENS if text.device.type == "cpu" else self.config.chunk_tokens
            tokens = min(most, self.config.chunk_tokens)
            window = min(_WINDOW, _most_pieces(encoder))
            context = None if self.context is None else torch.from_numpy(self.context).to(text.device)
            for start in range(0, len(filled), _BLOCK):
                rows = filled[start : start + _BLOCK]
                pieces, owner = windows(encoder, list(self._texts(sentences, rows)), window)
                found = text.encode_all(pieces, tokens, self.config.threads, context)
                share = pieces.lengths / np.bincount(owner, pieces.lengths)[owner]
                parts = found * torch.from_numpy(share.astype(np.float32)[:, None]).to(found.device)
                whole = torch.zeros((len(rows), found.shape[1]), device=found.device)
                whole.index_add_(0, torch.from_numpy(owner).to(found.device), parts)
                out[rows] = functional.normalize(whole, dim=1).cpu().numpy()
        return out

    def base(self) -> ThematicEncoder | None:
        """Return the installed encoder that was fine-tuned, as it was before; None for another base encoder."""
        if self._base.get("name") != BASE_ENCODER or self._base.get("source") != _INSTALLED:
            return None
        found = ThematicEncoder(self.config, self.seed)
        found._base, found.pooling = self._base, self.pooling
        found._encoder = load_plain(installed_encoder(_FEATURE), _FEATURE)
        return found

    def with_context(self, context: Float32) -> ThematicEncoder:
        """Return the encoder with a (dim,) vector before the word pieces of every sentence, which is not pooled.

        It shares the weights of this one, and is saved without the vector.
        """
        found = copy(self)
        found.context = context
        return found

    def _write(self, folder: Path) -> None:
        """Write what was learned in float16, and the whole encoder if it is not the installed one."""
        encoder = self.encoder
        write_json(folder / _BASE, self._base)
        if self._base["source"] == _INSTALLED:
            write_tensors(folder / _DELTA, self._delta)
        else:
            encoder.save(folder)

    def save_for_sentence_transformers(self, folder: Path) -> None:
        """Write the whole encoder, with what was learned, as a folder that sentence-transformers loads."""
        encoder = self.encoder
        encoder.save(folder)
        reading = Reading(self.pooling, min(_WINDOW, _most_pieces(encoder)), self.config.prefix)
        write_reading(folder, reading, int(encoder.network.config.hidden_size))

    def _read(self, folder: Path) -> None:
        """Read what :meth:`_write` wrote.

        Raises ``MissingExtraError`` when its base encoder is not installed, and ``ArtifactError`` when the installed
        one has other weights.
        """
        try:
            base = read_json(folder / _BASE)
            self._base = {key: str(base[key]) for key in ("source", "name", "digest", "pooling")}
            self.pooling = Pooling(self._base["pooling"])
            installed = self._base["source"] == _INSTALLED
            self._encoder = self._with_delta(folder) if installed else load_encoder(folder, _FEATURE)
        except KeyError as error:
            raise damaged(folder, f"it has no {error}") from None
        except (ValueError, RuntimeError, ReadError) as error:
            raise damaged(folder, error) from None

    def _with_delta(self, folder: Path) -> Encoder:
        """Return the installed base encoder with the learned weights in ``folder``."""
        large = self._base["name"] == LARGE_ENCODER
        base = large_encoder(_FEATURE) if large else installed_encoder(_FEATURE)
        if weights_digest(base) != self._base["digest"]:
            raise ArtifactError(
                f"The saved model in {folder.name} was trained on other weights of {self._base['name']} than the "
                "installed ones. Install the extra encoder again, or train the model again."
            )
        self._delta = read_tensors(folder / _DELTA)
        if not large and self.config.adapter == "lora":
            encoder, scale = load_plain(base, _FEATURE), self.config.alpha / self.config.rank
            return Encoder(encoder.tokenizer, with_lora(encoder.network, self._delta, scale))
        encoder = load_encoder(base, _FEATURE)
        return Encoder(encoder.tokenizer, merged(prepare(encoder.network, self.config, self.seed), self._delta))

    def word_pieces(
        self, sentences: Sequence[Sentence], rows: Index, limit: int, report: Report
    ) -> tuple[NumberedTexts, int]:
        """Return the word pieces of ``sentences[rows]``, at most ``limit`` of each, and how many have more."""
        texts = self._texts(sentences, rows)
        return word_pieces(self.encoder, texts, limit, lambda: report.progress(0, 1, "Reading the sentences"))

    def _source(
        self, text: TextNetwork, sentences: Sequence[Sentence], articles: SectionedArticles, report: Report
    ) -> tuple[Examples, int]:
        """Return ``articles``, which are rows of ``sentences``, as training data, and how many of them were cut off."""
        pieces, cut = self.word_pieces(sentences, articles.sentences, self.config.max_tokens, report)
        digest = f"{self._base['digest']} {digest_of_arrays(pieces.ids, pieces.starts)}"
        return Examples(articles, partial(_similarities, text, pieces), digest), cut

    def _texts(self, sentences: Sequence[Sentence], rows: Any) -> Iterator[str]:
        return (self.config.prefix + sentences[i].text for i in rows.tolist())

    @property
    def encoder(self) -> Encoder:
        """The transformer with its tokenizer."""
        return self._fitted(self._encoder)


class ListEncoder(CombiningModel, config=Config):
    """Vectors of the encoder that a thematic encoder was fine-tuned from, beside its own; cosine distance.

    Fine-tuning on the sections of articles loses some of what tells short texts on many subjects apart.
    """

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Take the thematic encoder in ``corpus.models``; raise ``DataError`` without a single one of the base."""
        model, *more = corpus.models or (None,)
        if more or not isinstance(model, ThematicEncoder) or model.base() is None:
            raise DataError(
                f"The vectors of lists need one fitted model, a thematic encoder from {BASE_ENCODER}. Name it."
            )
        self._models = (model,)
        report.progress(1, 1, "Nothing to learn")
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, 2 dim) vectors of length 1, the half of the base first; zero without letters or digits."""
        parts = [np.asarray(model.embed(sentences), np.float32) for model in (self._before, self.submodels[0])]
        return np.concatenate(parts, axis=1) * np.float32(np.sqrt(0.5))

    @cached_property
    def _before(self) -> ThematicEncoder:
        return cast(ThematicEncoder, cast(ThematicEncoder, self.submodels[0]).base())


def text_network(model: ThematicEncoder, config: ContrastiveConfig) -> TextNetwork:
    """Return the network of a model on the device and with the precision of ``config``."""
    device, encoder = pick_device(config.device), model.encoder
    padding = encoder.tokenizer.pad_token_id or 0
    return TextNetwork(encoder.network.to(device), model.pooling, padding, pick_precision(config.precision, device))


def warn_of_cut(cut: int, config: ThematicEncoderConfig | ContextEncoderConfig) -> None:
    """Warn of ``cut`` sentences of which the training reads only the beginning."""
    if cut:
        warnings.warn(
            f"{cut:,} sentences have more than {config.max_tokens} word pieces; the training reads their beginnings. "
            f"Raise {config.named('max_tokens')} to read more.",
            stacklevel=3,
        )


def check_length(encoder: Encoder, config: ThematicEncoderConfig | ContextEncoderConfig) -> None:
    """Raise ``ConfigError`` if the encoder reads fewer word pieces than the setting allows."""
    limit = _most_pieces(encoder)
    if config.max_tokens > limit:
        raise ConfigError(
            f"{config.named('max_tokens')} is {config.max_tokens:,}, but this encoder reads at most {limit:,} word "
            "pieces. Choose a smaller number."
        )


def _most_pieces(encoder: Encoder) -> int:
    known = getattr(encoder.network.config, "max_position_embeddings", None)
    return int(min(filter(None, (known, encoder.tokenizer.model_max_length))))


def _similarities(text: TextNetwork, pieces: NumberedTexts, batch: Batch) -> Tensor:
    """Return the (m, m) cosines of the sentences of a batch."""
    vectors = functional.normalize(text.encode(pieces, batch.rows), dim=1)
    return vectors @ vectors.T


# An encoder that reads the mean of the article before each sentence


_WEIGHTS, _MATRIX, _BIAS = "context.safetensors", "weight", "bias"
_READ = 0.3, 0.35  # shares of the progress after the sentences of each split are embedded


class ContextEncoder(TrainedModel, CombiningModel, config=ContextEncoderConfig):
    """Vectors of a thematic encoder that reads the mean of the article before each sentence, cosine distance."""

    config: ContextEncoderConfig
    _weights: dict[str, Any] | None = None

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Train on ``corpus.sections`` of the splits train and validation, with the encoder in ``corpus.models``.

        Raises ``DataError`` without sections, and unless the models are a single thematic encoder whose transformer
        accepts a vector before the word pieces; ``ConfigError`` if it reads fewer word pieces than the setting allows.
        """
        if len(corpus.models) != 1 or not isinstance(corpus.models[0], ThematicEncoder):
            raise DataError("The context encoder needs exactly one fitted model, a thematic encoder. Name it.")
        self._models = tuple(corpus.models)
        check_length(self._encoder.encoder, self.config)
        parts = split_articles(corpus, self.config, self.seed, "The context encoder")
        dim = self._encoder.embed([]).shape[1]
        if not reads_context(self._encoder.encoder.network, dim):
            raise DataError(
                "The transformer of this model cannot read the vector of an article before the words of a sentence. "
                "Train a thematic encoder from another base encoder, such as the installed one."
            )
        # Drawing weights that are then set to zero would advance the random numbers of the process.
        network = torch.nn.utils.skip_init(nn.Linear, dim, dim).to(pick_device(self.config.device))
        nn.init.zeros_(network.weight)
        nn.init.zeros_(network.bias)
        examples, cut = list[Examples](), 0
        for (sentences, articles), low, high in zip(parts, (0.0, *_READ), _READ, strict=False):
            kept = articles.thinned(0 if examples else self.config.embedded_per_article, self.seed)
            found, longer = self._source(network, sentences, kept, SubReport(report, low, high))
            examples.append(found)
            cut += longer
        warn_of_cut(cut, self.config)
        training, validation = examples
        trained = train(self.config, self.seed, network, training, validation, SubReport(report, _READ[1], 1.0))
        learned = {_MATRIX: network.weight, _BIAS: network.bias}
        self._weights = half_precision({name: tensor.detach().cpu().numpy() for name, tensor in learned.items()})
        self.metrics, self.history = trained.metrics | {"sentences cut off": float(cut)}, trained.history
        return self

    def embed(self, sentences: Sequence[Sentence]) -> Vectors:
        """Return (n, dim) vectors of length 1; a sentence without letters or digits is the zero vector.

        The sentences of an article must be embedded together; those without an article count as one.
        """
        x = self._encoder.embed(sentences)
        out = np.zeros_like(x)
        articles = np.array([s.article_id for s in sentences], np.int64)
        for article in np.unique(articles):
            rows = np.flatnonzero(articles == article)
            own = self._encoder.with_context(self.article_vector(x[rows]))
            out[rows] = own.embed([sentences[row] for row in rows.tolist()])
        return out

    def article_vector(self, x: Float32) -> Float32:
        """Return the (dim,) vector of an article from the (n, dim) vectors that the thematic encoder gives to it."""
        weights = self._fitted(self._weights)
        return np.asarray(weights[_MATRIX].astype(np.float32) @ _mean(x) + weights[_BIAS], np.float32)

    @property
    def _encoder(self) -> ThematicEncoder:
        """The thematic encoder that this one is built on."""
        return cast(ThematicEncoder, self.submodels[0])

    def _source(
        self, network: nn.Linear, sentences: Sequence[Sentence], articles: SectionedArticles, report: Report
    ) -> tuple[Examples, int]:
        """Return ``articles``, which are rows of ``sentences``, as training data, and how many of them were cut off."""
        encoder, device = self._encoder, network.weight.device
        found = []
        for article in range(len(articles)):
            report.progress(article, len(articles), "Embedding the articles")
            own = articles.sentences[articles.rows(article)]
            found.append(_mean(encoder.embed([sentences[row] for row in own.tolist()])))
        means = np.array(found, np.float32).reshape(-1, network.in_features)
        pieces, cut = encoder.word_pieces(sentences, articles.sentences, self.config.max_tokens, report)
        text = text_network(encoder, self.config)
        text.network.requires_grad_(False)
        known = torch.from_numpy(means).to(device)

        def similarities(batch: Batch) -> Tensor:
            own = np.searchsorted(articles.starts, batch.rows, side="right") - 1
            vectors = text.encode(pieces, batch.rows, network(known[torch.from_numpy(own).to(device)]))
            unit = functional.normalize(vectors, dim=1)
            return unit @ unit.T

        return Examples(articles, similarities, digest_of_arrays(pieces.ids, pieces.starts, means)), cut

    def _write(self, folder: Path) -> None:
        super()._write(folder)
        write_tensors(folder / _WEIGHTS, self._fitted(self._weights))

    def _read(self, folder: Path) -> None:
        super()._read(folder)
        self._weights = read_tensors(folder / _WEIGHTS, (_MATRIX, _BIAS))


def _mean(x: Float32) -> Float32:
    """Return √d times the mean of (n, d) unit vectors, without those of texts that have no words."""
    rows = x[x.any(axis=1)].astype(np.float64)
    return np.asarray(math.sqrt(x.shape[1]) * rows.sum(axis=0) / max(len(rows), 1), np.float32)
