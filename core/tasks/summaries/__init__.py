"""Extractive summaries: sentences by falling score up to a word limit. Cards only; see ``themescope.core.registry``.

Tags: ``vectors`` needs the vectors of the document's sentences; ``baseline`` ignores the content; ``seeded`` depends on
a seed; ``paper`` is a row of the paper's table.
"""

from themescope.core.registry import Card, Registry

_SJH17 = "Saha et al. 2017, section 4.3"

REGISTRY = Registry(
    "summarizer",
    [
        Card(
            id="lexrank",
            title="LexRank on a model's vectors",
            summary="Extracts the sentences that are most central in the graph of cosines between their vectors.",
            source=f"Erkan and Radev 2004; {_SJH17}",
            factory="themescope.core.tasks.summaries.summarizing:Lexrank",
            config="themescope.core.tasks.summaries.summarizing:LexrankConfig",
            tags=frozenset({"vectors", "paper"}),
        ),
        Card(
            id="lexrank-tfidf",
            title="LexRank on Tf-Idf",
            summary="Extracts the sentences that are most central by their shared words.",
            source=f"Erkan and Radev 2004; {_SJH17}",
            factory="themescope.core.tasks.summaries.summarizing:TfidfLexrank",
            config="themescope.core.tasks.summaries.summarizing:LexrankConfig",
            tags=frozenset({"paper"}),
        ),
        Card(
            id="lead",
            title="Lead",
            summary="Extracts the first sentences of the document.",
            source="Common baseline; Nenkova 2005",
            factory="themescope.core.tasks.summaries.summarizing:Lead",
            config="themescope.core.config:Config",
            tags=frozenset({"baseline"}),
        ),
        Card(
            id="random",
            title="Random sentences",
            summary="Extracts sentences in random order.",
            source="Baseline",
            factory="themescope.core.tasks.summaries.summarizing:RandomOrder",
            config="themescope.core.config:Config",
            tags=frozenset({"baseline", "seeded"}),
        ),
    ],
)
