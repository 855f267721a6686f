"""Methods section of a paper about labels, from facts. A sentence appears only if its fact is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from themescope.core.labelling.agreement import CodingAgreement, PairAlpha
from themescope.core.labelling.markup import Cite, Foreign, Part, Reference, Sentence, counted
from themescope.core.metrics.coding_agreement import AlternativeAnnotatorTest, Decision
from themescope.core.types import Estimate

REFERENCES: Mapping[str, Reference] = {
    found.key: found
    for found in (
        Reference(
            "calderon2025", "inproceedings", ("Calderon, Nitay", "Reichart, Roi", "Dror, Rotem"),
            "The alternative annotator test for LLM-as-a-judge: how to statistically justify replacing human "
            "annotators with LLMs",
            "Proceedings of the 63rd Annual Meeting of the Association for Computational Linguistics", 2025,
        ),
        Reference(
            "cohen1960", "article", ("Cohen, Jacob",), "A coefficient of agreement for nominal scales",
            "Educational and Psychological Measurement", 1960, "20", "37–46",
        ),
        Reference(
            "dawid1979", "article", ("Dawid, A. P.", "Skene, A. M."),
            "Maximum likelihood estimation of observer error-rates using the EM algorithm",
            "Applied Statistics", 1979, "28", "20–28",
        ),
        Reference(
            "fritsch2009", "article", ("Fritsch, Arno", "Ickstadt, Katja"),
            "Improved criteria for clustering based on the posterior similarity matrix",
            "Bayesian Analysis", 2009, "4", "367–391",
        ),
        Reference(
            "hayes2007", "article", ("Hayes, Andrew F.", "Krippendorff, Klaus"),
            "Answering the call for a standard reliability measure for coding data",
            "Communication Methods and Measures", 2007, "1", "77–89",
        ),
        Reference(
            "hubert1985", "article", ("Hubert, Lawrence", "Arabie, Phipps"), "Comparing partitions",
            "Journal of Classification", 1985, "2", "193–218",
        ),
        Reference(
            "light1971", "article", ("Light, Richard J.",),
            "Measures of response agreement for qualitative data: some generalizations and alternatives",
            "Psychological Bulletin", 1971, "76", "365–377",
        ),
        Reference(
            "passonneau2006", "inproceedings", ("Passonneau, Rebecca",),
            "Measuring agreement on set-valued items (MASI) for semantic and pragmatic annotation",
            "Proceedings of the Fifth International Conference on Language Resources and Evaluation", 2006,
        ),
        Reference(
            "zapf2016", "article", ("Zapf, Antonia", "Castell, Stefanie", "Morawietz, Lars", "Karch, André"),
            "Measuring inter-rater reliability for nominal data – which coefficients and confidence intervals are "
            "appropriate?", "BMC Medical Research Methodology", 2016, "16", "93",
        ),
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class StartFact:
    """What a number of labellings began with."""

    kind: str
    """"run", "sections", "labelling", "clusters", "nothing", "table", "selection" or another origin."""
    labellings: int
    name: str = ""
    """Name of the labelling, or of the clustering, that they began with."""
    model: str = ""
    method: str = ""
    clusterer: str = ""
    clusters: int | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class TaskFact:
    """A task of which labellings are part."""

    name: str
    items: int
    people: int
    shared: int
    """Number of items that several people have."""
    order: str
    seed: int
    gold: int
    """Number of items with gold labels that everybody has."""
    routed: int
    """Number of items that people got because others disagreed."""
    sample: str = ""
    """What was drawn at random, such as "60 of 1,500 sentences at random"; "" if the items were chosen."""


@dataclass(frozen=True, slots=True)
class ReliabilityFact:
    """Range of the reliabilities of people."""

    people: int
    rates: Mapping[str, tuple[Estimate, Estimate]]
    """"accuracy" of codes, or "sensitivity" and "specificity" on pairs: the lowest and the highest."""
    over: str
    equal_because: str = ""
    """Why all people are taken to be equally reliable; "" if they are not."""


@dataclass(frozen=True, slots=True)
class MachineFact:
    """A labelling of a model beside those of people."""

    model: str
    sentences: int
    """Number of sentences that it coded."""
    test: AlternativeAnnotatorTest | None
    """None with fewer than two people, or without common codes."""


@dataclass(frozen=True, slots=True)
class AdjudicationFact:
    """A gold labelling that was made from the labellings."""

    method: str
    """"posterior", "majority" or "majority of each code"."""
    sentences: int
    expected_ari: float | None
    equal: bool
    steps: int
    """Number of changes that people have made in it since."""
    left_open: int = 0
    """Number of sentences that began without a code because people disagreed."""


@dataclass(frozen=True, slots=True)
class TrainingFact:
    """Triplets that were sampled from the labels, and the models trained on them."""

    triplets: int
    seed: int
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything that is known about labellings of one corpus."""

    corpus: str
    languages: tuple[str, ...]
    articles: int
    sentences: int
    labellings: int
    people: int
    judged: int
    """Number of sentences that people placed."""
    blind: int
    """Number of blind labellings."""
    starts: tuple[StartFact, ...]
    tasks: tuple[TaskFact, ...]
    steps: Mapping[str, int]
    """Kind of operation → number of steps that were not undone."""
    undone: int
    answers: int
    first: date | None
    last: date | None
    coding: CodingAgreement | None
    """Agreement on codes with common names; None for partitions without."""
    alpha: PairAlpha | None
    """Agreement of partitions without common codes."""
    pairs: tuple[Estimate, ...]
    """Mean ARI over articles of every two labellings for which it is defined."""
    reliability: ReliabilityFact | None
    adjudications: tuple[AdjudicationFact, ...]
    training: tuple[TrainingFact, ...]
    version: str
    machines: tuple[MachineFact, ...] = ()
    """Labellings of models, which count in none of the numbers above."""


