"""Compare: choose a method by numbers that say how sure they are."""

from webapp.features.compare import accuracy, benchmarking, hardness, pairing, partition_pair
from webapp.shared import comparing, queries
from webapp.shared.choose import by_name, nothing, title
from webapp.shared.job_status import watch
from webapp.shared.pinning import pinned_tabs
from webapp.shared.saved_views import saved_views

title(
    "Compare",
    "Compare methods: how well do clusters match the sections of unseen articles?",
)
watch("compare")
CLUSTERING, HARD, TRIPLETS, BUILD = "Clustering", "Hard articles", "Triplet accuracy", "Build a benchmark"
PAIR, ARTICLE = comparing.PAIR_VIEW, pairing.ARTICLE_VIEW
tabs = pinned_tabs([CLUSTERING, PAIR, HARD, ARTICLE, TRIPLETS, BUILD], "tab")
view = next(name for name, tab in tabs.items() if tab.open)
with tabs[view]:
    corpora = queries.corpora()
    if view in (CLUSTERING, PAIR, HARD):
        if queries.benchmarks():
            benchmark, scope = comparing.choose_scope()
            if view == CLUSTERING:
                comparing.clustering(scope)
                benchmarking.missing(benchmark)
                benchmarking.about(benchmark)
            elif (pair := pairing.choose_pair(scope)) is not None:
                (pairing.show if view == PAIR else hardness.show)(pair)
        else:
            nothing(
                "No benchmark yet.", "Build one in the tab “Build a benchmark”. Article sections are the ground truth."
            )
    elif view == TRIPLETS:
        sets = queries.triplet_sets_to_read()
        if sets:
            accuracy.show(by_name("Triplet set", sets, "set", lambda s: s.name))
        else:
            nothing("No triplets yet.", "Build a triplet set first.", "triplets", "Triplets")
    elif not corpora:
        nothing("No corpus yet.", "Import texts with sections first.", "corpora", "Import a corpus")
    elif view == ARTICLE:
        partition_pair.choose_and_show(corpora)
    else:
        benchmarking.build(corpora)
saved_views("compare")
