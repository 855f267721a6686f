import re
from dataclasses import fields, replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from themescope.core.labelling.agreement import PairAlpha
from themescope.core.labelling.markup import Cite, Foreign, cited, latex, latex_text, markdown
from themescope.core.labelling.methods_section import (
    REFERENCES,
    AdjudicationFact,
    Facts,
    MachineFact,
    ReliabilityFact,
    StartFact,
    TaskFact,
    TrainingFact,
    paragraphs,
)
from themescope.core.metrics.coding_agreement import AgainstPerson, AlternativeAnnotatorTest, Decision
from themescope.core.types import Estimate

NOTHING = Facts(
    "Towns", (), 1, 12, 1, 1, 0, 0, (), (), {}, 0, 0, None, None, None, None, (), None, (), (), "0.2.0"
)  # fmt: skip
LOW, HIGH = Estimate(0.61, 0.5, 0.7, 9), Estimate(0.82, 0.7, 0.9, 9)
PERSON = AgainstPerson(0, 99, 0.9, 0.8, 0.01, 0.04, True)
PASSED = AlternativeAnnotatorTest(Decision.PASSED, 2 / 3, 0.9123, 0.15, 0.05, (PERSON,) * 3, "")
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
    pairs=(LOW, HIGH, Estimate(0.65, 0.5, 0.7, 9)),
    reliability=ReliabilityFact(3, {"sensitivity": (LOW, HIGH), "specificity": (HIGH, HIGH)}, "articles"),
    adjudications=(AdjudicationFact("posterior", 2_300, 0.8765, False, 21),),
    training=(TrainingFact(987, 3, ("labels-net",)),),
    version="0.2.0",
    machines=(MachineFact("tiny_&_Co", 456, PASSED),),
)


def text(facts: Facts) -> str:
    return markdown(paragraphs(facts), REFERENCES)


def test_without_facts_there_are_no_sentences() -> None:
    found = text(NOTHING)
    assert found == (
        "Coded were 12 units of 1 text of the project “Towns”. 1 person made 1 coding.\n\n"
        "Codes were made with Themescope 0.2.0.\n"
    )


ALWAYS = {*["coding", "corpus", "articles", "sentences", "labellings", "people", "version", "undone", "first", "last"]}
"""Facts without which there is no sentence, or that are part of the sentence of another one."""


@pytest.mark.parametrize("name", sorted({field.name for field in fields(Facts)} - ALWAYS))
def test_each_fact_adds_words_of_its_own(name: str) -> None:
    """Leaving one fact out removes something and adds nothing but what stands for its absence."""
    without = replace(EVERYTHING, **{name: getattr(NOTHING, name)})
    left, whole = set(text(without).split()), set(text(EVERYTHING).split())
    assert len(text(without)) < len(text(EVERYTHING))
    assert not {word for word in left - whole if re.search(r"\d", word)}


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
    assert cited(paragraphs(EVERYTHING)) == ["hayes2007", "hubert1985", "dawid1979", "fritsch2009", "calderon2025"]
    for key, reference in REFERENCES.items():
        entry = reference.bibtex()
        assert entry.startswith(f"@{reference.kind}{{{key},\n") and entry.endswith("}")
        assert entry.count("{") == entry.count("}") and f"year = {{{reference.year}}}" in entry