def paragraphs(facts: Facts) -> list[list[Sentence]]:
    """Return the paragraphs of the methods section: data and labelling, agreement, use."""
    agreed = agreement(facts.coding) if facts.coding is not None else _of_partitions(facts)
    found = [
        [_data(facts), *people(facts), *map(_start, facts.starts)],
        [sentence for task in facts.tasks for sentence in _task(task)],
        [*_work(facts)],
        [*agreed, *_reliability(facts), *map(_adjudication, facts.adjudications)],
        [sentence for machine in facts.machines for sentence in _machine(machine)],
        [*map(_training, facts.training), [f"Codes were made with Themescope {facts.version}."]],
    ]
    return [sentences for sentences in found if sentences]


def _data(facts: Facts) -> Sentence:
    told = f"{counted(facts.sentences, 'unit')} of {counted(facts.articles, 'text')}"
    listed = " and ".join(filter(None, [", ".join(facts.languages[:-1]), *facts.languages[-1:]]))
    languages = f" ({listed})" if listed else ""
    return ["Coded were ", told, " of the project “", Foreign(facts.corpus), f"”{languages}."]


def people(facts: Facts) -> list[Sentence]:
    """Return how many people coded how much."""
    made = f"{counted(facts.people, 'person', 'people')} made {counted(facts.labellings, 'coding')}"
    judged = f" and coded {counted(facts.judged, 'unit')}" if facts.judged else ""
    sentences: list[Sentence] = [[f"{made}{judged}."]]
    if facts.blind:
        are = "was" if facts.blind == 1 else "were"
        hidden = "sections, suggestions and other people's codes were hidden"
        sentences.append([f"Of these codings, {facts.blind:,} {are} blind: {hidden}."])
    return sentences


def _start(start: StartFact) -> Sentence:
    began = f"{counted(start.labellings, 'coding')} began"
    if start.kind == "run" and start.model:
        parts: list[Part] = [f"{began} with {counted(start.clusters, 'theme') if start.clusters else 'themes'}"]
        parts += [" found by ", Foreign(start.clusterer)] if start.clusterer else []
        parts += [" on vectors of the model “", Foreign(start.model), "” (", Foreign(start.method), ")"]
        return [*parts, f", seed {start.seed}." if start.seed is not None else "."]
    if start.kind == "sections":
        return [f"{began} with the sections of the texts."]
    if start.kind == "nothing":
        return [f"{began} without codes."]
    if start.kind == "clusters" and start.name:
        return [f"{began} with the codebook of “", Foreign(start.name), "”."]
    if start.name:
        return [f"{began} with “", Foreign(start.name), "”."]
    return [f"{began} with codes from a file." if start.kind == "table" else f"{began} with given codes."]


