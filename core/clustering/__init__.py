"""Clusterers of sentences. Cards only; see ``themescope.core.registry``.

Tags: ``compiled`` takes a millisecond per article, so that parallel processes would cost more than they save;
``no-vectors`` uses the number of sentences only; ``many-items`` is for tens of
thousands of sentences at once; ``needs-k`` does not choose the number of clusters itself; ``paper`` is a row of the
paper's table; ``tables-only`` is for further rows of our tables, and no choice of pages.
"""

from themescope.core.registry import Card, Registry

_ED18 = "Ein Dor et al. 2018, section 5.1"
_ICLUST = "Slonim, Atwal, Tkačik, Bialek 2005, Information-based clustering, PNAS 102:18297"
_COMPILED = frozenset({"compiled", "needs-k"})

REGISTRY = Registry(
    "clusterer",
    [
        Card(
            id="iclust",
            title="Iclust",
            summary="Moves one sentence at a time to the cluster with the highest mean cosine; best of several random "
            "starts.",
            source=f"{_ICLUST}; used by {_ED18}",
            factory="themescope.core.clustering.iclust:Iclust",
            config="themescope.core.clustering.iclust:IclustConfig",
            tags=_COMPILED | {"paper"},
        ),
        Card(
            id="kmeans",
            title="k-means on unit vectors",
            summary="Lloyd's algorithm with Euclidean distance on vectors of length 1.",
            source=f"{_ED18}; Lloyd 1982; k-means++ of Arthur and Vassilvitskii 2007",
            factory="themescope.core.clustering.baselines:UnitKMeans",
            config="themescope.core.clustering.baselines:KMeansConfig",
            tags=_COMPILED | {"paper"},
        ),
        Card(
            id="kmeans-raw",
            title="k-means on raw vectors",
            summary="Lloyd's algorithm with Euclidean distance on unscaled vectors.",
            source="Lloyd 1982; one interpretation of Ein Dor et al. 2018",
            factory="themescope.core.clustering.baselines:RawKMeans",
            config="themescope.core.clustering.baselines:KMeansConfig",
            tags=_COMPILED | {"tables-only"},
        ),
        Card(
            id="kmeans-spherical",
            title="Spherical k-means",
            summary="Assigns each sentence to the centre of largest cosine; a centre is the sum of its unit vectors.",
            source="Dhillon and Modha 2001",
            factory="themescope.core.clustering.baselines:SphericalKMeans",
            config="themescope.core.clustering.baselines:KMeansConfig",
            tags=_COMPILED | {"tables-only"},
        ),
        Card(
            id="ward",
            title="Ward",
            summary="Repeatedly merges the two clusters whose union raises the variance least. Deterministic; uses "
            "unit vectors.",
            source="Ward 1963, Hierarchical grouping to optimize an objective function; this project",
            factory="themescope.core.clustering.baselines:Ward",
            config="themescope.core.config:Config",
            tags=_COMPILED,
        ),
        Card(
            id="spectral",
            title="Spectral",
            summary="k-means on the leading eigenvectors of the graph of nearest neighbours by cosine.",
            source="Ng, Jordan, Weiss 2002, On spectral clustering; this project",
            factory="themescope.core.clustering.baselines:Spectral",
            config="themescope.core.clustering.baselines:SpectralConfig",
            tags=_COMPILED,
        ),
        Card(
            id="iclust-blocks",
            title="Iclust in blocks",
            summary="Iclust for many sentences: random blocks are improved in turn, so that the matrix of all "
            "similarities is never computed.",
            source=f"Yom-Tov and Slonim 2009, Parallel pairwise clustering, SDM; {_ICLUST}",
            factory="themescope.core.clustering.iclust:BlockIclust",
            config="themescope.core.clustering.iclust:BlockConfig",
            tags=frozenset({"needs-k", "many-items"}),
            revision=2,
        ),
        Card(
            id="correlation",
            title="Correlation clustering",
            summary="Maximises the total log-odds of pairs that share a cluster; chooses the number of clusters itself "
            "unless it is given.",
            source="Bansal, Blum, Chawla 2004, Correlation clustering, Machine Learning 56; this project",
            factory="themescope.core.clustering.correlation:CorrelationClustering",
            config="themescope.core.clustering.correlation:CorrelationConfig",
            tags=frozenset({"compiled"}),
        ),
        Card(
            id="random",
            title="Random labels",
            summary="The lower baseline: labels drawn at random, each cluster with at least one sentence.",
            source="baseline",
            factory="themescope.core.clustering.baselines:RandomLabels",
            config="themescope.core.config:Config",
            tags=_COMPILED | {"no-vectors"},
        ),
    ],
    plugin_group="themescope.clusterers",
)
