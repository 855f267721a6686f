"""Word-vector tables by name: the registry of installed tables, and loading of tables and files.

The registry holds cards only; a table is read when it is loaded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.errors import ConfigError
from core.paths import at_home
from core.registry import Card, Registry

if TYPE_CHECKING:
    from core.text.word_vectors import WordVectors

DISTILLED = "distilled:"
"""Prefix of a source that is the folder of a sentence encoder."""
REGISTRY = Registry(
    "word-vector table",
    [
        Card(
            id="glove-6b-50d",
            title="GloVe 6B, 50 dimensions",
            summary="400,000 lower-case words from Wikipedia 2014 and Gigaword 5, most frequent first.",
            source="Pennington, Socher, Manning 2014, GloVe: Global Vectors for Word Representation; PDDL 1.0",
            factory="core.text.word_vector_files:read_glove_package",
            config="core.config:Config",
            tags=frozenset({"lower-case"}),
        ),
    ],
)


def load_word_vectors(source: str, limit: int | None = None) -> WordVectors:
    """Load word vectors from ``source``, at most the first ``limit`` words.

    ``source`` is the id of a table in :data:`REGISTRY`, ``distilled:FOLDER`` for a table distilled from a sentence
    encoder, or the path of a GloVe text file (``.txt``, ``.vec``), a word2vec binary (``.bin``), or ``.safetensors``
    with its vocabulary file in the same folder.

    Raises
    ------
    ConfigError
        If the source is none of these.
    ReadError
        If the file is damaged.
    """
    if source.startswith(DISTILLED):
        from core.text.distilled import distil_table

        return distil_table(at_home(source.removeprefix(DISTILLED)), limit or 0)
    if source in REGISTRY:
        loaded: WordVectors = REGISTRY.get(source).resolve()(limit or 0)
        return loaded
    path = at_home(source)
    if path.is_file():
        from core.text.word_vector_files import read_word_vectors

        return read_word_vectors(path, limit or 0)
    raise ConfigError(
        f"There are no word vectors at {source!r}. Give one of {', '.join(REGISTRY.ids())}, "
        f"a file (.txt, .vec, .bin, .safetensors), or {DISTILLED}FOLDER of a sentence encoder."
    )
