"""Other recurrent weights for ``skip-thought``: encoders in the layout of the release of Kiros et al. 2015.

A ``.safetensors`` or ``.npz`` file (read without pickle) holds, for words of ``d`` coordinates and ``h`` units:

=================  ==========  ===============================================
``encoder_W``      (d, 2h)     words into the gates r and z, in this order
``encoder_b``      (2h,)       bias of the gates
``encoder_U``      (h, 2h)     states into the gates
``encoder_Wx``     (d, h)      words into the candidate state
``encoder_bx``     (h,)        bias of the candidate state
``encoder_Ux``     (h, h)      states into the candidate state
``encoder_r_…``    likewise    the same six for the backward direction, if any
=================  ==========  ===============================================

Other tensors (decoders, optimizer) are passed over. The words come from a table of word vectors with ``d``
coordinates; the release's ``utable.npy`` and ``dictionary.txt`` become one by storing the array as ``vectors`` in a
``.safetensors`` file with the dictionary beside it as ``….vocab.txt``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from core.errors import ReadError
from core.models.recurrent.gru import GruEncoder

_NAMES = ("W", "b", "U", "Wx", "bx", "Ux")


def read_recurrent_weights(path: Path, dim: int) -> GruEncoder:
    """The encoder in ``path``, for words of ``dim`` coordinates. Raises :class:`ReadError` for anything else."""
    tensors = _tensors(path)
    onward = _direction(path, tensors, "encoder_", dim)
    both_ways = "encoder_r_W" in tensors
    hidden = onward["weight_hh_l0"].shape[1]
    encoder = GruEncoder(dim, hidden, both_ways=both_ways)
    encoder.onward.load_state_dict(onward)
    if encoder.backward_ is not None:
        encoder.backward_.load_state_dict(_direction(path, tensors, "encoder_r_", dim))
    return encoder.eval()


def _tensors(path: Path) -> Mapping[str, Any]:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                return {name: arrays[name] for name in arrays.files if name.startswith("encoder_")}
        loaded: dict[str, Any] = load_file(path)
    except (OSError, ValueError, SafetensorError) as error:
        raise ReadError(path, f"The recurrent weights cannot be read: {error}.",
                        advice="Give a .safetensors or .npz file.") from None  # fmt: skip
    return loaded


def _direction(path: Path, tensors: Mapping[str, Any], prefix: str, dim: int) -> dict[str, Tensor]:
    """The six arrays of a direction under torch's names; its gates stand in the order r, z, candidate."""
    missing = [prefix + name for name in _NAMES if prefix + name not in tensors]
    if missing:
        raise ReadError(path, f"There is no tensor {missing[0]!r}.", advice="See the names in the release's format.")
    arrays = {name: np.asarray(tensors[prefix + name], np.float32) for name in _NAMES}
    hidden = arrays["Ux"].shape[0]
    shapes = {"W": (dim, 2 * hidden), "b": (2 * hidden,), "U": (hidden, 2 * hidden), "Wx": (dim, hidden),
              "bx": (hidden,), "Ux": (hidden, hidden)}  # fmt: skip
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise ReadError(path, f"{prefix}{name} has the shape {arrays[name].shape}, not {shape}.",
                            advice="Are the word vectors the table that these weights were trained with?")  # fmt: skip
    return {
        "weight_ih_l0": _joined(arrays["W"].T, arrays["Wx"].T),
        "weight_hh_l0": _joined(arrays["U"].T, arrays["Ux"].T),
        "bias_ih_l0": _joined(arrays["b"], arrays["bx"]),
        "bias_hh_l0": torch.zeros(3 * hidden),
    }


def _joined(first: Any, second: Any) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(np.concatenate([first, second])))
