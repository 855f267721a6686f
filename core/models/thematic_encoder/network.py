"""The transformer of the thematic encoder: tokenised texts, batches by length, LoRA adapters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from themescope.core.errors import MissingExtraError
from themescope.core.models.networks import autocast, done_apart, seeded
from themescope.core.models.triplet_network.network import length_chunks
from themescope.core.text.encoders import Encoder, Pooling
from themescope.core.text.word_vectors import NumberedTexts
from themescope.core.types import Index

if TYPE_CHECKING:
    from themescope.core.models.contrastive.config import ThematicEncoderConfig

_TEXTS = 1_024  # tokenised at once
_TRAINING_CHUNKS = 4  # parts of a training batch, each padded to its longest sentence


def word_pieces(
    encoder: Encoder, texts: Iterator[str], limit: int, tick: Callable[[], None]
) -> tuple[NumberedTexts, int]:
    """Tokenise ``texts``, cutting each off after ``limit`` word pieces; return how many were cut as well.

    ``tick`` is called between blocks.
    """
    found: list[list[int]] = []
    cut = 0
    while block := list(islice(texts, _TEXTS)):
        tick()
        for encoding in encoder.encodings(block, limit):
            found.append(encoding.ids)
            cut += bool(encoding.overflowing)
    return _numbered(found), cut


def windows(encoder: Encoder, texts: Sequence[str], limit: int) -> tuple[NumberedTexts, Index]:
    """Tokenise ``texts``, dividing those with more than ``limit`` word pieces; return (w,) whose part each is."""
    encoded = enumerate(encoder.encodings(texts, limit))
    found = [(place, part) for place, one in encoded for part in (one, *one.overflowing)]
    return _numbered([part.ids for _, part in found]), np.array([place for place, _ in found], np.int64)


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
        depend on the number of ``threads``, see :func:`.networks.done_apart`.
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


def with_lora(network: nn.Module, weights: Mapping[str, npt.NDArray[Any]], scale: float) -> nn.Module:
    """Return a plain ``network`` with the change of LoRA ``weights``, as :func:`learned` names them (Hu et al. 2022).

    Raises ``KeyError`` or ``RuntimeError`` for weights of another network.
    """
    down, up = ".lora_A.default.weight", ".lora_B.default.weight"
    with torch.no_grad():
        for name in (name.removesuffix(down) for name in weights if name.endswith(down)):
            changed = network.get_parameter(f"{name}.weight")
            a, b = (torch.from_numpy(np.asarray(weights[name + end], np.float32)) for end in (down, up))
            changed.add_((b @ a) * scale)
    return network.requires_grad_(False).eval()


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
