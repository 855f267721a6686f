"""Methods sections: every sentence has its fact, and foreign text cannot change the markup."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.labelling.agreement import CodeAgreement, CodingAgreement, PairAlpha
from themescope.core.labelling.markup import Cite, Foreign, cited, latex, latex_text, markdown
from themescope.core.labelling.methods_section import (
    REFERENCES,
    AdjudicationFact,
    Facts,
    ReliabilityFact,
    StartFact,
    TaskFact,
    TrainingFact,
    paragraphs,
)
from themescope.core.metrics.coding_agreement import Agreement
from themescope.core.types import Estimate

NOTHING = Facts(
    "Towns", (), 1, 12, 1, 1, 0, 0, (), (), {}, 0, 0, None, None, None, None, (), None, (), (), "0.2.0"
)  # fmt: skip
EVERYTHING = Facts(
    corpus="Towns_&_Co",
    languages=("English", "German"),
    articles=20,
    sentences=2_345,
    labellings=3,
    people=3,
    judged=1_111,
    blind=2,
    starts=(StartFact("run", 3, "", "static", "static-encoder", "iclust", 17, 5), StartFact("sections", 1)),
    tasks=(TaskFact("pilot", 40, 3, 8, "random", 7, 4, 6),),
    steps={"assign": 312, "merge": 9},
    undone=13,
    answers=44,
    first=date(2026, 11, 1),
    last=date(2026, 11, 24),
    coding=None,
    alpha=PairAlpha(0.71234, 5_678, ""),
    pairs=(Estimate(0.6, 0.5, 0.7, 9), Estimate(0.8, 0.7, 0.9, 9), Estimate(0.65, 0.5, 0.7, 9)),
    reliability=ReliabilityFact(
        3, (Estimate(0.61, 0.5, 0.7, 9), Estimate(0.82, 0.7, 0.9, 9)),
        (Estimate(0.93, 0.9, 0.95, 9), Estimate(0.99, 0.98, 0.995, 9)), "articles",
    ),
    adjudications=(AdjudicationFact("posterior", 2_300, 0.8765, False, 21),),
    training=(TrainingFact(987, 3, ("labels-net",)),),
    version="0.2.0",
)  # fmt: skip


EXPECTED = r"""
20 articles with 2,345 sentences (English and German)
3 people made 3 labellings and placed 1,111 sentences
2 were blind
3 labellings began with 17 clusters found by iclust
seed 5
1 labelling began with the sections
40 items were given to 3 people (order: random, seed 7)
8 (20%) were given to several people
4 items with known labels
6 items were given to another person
321 changes between 2026-11-01 and 2026-11-24 (assign 312, merge 9); 13 more
44 questions
5,678 pairs
no common codes, so partitions were compared
is 0.712
0.600 to 0.800 over 3 pairs
0.610 [0.500, 0.700] to 0.820 [0.700, 0.900]
0.930 [0.900, 0.950] to 0.990 [0.980, 0.995]
2,300 sentences was made from the posterior
is 0.876
21 changes in it
987 triplets were sampled (seed 3)
labels-net”
Themescope 0.2.0
Dawid and Skene 1979
Bayesian Analysis 4
"""


def text(facts: Facts) -> str:
    return markdown(paragraphs(facts), REFERENCES)


def test_every_fact_has_its_sentence() -> None:
    found = text(EVERYTHING)
    for words in EXPECTED.strip().splitlines():
        assert words in found, words


def test_without_facts_there_are_no_sentences() -> None:
    found = text(NOTHING)
    assert found == (
        "The corpus “Towns” was labelled in 1 article with 12 sentences. 1 person made 1 labelling.\n\n"
        "Labels were made with Themescope 0.2.0.\n"
    )


@pytest.mark.parametrize("name", [field.name for field in fields(Facts)])
def test_each_fact_adds_words_of_its_own(name: str) -> None:
    """Leaving one fact out removes something and adds nothing but what stands for its absence."""
    if name in (
        "coding",
        "corpus",
        "articles",
        "sentences",
        "labellings",
        "people",
        "version",
        "undone",
        "first",
        "last",
    ):
        return
    without = replace(EVERYTHING, **{name: getattr(NOTHING, name)})
    left, whole = set(text(without).split()), set(text(EVERYTHING).split())
    assert len(text(without)) < len(text(EVERYTHING))
    assert not {word for word in left - whole if re.search(r"\d", word)}


def test_undefined_agreement_says_why() -> None:
    found = text(replace(EVERYTHING, alpha=PairAlpha(None, 0, "no pair was judged by two raters")))
    assert "alpha over pairs of sentences is undefined, because no pair was judged by two raters." in found


def coefficient(value: float, low: float, high: float) -> Agreement:
    return Agreement(Estimate(value, low, high, 30), 30, "")


def test_agreement_on_codes_replaces_that_of_partitions() -> None:
    one = CodeAgreement("Israel_1", (12, 11), 10, coefficient(0.7, 0.5, 0.9), coefficient(0.71, 0.52, 0.91))
    undefined = CodeAgreement("Other", (1, 0), 0, Agreement(None, 1, "x"), Agreement(None, 1, "x"))
    coding = CodingAgreement(
        2, 30, 25 / 30, coefficient(0.759, 0.55, 0.91), coefficient(0.755, 0.54, 0.9), (one, undefined), (), "sentences"
    )
    found = text(replace(EVERYTHING, coding=coding))
    for words in (
        "Both coders judged 30 sentences, and 83% of their codes are equal.",
        "Krippendorff's alpha for nominal data is 0.759 [0.550, 0.910]",
        "Cohen's kappa is 0.755 [0.540, 0.900] (Cohen 1960)", "95 % bootstrap intervals over sentences",
        "kappa is 0.710 [0.520, 0.910] for “Israel\\_1”; undefined for “Other”.",
    ):  # fmt: skip
        assert words in found, words
    assert "pairs of sentences of the same article" not in found and "Rand index of two labellings" not in found
    three = text(replace(EVERYTHING, coding=replace(coding, coders=3)))
    assert "At least two of 3 coders" in three and "the mean over pairs of coders (Light 1971)" in three
    empty = Agreement(None, 0, "nothing was judged by two people")
    nothing = text(replace(EVERYTHING, coding=replace(coding, alpha=empty, kappa=empty)))
    assert "is undefined, because nothing was judged by two people" in nothing


def test_majority_and_equal_reliability_are_named() -> None:
    made = (AdjudicationFact("majority", 5, None, False, 0), AdjudicationFact("posterior", 5, 0.5, True, 0))
    found = text(replace(EVERYTHING, adjudications=made))
    assert "from the majority of labels" in found and "all people taken as equally reliable" in found


# --- markup -----------------------------------------------------------------------------------------------------------

COMMANDS = (r"\textbackslash{}", r"\textasciitilde{}", r"\textasciicircum{}", r"\textless{}", r"\textgreater{}",
            r"\textbar{}", r"\textquotedbl{}")  # fmt: skip
BACK = dict(zip(COMMANDS, '\\~^<>|"', strict=True)) | {f"\\{c}": c for c in "&%$#_{}"}
BACK |= {r"$\times$": "×", r"$\pm$": "±", r"$\geq$": "≥"}


@given(st.text())
def test_no_text_gets_out_of_latex(foreign: str) -> None:
    escaped = latex(foreign.replace("–", "-"))
    pattern = re.compile("|".join(re.escape(command) for command in sorted(BACK, key=len, reverse=True)))
    plain = pattern.sub("", escaped)
    assert not re.search(r"[\\&%$#_{}~^<>|\"]", plain)
    assert pattern.sub(lambda match: BACK[match.group()], escaped) == foreign.replace("–", "-")


@given(st.text(max_size=40))
def test_foreign_text_stays_on_its_line(foreign: str) -> None:
    found = [[["About “", Foreign(foreign), "” ", Cite("dawid1979"), "."]]]
    lines = latex_text(found).splitlines()
    assert len(lines) == 1 and lines[0].endswith(r"\cite{dawid1979}.")
    shown = markdown(found, REFERENCES)
    assert len(shown.split("\n\n")) == 3
    assert not re.search(r"(?<!\\)[*_`<\[#|]", shown.split("\n\n")[0].replace("(Dawid and Skene 1979)", ""))


def test_references_have_bibtex() -> None:
    assert cited(paragraphs(EVERYTHING)) == ["hayes2007", "hubert1985", "dawid1979", "fritsch2009"]
    for key, reference in REFERENCES.items():
        entry = reference.bibtex()
        assert entry.startswith(f"@article{{{key},\n") and entry.endswith("}")
        assert entry.count("{") == entry.count("}") and f"year = {{{reference.year}}}" in entry
