"""GRU encoder and decoder, and a reader of published weights (Kiros et al. 2015, section 2).

Gates: r = σ(W_r x + U_r h), z = σ(W_z x + U_z h), h̃ = tanh(W x + r⊙(U h)), h ← (1 − z)⊙h̃ + z⊙h. This is the form of
the authors' release and of ``torch.nn.GRU``; the paper has U(r⊙h) and exchanges z and 1 − z.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from themescope.core.errors import ReadError
from themescope.core.models.device import with_weights
from themescope.core.models.triplet_network.batching import length_chunks
from themescope.core.models.triplet_network.network import reversal
from themescope.core.text.word_vectors import TokenIds
from themescope.core.types import Float32

_CELLS = 8_192  # number of padded tokens encoded at once
_NAMES = ("W", "b", "U", "Wx", "bx", "Ux")


class GruEncoder(nn.Module):
    """(n, t, dim) words and (n,) lengths → (n, hidden · directions) last states."""

    def __init__(self, dim: int, hidden: int, *, both_ways: bool = True) -> None:
        super().__init__()
        self.onward = nn.GRU(dim, hidden, batch_first=True)
        self.backward_ = nn.GRU(dim, hidden, batch_first=True) if both_ways else None

    @property
    def dim(self) -> int:
        """Dimensions of a word vector."""
        return int(self.onward.input_size)

    @property
    def width(self) -> int:
        """Dimensions of a sentence vector."""
        return int(self.onward.hidden_size) * (2 if self.backward_ is not None else 1)

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Return the last states of padded sentences; padding has no influence, a sentence of length 0 gives zeros."""
        states = [_last(self.onward(words)[0], lengths)]
        if self.backward_ is not None:
            turn = reversal(lengths, words.shape[1]).unsqueeze(2)
            states.append(_last(self.backward_(words.gather(1, turn.expand_as(words)))[0], lengths))
        return torch.cat(states, dim=1)


class GruDecoder(nn.Module):
    """Predicts a sentence word by word; the sentence vector is added to every gate in every step."""

    def __init__(self, dim: int, width: int, hidden: int) -> None:
        super().__init__()
        self.words = nn.Linear(dim, 3 * hidden)
        self.sentence = nn.Linear(width, 3 * hidden, bias=False)
        self.recurrent = nn.Linear(hidden, 3 * hidden, bias=False)
        self.hidden = hidden

    def forward(self, words: Tensor, sentences: Tensor) -> Tensor:
        """Return (n, t, hidden) states for (n, t, dim) preceding words and (n, width) sentence vectors."""
        gates = self.words(words) + self.sentence(sentences).unsqueeze(1)
        h = words.new_zeros((words.shape[0], self.hidden))
        states = []
        for step in gates.unbind(1):
            own = self.recurrent(h)
            r, z = torch.sigmoid(step[:, : 2 * self.hidden] + own[:, : 2 * self.hidden]).chunk(2, dim=1)
            new = torch.tanh(step[:, 2 * self.hidden :] + r * own[:, 2 * self.hidden :])
            h = new + z * (h - new)
            states.append(h)
        return torch.stack(states, dim=1)


