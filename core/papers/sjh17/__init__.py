"""Saha et al. 2017, *CON-S2V: A Generic Framework for Incorporating Extra-Sentential Context into Sen2Vec*.

Published numbers are copied from the paper.
"""

from __future__ import annotations

from themescope.core.papers.sjh17.data import CORPORA, MODELS, PROFILES
from themescope.core.papers.sjh17.tables import TABLES
from themescope.core.papers.spec import Paper

"""Experiment specs of Saha et al. 2017."""


SJH17 = Paper(
    id="sjh17",
    title="CON-S2V: A Generic Framework for Incorporating Extra-Sentential Context into Sen2Vec",
    citation="Saha, Joty, Al Hasan. ECML-PKDD 2017.",
    triplets=(),
    benchmarks=(),
    models=MODELS,
    tables=TABLES,
    profiles=PROFILES,
    corpora=CORPORA,
)
