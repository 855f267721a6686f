"""Ein Dor et al. 2018, *Learning Thematic Similarity Metric (from Article Sections) Using Triplet Networks*.

Published numbers are copied from the paper. The paper numbers only Table 4; the other tables are numbered in the order
in which the paper presents them.
"""

from __future__ import annotations

from themescope.core.papers.ed18.clustering import CLUSTERERS, POSTER, TABLE_4
from themescope.core.papers.ed18.data import BENCHMARKS, MODELS, PROFILES, TRIPLETS
from themescope.core.papers.ed18.tables import CURVE_TABLE, TABLE_1, TABLE_2, TABLE_3, TABLE_5, TABLE_6
from themescope.core.papers.spec import Paper

"""Experiment specs of Ein Dor et al. 2018."""


ED18 = Paper(
    id="ed18",
    title="Learning Thematic Similarity Metric Using Triplet Networks",
    citation="Ein Dor, Mass, Halfon, Venezian, Shnayderman, Aharonov, Slonim. ACL 2018 (short papers), 49–54.",
    triplets=TRIPLETS,
    benchmarks=BENCHMARKS,
    models=MODELS,
    tables=(TABLE_1, TABLE_2, TABLE_3, TABLE_4, TABLE_5, TABLE_6, CURVE_TABLE, CLUSTERERS, POSTER),
    profiles=PROFILES,
)