def gru_encoder(weights: Mapping[str, Tensor]) -> GruEncoder:
    """Return an encoder with these weights. Raises ``RuntimeError`` when their shapes do not fit together."""
    rows, dim = weights["onward.weight_ih_l0"].shape
    both_ways = "backward_.weight_ih_l0" in weights
    return with_weights(lambda: GruEncoder(dim, rows // 3, both_ways=both_ways), weights)


def encode_tokens(net: GruEncoder, tokens: TokenIds, out: Float32) -> None:
    """Write the vectors of non-empty sentences into (n, width) ``out``; sentences of similar length are batched."""
    device = next(net.parameters()).device
    table = torch.from_numpy(tokens.table if len(tokens.table) else np.zeros((1, net.dim), np.float32)).to(device)
    for rows in length_chunks(tokens.lengths, _CELLS):
        ids, lengths = tokens.padded(rows)
        words = torch.nn.functional.embedding(torch.from_numpy(ids).to(device), table)
        out[rows] = net(words, torch.from_numpy(lengths).to(device)).cpu().numpy()


def _last(states: Tensor, lengths: Tensor) -> Tensor:
    places = (lengths - 1).clamp(min=0).view(-1, 1, 1).expand(-1, 1, states.shape[2])
    return states.gather(1, places).squeeze(1) * (lengths > 0).unsqueeze(1)


def read_recurrent_weights(path: Path, dim: int) -> GruEncoder:
    """Return the encoder in a ``.safetensors`` or ``.npz`` file with the layout of the release of Kiros et al. (2015).

    For word vectors with d = ``dim`` dimensions and h units, the file has these arrays (others are ignored):

    =================  ==========  =======================================================
    ``encoder_W``      (d, 2h)     words into the gates r and z, in this order
    ``encoder_b``      (2h,)       bias of the gates
    ``encoder_U``      (h, 2h)     states into the gates
    ``encoder_Wx``     (d, h)      words into the candidate state
    ``encoder_bx``     (h,)        bias of the candidate state
    ``encoder_Ux``     (h, h)      states into the candidate state
    ``encoder_r_…``    likewise    the same six for the backward direction, if there is one
    =================  ==========  =======================================================

    The release's ``utable.npy`` and ``dictionary.txt`` become a table of word vectors when the array is stored as
    ``vectors`` in a ``.safetensors`` file, with the dictionary as ``….vocab.txt``. Pickles are never opened.
    Raises :class:`ReadError` for a file without these arrays or with other shapes.
    """
    tensors = _tensors(path)
    prefixes = {"onward": "encoder_"} | ({"backward_": "encoder_r_"} if "encoder_r_W" in tensors else {})
    directions = {name: _direction(path, tensors, prefix, dim) for name, prefix in prefixes.items()}
    units = [len(arrays["weight_hh_l0"]) // 3 for arrays in directions.values()]
    if len(set(units)) > 1:
        raise ReadError(path, f"its directions have {units[0]} and {units[1]} units.",
                        advice="Give a file in the layout of the release.")  # fmt: skip
    return gru_encoder({f"{name}.{key}": array for name, given in directions.items() for key, array in given.items()})


def _tensors(path: Path) -> Mapping[str, Any]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                return {name: arrays[name] for name in arrays.files if name.startswith("encoder_")}
        loaded: dict[str, Any] = load_file(path)
    except (OSError, ValueError, SafetensorError) as error:
        raise ReadError(path, f"the recurrent weights cannot be read: {error}.",
                        advice="Give a .safetensors or .npz file.") from None  # fmt: skip
    return loaded


def _direction(path: Path, tensors: Mapping[str, Any], prefix: str, dim: int) -> dict[str, Tensor]:
    """Return the arrays of one direction under torch's names, with the gates in torch's order r, z, candidate."""
    missing = [prefix + name for name in _NAMES if prefix + name not in tensors]
    if missing:
        raise ReadError(
            path, f"the array {missing[0]!r} is missing.", advice="Give a file in the layout of the release."
        )
    arrays = {name: np.asarray(tensors[prefix + name], np.float32) for name in _NAMES}
    hidden = arrays["Ux"].shape[0]
    shapes = {"W": (dim, 2 * hidden), "b": (2 * hidden,), "U": (hidden, 2 * hidden), "Wx": (dim, hidden),
              "bx": (hidden,), "Ux": (hidden, hidden)}  # fmt: skip
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise ReadError(path, f"{prefix}{name} has the shape {arrays[name].shape}, not {shape}.",
                            advice="Choose the word vectors that these weights were trained with.")  # fmt: skip
    return {
        "weight_ih_l0": _concatenated(arrays["W"].T, arrays["Wx"].T),
        "weight_hh_l0": _concatenated(arrays["U"].T, arrays["Ux"].T),
        "bias_ih_l0": _concatenated(arrays["b"], arrays["bx"]),
        "bias_hh_l0": torch.zeros(3 * hidden),
    }


def _concatenated(first: Any, second: Any) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(np.concatenate([first, second])))
