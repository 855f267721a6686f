"""Metrics that compare two partitions of the same sentences. Cards only; see ``themescope.core.registry``.

Tags: ``chance-corrected`` has mean 0 over random labels; ``paper`` is a column of the paper's table; ``variant`` is an
alternative computation of another metric, shown only on request.
"""

from themescope.core.registry import Card, Registry

_AMI = "Mutual information above chance, divided by the larger entropy above chance: the paper's variant."
_MEAN = "Mutual information above chance, divided by the mean entropy above chance: the default of scikit-learn."
_VINH = "Vinh, Epps, Bailey 2010, JMLR 11"
_PAPER = frozenset({"paper"})
_CORRECTED = frozenset({"chance-corrected"})
_VARIANT = frozenset({"variant"})


def _card(id: str, title: str, summary: str, source: str, name: str, tags: frozenset[str] = frozenset()) -> Card:
    module = "themescope.core.metrics.partition"
    return Card(id, title, summary, source, f"{module}:{name}", f"{module}:MetricConfig", tags)


REGISTRY = Registry(
    "metric",
    [
        _card(
            "mi", "MI", "Mutual information in nats.", "Shannon 1948; Ein Dor et al. 2018", "MutualInformation", _PAPER
        ),
        _card("ami", "AMI", _AMI, _VINH, "AdjustedMutualInformation", _PAPER | _CORRECTED),
        _card(
            "ami-arithmetic",
            "AMI (arithmetic)",
            _MEAN,
            _VINH,
            "ArithmeticAdjustedMutualInformation",
            _VARIANT | _CORRECTED,
        ),
        _card("ri", "RI", "Share of sentence pairs on which both partitions agree.", "Rand 1971", "RandIndex", _PAPER),
        _card(
            "ari", "ARI", "Rand index above chance.", "Hubert and Arabie 1985", "AdjustedRandIndex", _PAPER | _CORRECTED
        ),
        _card("v", "V", "Harmonic mean of homogeneity and completeness.", "Rosenberg and Hirschberg 2007", "VMeasure"),
    ],
    plugin_group="themescope.metrics",
)