def _task(task: TaskFact) -> list[Sentence]:
    sentences: list[Sentence] = [
        [
            "In the task “",
            Foreign(task.name),
            f"”, {counted(task.items, 'item')} were given to {counted(task.people, 'person', 'people')}"
            f" (order: {task.order}, seed {task.seed}).",
        ]
    ]
    if task.sample:
        sentences.append(["The items are ", Foreign(task.sample), "."])
    if task.shared:
        share = f"{task.shared:,} ({task.shared / task.items:.0%})"
        sentences.append([f"Of these items, {share} were given to several people."])
    if task.gold:
        sentences.append([f"Everybody also coded {counted(task.gold, 'item')} with known codes."])
    if task.routed:
        are = "was" if task.routed == 1 else "were"
        sentences.append([f"{counted(task.routed, 'item')} {are} given to another person because people disagreed."])
    return sentences


def _work(facts: Facts) -> list[Sentence]:
    if not facts.steps:
        return []
    total = sum(facts.steps.values())
    kinds = sorted(facts.steps.items(), key=lambda kind: (-kind[1], kind[0]))
    listed = ", ".join(f"{name} {count:,}" for name, count in kinds)
    when = ""
    if facts.first is not None and facts.last is not None:
        same = facts.first == facts.last
        when = f" on {facts.first}" if same else f" between {facts.first} and {facts.last}"
    undone = f"; {facts.undone:,} more were undone" if facts.undone else ""
    sentences: list[Sentence] = [[f"People made {counted(total, 'change')}{when} ({listed}){undone}."]]
    if facts.answers:
        sentences.append([f"They answered {counted(facts.answers, 'question')} about the similarity of units."])
    return sentences


def agreement(found: CodingAgreement) -> list[Sentence]:
    """Return the agreement of coders on codes, of all and of each."""
    if found.alpha.estimate is None or found.kappa.estimate is None:
        reason = found.alpha.undefined or found.kappa.undefined
        return [[f"Agreement on codes (Krippendorff's alpha and Cohen's kappa) is undefined, because {reason}."]]
    two = found.coders == 2
    several = "Both coders" if two else f"At least two of {found.coders:,} coders"
    mean: list[Part] = [] if two else [", the mean over pairs of coders ", Cite("light1971"), ","]
    alpha: list[Part] = ["Krippendorff's alpha for nominal data is "]
    if found.several:
        several_codes = "A unit may have several codes. Krippendorff's alpha with the MASI distance of sets "
        alpha = [several_codes, Cite("passonneau2006"), " is "]
    sentences: list[Sentence] = [
        [
            f"{several} coded {counted(found.sentences, 'unit')}, and "
            f"{found.observed:.0%} of their {'sets of codes' if found.several else 'codes'} are equal."
        ],
        [
            *alpha,
            f"{_estimate(found.alpha.estimate)} ",
            Cite("hayes2007"),
            " and Cohen's kappa",
            *mean,
            f" is {_estimate(found.kappa.estimate)} ",
            Cite("cohen1960"),
            f", with 95 % bootstrap intervals over {found.over} ",
            Cite("zapf2016"),
            ".",
        ],
    ]
    by_code: list[Part] = []
    for code in found.codes:
        value = "undefined" if code.kappa.estimate is None else _estimate(code.kappa.estimate)
        by_code += ["; " if by_code else "For each code against all others, kappa is "]
        by_code += [f"{value} for “", Foreign(code.name), "”"]
    return [*sentences, [*by_code, "."]] if by_code else sentences


