"""A BERT network (Devlin et al. 2019, section 3) that reads the weights of transformers without that package.

transformers takes five seconds and 200 MB to import; an encoder that only serves vectors needs none of it.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional


class States(NamedTuple):
    """What the network returns, named as in transformers."""

    last_hidden_state: Tensor


class Bert(nn.Module):
    """Embeddings and layers of an encoder without dropout; modules have the names of transformers."""

    def __init__(self, config: SimpleNamespace) -> None:
        super().__init__()
        self.config = config
        dim, inner = config.hidden_size, config.intermediate_size

        def norm() -> nn.Module:
            return nn.LayerNorm(dim, eps=config.layer_norm_eps)

        def out(width: int) -> nn.Module:
            return nn.ModuleDict({"dense": nn.Linear(width, dim), "LayerNorm": norm()})

        def layer() -> nn.Module:
            heads = nn.ModuleDict({name: nn.Linear(dim, dim) for name in ("query", "key", "value")})
            return nn.ModuleDict(
                {
                    "attention": nn.ModuleDict({"self": heads, "output": out(dim)}),
                    "intermediate": nn.ModuleDict({"dense": nn.Linear(dim, inner)}),
                    "output": out(inner),
                }
            )

        sizes = {"word": config.vocab_size, "position": config.max_position_embeddings, "token_type": 2}
        tables = {f"{name}_embeddings": nn.Embedding(size, dim) for name, size in sizes.items()}
        self.embeddings: Any = nn.ModuleDict({**tables, "LayerNorm": norm()})
        self.encoder: Any = nn.ModuleDict({"layer": nn.ModuleList(layer() for _ in range(config.num_hidden_layers))})

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return next(self.parameters()).device

    def get_input_embeddings(self) -> Any:
        """Return the table of word pieces."""
        return self.embeddings["word_embeddings"]

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        position_ids: Tensor | None = None,
    ) -> States:
        """Return the (n, l, dim) states of (n, l) word pieces, or of their (n, l, dim) embeddings."""
        words = self.get_input_embeddings()(input_ids) if inputs_embeds is None else inputs_embeds
        places = torch.arange(words.shape[1], device=words.device) if position_ids is None else position_ids
        tables = self.embeddings
        first_type = tables["token_type_embeddings"].weight[0]
        states = tables["LayerNorm"](words + tables["position_embeddings"](places) + first_type)
        mask = None if attention_mask is None else attention_mask[:, None, None, :].bool()
        for layer in self.encoder["layer"]:
            states = self._layer(layer, states, mask)
        return States(states)

    def _layer(self, layer: Any, states: Tensor, mask: Tensor | None) -> Tensor:
        n, length, dim = states.shape
        heads = self.config.num_attention_heads
        attention = layer["attention"]
        query, key, value = (
            attention["self"][name](states).view(n, length, heads, dim // heads).transpose(1, 2)
            for name in ("query", "key", "value")
        )
        found = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        found = attention["output"]["dense"](found.transpose(1, 2).reshape(n, length, dim))
        states = attention["output"]["LayerNorm"](states + found)
        inner = functional.gelu(layer["intermediate"]["dense"](states))
        after: Tensor = layer["output"]["LayerNorm"](states + layer["output"]["dense"](inner))
        return after


def load_bert(folder: Path, weights: str) -> Bert | None:
    """Return the network in a folder of transformers, None if it is another one than :class:`Bert`.

    Raises ``OSError``, ``ValueError`` or ``RuntimeError`` for damaged files.
    """
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    plain = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute", "type_vocab_size": 2}
    if any(config.get(name, value) != value for name, value in plain.items()):
        return None
    with torch.random.fork_rng(devices=[]):  # the first values are replaced, and must not change what comes after
        network = Bert(SimpleNamespace(**config))
    found = network.load_state_dict(load_file(folder / weights), strict=False, assign=True)
    if found.missing_keys:
        raise ValueError(f"no weights {found.missing_keys[0]}")
    return network.eval()
