"""A sentence encoder that is small enough to be made and trained within a test."""

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import pytest

NEEDS_ENCODER = pytest.mark.skipif(find_spec("peft") is None, reason="pip install 'themescope[encoder]'")
"""Mark of tests that fine-tune an encoder; looks for the package, whose import takes seconds in every process."""


def write_encoder(folder: Path, words: Iterable[str]) -> Path:
    """Write an untrained BERT over ``words`` into ``folder``, as the package transformers does."""
    import torch
    from transformers import BertConfig, BertModel, BertTokenizerFast

    known = list(dict.fromkeys(words))
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *known]), "utf-8")
    BertTokenizerFast(vocab=str(folder / "vocab.txt")).save_pretrained(folder)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    torch.manual_seed(0)
    BertModel(BertConfig(vocab_size=len(known) + 5, **sizes)).save_pretrained(folder)
    return folder
