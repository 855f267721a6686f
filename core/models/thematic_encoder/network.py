"""The transformer of the thematic encoder: tokenised texts, batches by length, LoRA adapters."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from themescope.core.config import Config, option
from themescope.core.errors import DataError, MissingExtraError
from themescope.core.models.artifact import half_precision, read_tensors, write_tensors
from themescope.core.models.base import CombiningModel, TrainedModel
from themescope.core.models.contrastive.sampling import Batch, ContrastiveConfig, SectionedArticles, split_articles
from themescope.core.models.device import autocast, done_apart, seeded
from themescope.core.models.thematic_encoder.model import ThematicEncoder, check_length, text_network, warn_of_cut
from themescope.core.models.training_loop import digest_of_arrays
from themescope.core.models.triplet_network.network import length_chunks
from themescope.core.protocols import SILENT, Report, SubReport
from themescope.core.text.encoders import Pooling
from themescope.core.text.word_vectors import NumberedTexts
from themescope.core.types import Corpus, Float32, Index, Sentence, Vectors

if TYPE_CHECKING:
    from torch import Tensor, nn

    from themescope.core.models.contrastive.training import Examples
    from themescope.core.models.thematic_encoder.model import ThematicEncoderConfig

_TEXTS = 1_024  # tokenised at once
_TRAINING_CHUNKS = 4  # parts of a training batch, each padded to its longest sentence


def word_pieces(
    tokenizer: Any, texts: Iterator[str], limit: int, tick: Callable[[], None]
) -> tuple[NumberedTexts, int]:
    """Tokenise ``texts``, cutting each off after ``limit`` word pieces; return how many were cut as well.

    ``tick`` is called between blocks.
    """
    found: list[list[int]] = []
    cut = 0
    while block := list(islice(texts, _TEXTS)):
        tick()
        read = tokenizer(block, truncation=True, max_length=limit)
        found += read["input_ids"]
        cut += sum(bool(encoding.overflowing) for encoding in read.encodings)
    return _numbered(found), cut


def windows(tokenizer: Any, texts: Sequence[str], limit: int) -> tuple[NumberedTexts, Index]:
    """Tokenise ``texts``, dividing those with more than ``limit`` word pieces; return (w,) whose part each is."""
    found = tokenizer(texts, truncation=True, max_length=limit, return_overflowing_tokens=True)
    return _numbered(found["input_ids"]), np.array(found["overflow_to_sample_mapping"], np.int64)


def _numbered(pieces: Sequence[Sequence[int]]) -> NumberedTexts:
    starts = np.concatenate([[0], np.cumsum([len(own) for own in pieces])]).astype(np.int64)
    return NumberedTexts(np.fromiter(chain.from_iterable(pieces), np.int32, int(starts[-1])), starts)


@dataclass(frozen=True)
class TextNetwork:
    """A transformer with its pooling and numeric precision."""

    network: nn.Module
    pooling: Pooling
    padding: int
    """Id of the word piece that fills a batch."""
    precision: torch.dtype = torch.float32

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return next(self.network.parameters()).device

    def encode(self, pieces: NumberedTexts, rows: Index, contexts: Tensor | None = None) -> Tensor:
        """Return (n, dim) float32 vectors of ``rows`` for training, in few chunks.

        ``contexts`` are (n, dim) vectors that the transformer reads before the word pieces of the sentences.
        """
        lengths = pieces.lengths[rows]
        chunks = length_chunks(lengths, max(int(lengths.sum()) // _TRAINING_CHUNKS, int(lengths.max())))
        parts = [None if contexts is None else contexts[torch.from_numpy(chunk)] for chunk in chunks]
        found = [self._chunk(pieces, rows[chunk], part) for chunk, part in zip(chunks, parts, strict=True)]
        return _in_order(found, chunks)

    def encode_all(self, pieces: NumberedTexts, tokens: int, threads: int, context: Tensor | None = None) -> Tensor:
        """Return (n, dim) float32 vectors of all texts without gradients, in chunks of ``tokens`` word pieces.

        ``context`` is a (dim,) vector that the transformer reads before each of them. The digits of the result do not
        depend on the number of ``threads``, see :func:`.device.done_apart`.
        """
        chunks = length_chunks(pieces.lengths, tokens)

        def encode(rows: Index) -> Tensor:
            return self._chunk(pieces, rows, None if context is None else context.expand(len(rows), -1))

        return _in_order(done_apart(encode, chunks, self.device, threads), chunks)

    def _chunk(self, pieces: NumberedTexts, rows: Index, contexts: Tensor | None) -> Tensor:
        ids, lengths = (torch.from_numpy(part).to(self.device) for part in pieces.padded(rows, self.padding))
        mask = (torch.arange(ids.shape[1], device=self.device) < lengths.unsqueeze(1)).long()
        with autocast(self.device, self.precision):
            if contexts is None:
                states = self.network(input_ids=ids, attention_mask=mask).last_hidden_state
            else:
                states = self.network(**_preceded(self.network, ids, mask, contexts)).last_hidden_state[:, 1:]
        vectors: Tensor = self.pooling(states.float(), mask)
        return vectors


def _preceded(network: Any, ids: Tensor, mask: Tensor, contexts: Tensor) -> dict[str, Tensor]:
    """Return the inputs of a transformer that reads a vector of ``contexts`` before each row of word pieces.

    It stands at the position of the first word piece, so that all word pieces keep theirs.
    """
    first = getattr(network.embeddings, "padding_idx", -1) + 1  # RoBERTa and MPNet count from there
    places = torch.arange(ids.shape[1], device=ids.device)
    words = network.get_input_embeddings()(ids)
    return {
        "inputs_embeds": torch.cat([contexts.unsqueeze(1).to(words.dtype), words], dim=1),
        "attention_mask": torch.cat([mask[:, :1], mask], dim=1),
        "position_ids": (first + torch.cat([places[:1], places])).unsqueeze(0),
    }


def reads_context(network: Any, dim: int) -> bool:
    """Return whether a transformer can read a vector of length ``dim`` before its word pieces."""
    ids = torch.ones((1, 1), dtype=torch.long, device=next(network.parameters()).device)
    try:
        with torch.inference_mode():
            network(**_preceded(network, ids, ids, torch.zeros((1, dim), device=ids.device)))
    except (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError):
        return False
    return True


def _in_order(vectors: Sequence[Tensor], chunks: Sequence[Index]) -> Tensor:
    """Return the vectors of chunks, in which sentences of similar length share a matrix, in the order of the rows."""
    back = np.argsort(np.concatenate(chunks), kind="stable")
    return torch.cat(list(vectors))[torch.from_numpy(back).to(vectors[0].device)]


def prepare(network: nn.Module, config: ThematicEncoderConfig, seed: int) -> nn.Module:
    """Return ``network`` with the parameters to learn: those of LoRA adapters, or all of its layers.

    Word-piece embeddings and the unused pooling layer are not learned. Raises ``MissingExtraError`` without peft.
    """
    if config.adapter == "full":
        for name, parameter in network.named_parameters():
            parameter.requires_grad_("embeddings" not in name and "pooler" not in name)
        return network
    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ImportError:
        raise MissingExtraError("Fine-tuning with adapter lora", "peft", "encoder") from None
    with seeded(seed):
        settings = LoraConfig(
            r=config.rank,
            lora_alpha=config.alpha,  # type: ignore[arg-type]  # any number is accepted
            lora_dropout=config.lora_dropout,
            target_modules="all-linear",
            exclude_modules=r".*pooler.*",
        )
        adapted: nn.Module = inject_adapter_in_model(settings, network)
    return adapted


def learned(network: nn.Module) -> dict[str, npt.NDArray[np.float32]]:
    """Return the learned parameters by name."""
    return {name: p.detach().cpu().float().numpy() for name, p in network.named_parameters() if p.requires_grad}


def merged(network: nn.Module, weights: Mapping[str, npt.NDArray[Any]]) -> nn.Module:
    """Return ``network`` as a plain transformer with the learned ``weights``, which must be those of :func:`learned`.

    Raises ``KeyError`` or ``RuntimeError`` for weights of another network.
    """
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if parameter.requires_grad:
                parameter.copy_(torch.from_numpy(weights[name]))
    for name, module in list(network.named_modules()):
        if hasattr(module, "lora_A"):  # add the change of the adapter to the weights of its layer, and remove it
            module.merge()
            parent, _, last = name.rpartition(".")
            setattr(network.get_submodule(parent), last, module.get_base_layer())
    return network.requires_grad_(False).eval()


# A thematic encoder that knows the article of a sentence: ``context-encoder``

_WEIGHTS, _MATRIX, _BIAS = "context.safetensors", "weight", "bias"
_READ = 0.3, 0.35  # shares of the progress after the sentences of each split are embedded


@dataclass(frozen=True)
class ContextEncoderConfig(ContrastiveConfig):
    """Settings of ``context-encoder``."""

    max_tokens: int = option(
        64, "Word pieces after which a sentence is cut off in training. Vectors are those of the whole text.",
        low=4, high=8_192,
    )  # fmt: skip
    embedded_per_article: int = option(
        40, "Maximum number of sentences of a training article whose vectors make its mean, sampled with the seed; the "
        "others are never drawn. 0 embeds all.",
        low=0, high=100_000,
    )  # fmt: skip
    epochs: int = option(2, "Maximum number of visits to each article.", low=1, high=10_000)
    learning_rate: float = option(6e-4, "Highest learning rate of AdamW.", low=1e-7, high=1.0)
    weight_decay: float = option(0.0, "Weight decay of AdamW.", low=0.0, high=10.0)


class ContextEncoder(TrainedModel, CombiningModel):
    """Vectors of a thematic encoder that reads the mean of the article before each sentence, cosine distance."""

    config_class: ClassVar[type[Config]] = ContextEncoderConfig
    config: ContextEncoderConfig

    def __init__(self, config: ContextEncoderConfig, seed: int) -> None:
        super().__init__(config, seed)
        self._weights: dict[str, Any] | None = None

    def fit(self, corpus: Corpus, report: Report = SILENT) -> Self:
        """Train on ``corpus.sections`` of the splits train and validation, with the encoder in ``corpus.models``.

        Raises ``DataError`` without sections, and unless the models are a single thematic encoder whose transformer
        accepts a vector before the word pieces; ``ConfigError`` if it reads fewer word pieces than the setting allows.
        """
        import torch
        from torch import nn

        from themescope.core.models.contrastive.training import train
        from themescope.core.models.device import pick_device

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
        examples: list[Examples] = []
        cut = 0
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
        import torch
        from torch.nn import functional

        from themescope.core.models.contrastive.training import Examples

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