def _of_partitions(facts: Facts) -> list[Sentence]:
    sentences: list[Sentence] = []
    alpha = facts.alpha
    if alpha is not None and alpha.value is not None:
        sentences.append(
            [
                "The codings have no common codes, so groups were compared: Krippendorff's alpha over "
                f"{counted(alpha.pairs, 'pair')} of units of the same text (together or apart) is "
                f"{alpha.value:.3f} ",
                Cite("hayes2007"),
                ".",
            ]
        )
    elif alpha is not None:
        sentences.append([f"Krippendorff's alpha over pairs of units is undefined, because {alpha.undefined}."])
    if len(facts.pairs) == 1:
        sentences.append(
            [f"The adjusted Rand index of the two codings is {_estimate(facts.pairs[0])} ", Cite("hubert1985"), "."]
        )
    elif facts.pairs:
        values = sorted(pair.value for pair in facts.pairs)
        sentences.append(
            [
                f"The adjusted Rand index of two codings is {values[0]:.3f} to {values[-1]:.3f} over "
                f"{counted(len(values), 'pair')} of codings ",
                Cite("hubert1985"),
                ".",
            ]
        )
    return sentences


def _reliability(facts: Facts) -> list[Sentence]:
    found = facts.reliability
    if found is None:
        return []
    of = "codes" if "accuracy" in found.rates else "judgements on pairs of units"
    equal = f" all taken to be equally reliable because {found.equal_because}," if found.equal_because else ""
    ranges = {name: " to ".join(map(_estimate, dict.fromkeys(ends))) for name, ends in found.rates.items()}
    told = ", and ".join(f"{_RATES[name]} is {ends}" for name, ends in ranges.items())
    return [
        [
            f"The reliability of each coder was estimated from {of} ",
            Cite("dawid1979"),
            f", with 95 % jackknife intervals over {found.over}.",
        ],
        [f"For {counted(found.people, 'person', 'people')},{equal} {told}."],
    ]


_RATES = {
    "accuracy": "the probability of giving the right code",
    "sensitivity": "sensitivity (pairs that belong together are put together)",
    "specificity": "specificity (pairs that do not are put apart)",
}


def _machine(found: MachineFact) -> list[Sentence]:
    coded: Sentence = [
        "The language model “",
        Foreign(found.model),
        f"” coded {counted(found.sentences, 'unit')} by the codebook; its codes count in none of the numbers above.",
    ]
    test = found.test
    if test is None or test.winning_rate is None or test.advantage is None:
        return [coded]
    people = counted(sum(one.p is not None for one in test.people), "person", "people")
    outcome = {Decision.PASSED: "it passed", Decision.FAILED: "it failed", Decision.TOO_FEW: "there are too few codes"}
    return [
        coded,
        [
            "In the alternative annotator test ",
            Cite("calderon2025"),
            f" with {people}, ε = {test.epsilon:g} and a false "
            f"discovery rate of {test.q:g}, {outcome[test.verdict]}: its winning rate is {test.winning_rate:.3f}, and "
            f"its average advantage probability {test.advantage:.3f}.",
        ],
    ]


def _adjudication(made: AdjudicationFact) -> Sentence:
    after = f" People then made {counted(made.steps, 'change')} in it." if made.steps else ""
    of = f"A gold coding of {counted(made.sentences, 'unit')} was made"
    if made.method == "majority of each code":
        left = f", and {counted(made.left_open, 'unit')} without one began open" if made.left_open else ""
        return [f"{of}: a unit has each code that more than half of its people gave it{left}.{after}"]
    if made.method != "posterior":
        return [f"{of} from the majority of codes after groups were matched.{after}"]
    equal = ", with all people taken as equally reliable" if made.equal else ""
    ari = made.expected_ari
    expected = "" if ari is None else f"; its expected value when it was made is {ari:.3f}"
    return [
        f"{of} from the posterior probabilities of all pairs{equal}, by maximising the expected adjusted Rand index ",
        Cite("fritsch2009"),
        f"{expected}.{after}",
    ]


def _training(made: TrainingFact) -> Sentence:
    parts: list[Part] = [f"From the codes {counted(made.triplets, 'triplet')} were sampled (seed {made.seed})"]
    for place, model in enumerate(made.models):
        parts += [", on which the model “" if not place else " and “", Foreign(model), "”"]
    if made.models:
        parts.append(f" {'was' if len(made.models) == 1 else 'were'} trained")
    return [*parts, "; texts of the test split were left out."]


def _estimate(found: Estimate) -> str:
    known = found.n > 1 and found.low < found.high
    return f"{found.value:.3f} [{found.low:.3f}, {found.high:.3f}]" if known else f"{found.value:.3f}"
