"""Comparison of the models of both papers with newer encoders and with the models of this project.

No paper has these tables, so no row has published numbers.
"""

from __future__ import annotations

from themescope.core.papers.modern.data import BENCHMARKS, CORPORA, MODELS, PROFILES, TRIPLETS
from themescope.core.papers.modern.tables import TABLES
from themescope.core.papers.spec import Paper

MODERN = Paper(
    id="modern",
    title="Thematic similarity of sentences: both papers and newer models",
    citation="Themescope. Rows of Ein Dor et al. 2018 and Saha et al. 2017 beside newer models, on the same data.",
    triplets=TRIPLETS,
    benchmarks=BENCHMARKS,
    models=MODELS,
    tables=TABLES,
    profiles=PROFILES,
    corpora=CORPORA,
)
"""Experiment specs of the comparison."""
