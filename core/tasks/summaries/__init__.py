"""Extractive summaries: sentences by descending score up to a word limit. Cards only; see ``core.registry``.

Tags: ``vectors`` needs the vectors of the document's sentences; ``baseline`` looks at no content; ``seeded`` depends on
a seed; ``paper`` is a row of the paper's table.
"""

from core.registry import Card, Registry

_SJH17 = "Saha et al. 2017, section 4.3"

REGISTRY = Registry(
    "summarizer",
    [
        Card(
            id="lexrank",
            title="LexRank on a model's vectors",
            summary="Takes the sentences that are most central in the graph of cosines between their vectors.",
            source=f"Erkan and Radev 2004; {_SJH17}",
            factory="core.tasks.summaries.rankers:Lexrank",
            config="core.tasks.summaries.rankers:LexrankConfig",
            tags=frozenset({"vectors", "paper"}),
        ),
        Card(
            id="lexrank-tfidf",
            title="LexRank on Tf-Idf",
            summary="Takes the sentences that are most central by the words they share.",
            source=f"Erkan and Radev 2004; {_SJH17}",
            factory="core.tasks.summaries.rankers:TfidfLexrank",
            config="core.tasks.summaries.rankers:LexrankConfig",
            tags=frozenset({"paper"}),
        ),
        Card(
            id="lead",
            title="Lead",
            summary="Takes the first sentences of the document.",
            source="Customary baseline; Nenkova 2005",
            factory="core.tasks.summaries.rankers:Lead",
            config="core.tasks.summaries.rankers:BaselineConfig",
            tags=frozenset({"baseline"}),
        ),
        Card(
            id="random",
            title="Random sentences",
            summary="Takes sentences in random order.",
            source="Floor",
            factory="core.tasks.summaries.rankers:RandomOrder",
            config="core.tasks.summaries.rankers:BaselineConfig",
            tags=frozenset({"baseline", "seeded"}),
        ),
    ],
)
