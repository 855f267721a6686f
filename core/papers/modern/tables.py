"""Tables of the comparison, one for each data set, and an overview of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise

from themescope.core.models import REGISTRY as METHODS
from themescope.core.papers.modern import data
from themescope.core.papers.modern.data import (
    CLAIMS,
    CURVE_SIZES,
    ENCODER,
    IN_CONTEXT,
    SCB,
    SENTENCES,
    SET,
    TITLES,
    UNBIASED,
    WITH_ORDER,
    centred_id,
    curve_id,
    distilled_id,
    with_words_id,
)
from themescope.core.papers.sjh17.data import BILLS, LABELS, NEWSGROUPS, PAPERS, REUTERS, TASK, model_id
from themescope.core.papers.spec import (
    Accuracy,
    Claim,
    ClusteringMeasures,
    Combined,
    Cost,
    CountBenchmark,
    Measure,
    MetricColumn,
    Paper,
    RelatednessMeasures,
    ResultTable,
    Row,
    Topics,
)

_SOURCE = "Themescope"
_PAPER = "A model of Ein Dor et al. 2018"
_ROWS: Mapping[str, tuple[str, str]] = {
    "mean-vectors": ("mean-vectors (GloVe)", "A baseline of Ein Dor et al. 2018."),
    "tfidf": ("Tf-idf within the article", "Without training."),
    "static": ("static table of MiniLM", "Word vectors distilled from MiniLM, averaged."),
    centred_id("static"): ("static table, centred", "Minus the mean of the article."),
    with_words_id(centred_id("static")): ("static table, centred, with tf-idf", "Tf-idf has the weight 1."),
    "static-encoder": ("static-encoder", "Word vectors that are trained on sections of articles."),
    distilled_id("static-encoder"): ("static-encoder, distilled", "Its teacher is thematic-encoder."),
    "triplets-sen": ("triplets-sen", f"{_PAPER}, with its loss as printed and the budget of `reproduce ed18`."),
    "triplets-sen-titles": ("triplets-sen-titles, pretrained", f"{_PAPER}, trained by this project (section loss)."),
    with_words_id("triplets-sen-titles"): ("triplets-sen-titles, pretrained, with tf-idf", "Tf-idf has the weight 2."),
    "triplets-sen-contrastive": ("triplets-sen-contrastive", "The BiLSTM with the contrastive loss on whole articles."),
    distilled_id("triplets-sen-contrastive"): ("triplets-sen-contrastive, distilled", "The same, with a teacher."),
    "minilm": ("MiniLM", "all-MiniLM-L6-v2 as published, without centring."),
    centred_id("minilm"): ("MiniLM, centred", "Minus the mean of the article."),
    with_words_id(centred_id("minilm")): ("MiniLM, centred, with tf-idf", "Tf-idf has the weight 1."),
    ENCODER: ("thematic-encoder", "MiniLM, fine-tuned on sections of articles."),
    centred_id(ENCODER): ("thematic-encoder, centred", "Minus the mean of the article."),
    with_words_id(centred_id(ENCODER)): ("thematic-encoder, centred, with tf-idf", "Tf-idf has the weight 1."),
    IN_CONTEXT: ("thematic-encoder in context", "Reads the mean of the article before each sentence."),
    "ensemble-encoder": ("thematic-encoder, all seeds, centred", "The models of all seeds, concatenated."),
    "set-encoder-static": ("set-encoder on the static table", "Reads all sentences of the article."),
    with_words_id("set-encoder-static"): ("set-encoder on the static table, with tf-idf", "With its learned weight."),
    "set-encoder-minilm": ("set-encoder on MiniLM", "Reads all sentences of the article."),
    with_words_id("set-encoder-minilm"): ("set-encoder on MiniLM, with tf-idf", "With its learned weight."),
    UNBIASED: ("set-encoder on thematic-encoder, without bias", "Its attention ignores tf-idf."),
    SET: ("set-encoder on thematic-encoder", "Reads all sentences of the article."),
    with_words_id(SET): ("set-encoder on thematic-encoder, with tf-idf", "With its learned weight."),
    "ensemble-set": ("set-encoder of all seeds, with tf-idf", "The models of all seeds, concatenated."),
}
"""Model → title and remark of its row."""
_TAGS = {model.id: METHODS.get(model.method).tags for model in data.MODELS if model.method in METHODS}
_ALONE = tuple(id for id in _ROWS if "per-article" not in _TAGS.get(id, frozenset()))
"""Models that read one sentence at a time."""
_BEST = with_words_id(SET)

AMI, CONTEXT = "ami", "sentences in context"
_PARTITION = (MetricColumn(AMI, "AMI (max)"), MetricColumn("ari", "ARI"), MetricColumn("mi", "MI (nats)"))
_CONTEXT_FREE = "A model that reads one sentence at a time has the same vectors with and without context."


def _rows(measures: Mapping[str, Measure]) -> tuple[Row, ...]:
    return tuple(Row(id, _ROWS[id][0], measure, _ROWS[id][1]) for id, measure in measures.items())


def _against_baselines(metric: str, rows: Iterable[str]) -> tuple[Claim, ...]:
    """Return claims that the last models are better than the baselines, and models with tf-idf than those without."""
    known = set(rows)
    better = (_BEST, with_words_id(centred_id(ENCODER)), ENCODER)
    fast = [id for id in _ROWS if id.startswith(("static-encoder", "triplets-sen-contrastive"))]
    pairs = [
        (row, base)
        for row in (*better, *fast)
        for base in ("mean-vectors", centred_id("minilm"), "triplets-sen-titles")
    ]
    pairs += [
        (IN_CONTEXT, ENCODER),
        *((with_words_id(row), row) for row in (SET, centred_id(ENCODER), centred_id("minilm"))),
    ]
    return tuple(Claim(a, b, metric) for a, b in pairs if a in known and b in known)


def _clusters(id: str, title: str, about: str, benchmark: str, own: Iterable[Row] = ()) -> ResultTable:
    rows = _rows({model: ClusteringMeasures(model, "iclust", benchmark) for model in _ROWS})
    random = Row("random", "random labels", ClusteringMeasures("", "random", benchmark), "The lower baseline.")
    return ResultTable(id, title, _SOURCE, about, _PARTITION, (random, *rows, *own), _against_baselines(AMI, _ROWS))


def _ordered(benchmark: str) -> Row:
    """Return a row with the order of sentences, which no other model uses and which tells the motion of a claim."""
    remark = "Not comparable: it also knows the order of the sentences."
    title = f"{_ROWS[SET][0]}, with order"
    return Row(WITH_ORDER, title, ClusteringMeasures(WITH_ORDER, "iclust", benchmark), remark)


def _transductive(corpus: str) -> Row:
    model = model_id("con-s2v-dis", corpus)
    return Row("con-s2v-dis", "con-s2v-dis", ClusteringMeasures(model, "iclust", corpus), "Trained on these texts.")


CLUSTERS = _clusters(
    "clusters",
    "Sections of Wikipedia articles",
    "Each article is clustered separately by Iclust into as many clusters as it has sections; means over articles, AMI "
    "normalised by the larger entropy.",
    SCB,
    (_ordered(SCB),),
)
CLAIMS_TABLE = _clusters(
    "claims",
    "Debater claims by motion",
    "2,294 claims of 58 motions (Rinott et al. 2015) are clustered by Iclust into 58 clusters, all together. They are "
    "one text, so there are no intervals.",
    CLAIMS,
)
SECTIONS = tuple(
    _clusters(
        name,
        f"Sections of {title}",
        f"{about} Clustered like the sections of Wikipedia articles; no model but con-s2v-dis was trained on them.",
        name,
        (_ordered(name), _transductive(name)),
    )
    for name, title, about in (
        (PAPERS, "scientific papers", "At most 100 papers of ScisummNet, without the first section."),
        (BILLS, "bills", "Bills of BillSum with at least three sections."),
    )
)


def _accuracy(model: str, triplets: str, context: bool) -> tuple[Measure, str]:
    return Accuracy(model, triplets, context=context and model not in _ALONE), "accuracy"


def _triplet_measure(model: str) -> Combined:
    return Combined(
        {
            "sentences": _accuracy(model, SENTENCES, False),
            CONTEXT: _accuracy(model, SENTENCES, True),
            "titles": _accuracy(model, TITLES, False),
            "titles in context": _accuracy(model, TITLES, True),
        }
    )


TRIPLETS = ResultTable(
    "triplets",
    "Triplet accuracy",
    _SOURCE,
    "Share of triplets whose pivot is nearer to the positive than to the negative: a sentence of its section and one "
    "of an adjacent section, or the titles of both. In context all sentences of the article are embedded together; "
    f"otherwise only those of its triplets. {_CONTEXT_FREE}",
    (
        MetricColumn("sentences", "Sentences"),
        MetricColumn(CONTEXT, "Sentences, in context"),
        MetricColumn("titles", "Titles"),
        MetricColumn("titles in context", "Titles, in context"),
    ),
    _rows({model: _triplet_measure(model) for model in _ROWS}),
    _against_baselines(CONTEXT, _ROWS),
)


def _pairs(model: str) -> Combined:
    scores = {metric: (RelatednessMeasures(model), metric) for metric in ("pearson", "spearman", "mse")}
    return Combined({**scores, "cosine": (RelatednessMeasures(model, regressor=False), "spearman")})


SICK = ResultTable(
    "sick",
    "Relatedness of sentence pairs (SICK)",
    _SOURCE,
    "A softmax regression on |u−v| and u⊙v as in Table 5 of Ein Dor et al. 2018, and the cosine alone. Models that "
    "read whole articles are left out: the pairs have none.",
    (
        MetricColumn("pearson", "Pearson r"),
        MetricColumn("spearman", "Spearman ρ"),
        MetricColumn("mse", "MSE", lower_is_better=True),
        MetricColumn("cosine", "Spearman ρ, cosine only"),
    ),
    _rows({model: _pairs(model) for model in _ALONE}),
)

_TOPIC_COLUMNS = (
    MetricColumn("weighted F1", "F1 (weighted)"),
    MetricColumn("accuracy", "Accuracy"),
    MetricColumn("accuracy by document", "Accuracy by document"),
    MetricColumn("V", "V"),
    MetricColumn("AMI", "AMI (max)"),
)


def _topics(corpus: str, title: str) -> ResultTable:
    labels = model_id(LABELS, corpus)
    own = tuple(
        Row(method, name, Topics(model_id(method, corpus), labels, TASK), "Trained on these texts, as in the paper.")
        for method, name in (("tfidf", "Tf-idf"), (LABELS, LABELS), ("con-s2v-dis", "con-s2v-dis"))
    )
    return ResultTable(
        corpus,
        f"Topics of sentences: {title}",
        "Themescope; the tasks of Saha et al. 2017, Table 4",
        "Classification by logistic regression and k-means into eight clusters. A topic is that of the whole document, "
        "so models that subtract what its sentences share are left out.",
        _TOPIC_COLUMNS,
        (*_rows({model: Topics(model, labels, TASK) for model in _ALONE}), *own),
        tuple(
            Claim(row, base, "accuracy by document")
            for row in (ENCODER, "static-encoder", "minilm")
            for base in ("mean-vectors", "con-s2v-dis")
        ),
    )


TOPICS = (_topics(NEWSGROUPS, "20 Newsgroups, eight groups"), _topics(REUTERS, "Reuters-21578"))

COSTS = ResultTable(
    "costs",
    "Costs",
    _SOURCE,
    "Seconds of training with all its parts; size of the saved model, which for thematic-encoder is the difference "
    "from the installed MiniLM (91 MB); sentences embedded per second on the machine that wrote this table.",
    (
        MetricColumn("seconds", "Training (s)", digits=0, lower_is_better=True),
        MetricColumn("megabytes", "Size (MB)", digits=1, lower_is_better=True),
        MetricColumn("speed", "Sentences/s", digits=0),
    ),
    _rows({model: Cost(model, SCB) for model in _ROWS}),
)


def _ami_and_triplets(model: str) -> Combined:
    return Combined({AMI: (ClusteringMeasures(model, "iclust", SCB), AMI), CONTEXT: _accuracy(model, SENTENCES, True)})


_BOTH = (MetricColumn(AMI, "AMI (max)"), MetricColumn(CONTEXT, "Triplets, in context"))
_STEPS = ("minilm", ENCODER, centred_id(ENCODER), UNBIASED, SET, with_words_id(SET), "ensemble-set")
ABLATION = ResultTable(
    "ablation",
    "From MiniLM to the best model, step by step",
    _SOURCE,
    "Each row adds one thing to the row above it, and is tested against it: fine-tuning, centring, the set encoder, "
    "tf-idf as a bias of its attention, tf-idf beside its vectors, several seeds. AMI on sections of Wikipedia "
    "articles, accuracy on triplets of sentences in context.",
    _BOTH,
    _rows({model: _ami_and_triplets(model) for model in _STEPS}),
    tuple(Claim(after, before, metric) for before, after in pairwise(_STEPS) for metric in (AMI, CONTEXT)),
)


def _curve(model: str) -> dict[str, str]:
    """Return the models of a learning curve with their titles."""
    title = _ROWS[model][0]
    sizes = {curve_id(model, size): f"{title}, {size:,} articles" for size in CURVE_SIZES}
    return {**sizes, model: f"{title}, all articles"}


_CURVES = (_curve(ENCODER), _curve("set-encoder-static"))
CURVE = ResultTable(
    "curve",
    "Learning curves",
    _SOURCE,
    "The same models trained on fewer articles, which are sampled with the seed.",
    _BOTH,
    tuple(
        Row(id, title, _ami_and_triplets(id), "One setting is changed: the number of training articles.")
        for curve in _CURVES
        for id, title in curve.items()
    ),
    tuple(
        Claim(more, fewer, metric) for curve in _CURVES for fewer, more in pairwise(curve) for metric in (AMI, CONTEXT)
    ),
)


def _overall(model: str) -> Combined:
    triplets = _triplet_measure(model).parts
    found: dict[str, tuple[Measure, str]] = {
        AMI: (ClusteringMeasures(model, "iclust", SCB), AMI),
        **{name: triplets[name] for name in ("sentences", CONTEXT, "titles")},
        **{name: (ClusteringMeasures(model, "iclust", name), AMI) for name in (CLAIMS, PAPERS, BILLS)},
    }
    if model in _ALONE:
        found["sick"] = (RelatednessMeasures(model), "pearson")
        for corpus in (NEWSGROUPS, REUTERS):
            found[corpus] = (Topics(model, model_id(LABELS, corpus), TASK), "accuracy")
    cost = {name: (Cost(model, SCB), name) for name in ("seconds", "megabytes", "speed")}
    return Combined({**found, **cost})


OVERVIEW = ResultTable(
    "overview",
    "All models and data sets",
    _SOURCE,
    "One row for each model, one column for each data set; the tables below have intervals, tests and other metrics.",
    (
        MetricColumn(AMI, "Articles (AMI)"),
        MetricColumn("sentences", "Triplets"),
        MetricColumn(CONTEXT, "Triplets, in context"),
        MetricColumn("titles", "Title triplets"),
        MetricColumn(CLAIMS, "Claims (AMI)"),
        MetricColumn(PAPERS, "Papers (AMI)"),
        MetricColumn(BILLS, "Bills (AMI)"),
        MetricColumn("sick", "SICK (r)"),
        MetricColumn(NEWSGROUPS, "Newsgroups (accuracy)"),
        MetricColumn(REUTERS, "Reuters (accuracy)"),
        *COSTS.columns,
    ),
    _rows({model: _overall(model) for model in _ROWS}),
    values_only=True,
)

_SIZES: Mapping[str, tuple[str, str]] = {
    SCB: ("Wikipedia articles", "Rules of the clustering benchmark of Ein Dor et al. 2018."),
    PAPERS: ("Scientific papers", "The same rules."),
    BILLS: ("Bills", "The same rules, but three sections are enough."),
    CLAIMS: ("Debater claims", "Motions in place of sections."),
}
_COUNTS: tuple[tuple[str, str, int], ...] = (
    ("articles", "Texts", 0),
    ("clusters", "Sections", 0),
    ("sentences", "Sentences", 0),
    ("clusters_per_article_mean", "Sections per text", 1),
    ("tokens_mean", "Tokens per sentence", 1),
)
SIZES = ResultTable(
    "data",
    "Texts with sections",
    _SOURCE,
    "Texts whose sentences are clustered.",
    tuple(MetricColumn(metric, title, digits) for metric, title, digits in _COUNTS),
    tuple(Row(id, title, CountBenchmark(id), remark) for id, (title, remark) in _SIZES.items()),
)
MODERN = Paper(
    id="modern",
    title="Thematic similarity of sentences: both papers and newer models",
    citation="Themescope. Rows of Ein Dor et al. 2018 and Saha et al. 2017 beside newer models, on the same data.",
    triplets=data.TRIPLETS,
    benchmarks=data.BENCHMARKS,
    models=data.MODELS,
    tables=(
        OVERVIEW, SIZES, CLUSTERS, TRIPLETS, SICK, CLAIMS_TABLE, *TOPICS, *SECTIONS, COSTS, ABLATION, CURVE,
    ),
    profiles=data.PROFILES,
    corpora=data.CORPORA,
)  # fmt: skip
"""Experiment specs of the comparison."""
