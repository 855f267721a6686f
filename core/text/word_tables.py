"""Word-vector tables that come by ordinary installation. Cards only; a table is read when it is asked for."""

from __future__ import annotations

from core.registry import Card, Registry

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
