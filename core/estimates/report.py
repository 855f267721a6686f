"""Methods paragraph of estimates, and files with which anybody can compute them again.

The replication script needs Python and NumPy alone: it contains the text of ``shares`` and a program that reads the
table and prints the same numbers.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from themescope.core.errors import DataError, UnknownNameError
from themescope.core.estimates.shares import (
    COUNTED,
    NOT_RANDOM,
    CodedUnits,
    ShareEstimate,
    composition,
    difference,
    share,
    shares,
)
from themescope.core.labelling.markup import Cite, Foreign, Reference, Sentence, counted
from themescope.core.metrics import formulas

REFERENCES: Mapping[str, Reference] = {
    found.key: found
    for found in (
        Reference(
            "angelopoulos2023", "article", ("Angelopoulos, Anastasios N.", "Duchi, John C.", "Zrnic, Tijana"),
            "PPI++: Efficient prediction-powered inference", "arXiv:2311.01453", 2023,
        ),
        Reference(
            "egami2023", "inproceedings",
            ("Egami, Naoki", "Hinck, Musashi", "Stewart, Brandon M.", "Wei, Hanying"),
            "Using imperfect surrogates for downstream inference: Design-based supervised learning for social science "
            "applications of large language models", "Advances in Neural Information Processing Systems", 2023, "36",
        ),
        Reference(
            "korn1998", "article", ("Korn, Edward L.", "Graubard, Barry I."),
            "Confidence intervals for proportions with small expected number of positive counts estimated from survey "
            "data", "Survey Methodology", 1998, "24", "193–201",
        ),
        Reference(
            "wilson1927", "article", ("Wilson, Edwin B.",),
            "Probable inference, the law of succession, and statistical inference",
            "Journal of the American Statistical Association", 1927, "22", "209–212",
        ),
    )
}  # fmt: skip


def paragraphs(
    code: str, units: CodedUnits, found: Sequence[ShareEstimate], machine: str, notes: Sequence[str] = ()
) -> list[list[Sentence]]:
    """Return the methods section of estimates of ``code``: what was estimated from what, how, and with which results.

    ``machine`` names what gave the codes; ``notes`` say for which units the estimates hold. The paragraphs are written
    by :func:`themescope.core.labelling.markup.markdown` and its siblings, with :data:`REFERENCES`.
    """
    where = np.ones(len(units.labels), dtype=bool)
    if units.counted:
        counts = "; ".join(f"{one.name or 'all units'}: {count_text(one)}" for one in found)
        first: Sentence = ("We counted the units with the code “", Foreign(code), "”: ", Foreign(counts), ".")
        return [[first, *((Foreign(note),) for note in (*notes, COUNTED))]]
    sampled = units.weights > 0
    n = counted(int(sampled.sum()), "unit")
    data: list[Sentence] = [
        (f"We estimated the share of {counted(len(where), 'unit')} with the code “", Foreign(code), "”."),
        (f"People coded {n} in {counted(units.labelled_documents(where), 'document')}{_sampling(units)}.",),
        *((Foreign(note),) for note in notes),
    ]
    method: Sentence = ("The shares are means of the labels, weighted by the inverse of their sampling probabilities.",)
    if units.codes is not None:
        data.append(("All units were coded by ", Foreign(machine), "."))
        method = (
            "The shares are corrected for its mistakes by prediction-powered inference with power tuning ",
            Cite("angelopoulos2023"),
            ", with labels weighted by the inverse of their sampling probabilities ",
            Cite("egami2023"),
            ": the mean of the machine's codes, times λ, plus the weighted mean of label – λ · code over the "
            "labels, where λ between 0 and 1 minimizes the variance.",
        )
    cluster = "document" if units.documents is not None else "unit"
    intervals: Sentence = (
        f"Standard errors are clustered by {cluster}; 95 % intervals are Wilson's ",
        Cite("wilson1927"),
        " with the effective sample size ",
        Cite("korn1998"),
        f" and the t distribution with the effective number of labelled {cluster}s – 1 degrees of freedom.",
    )
    results: list[Sentence] = []
    for one in found:
        if (mean := one.corrected) is not None:
            which = ("For “", Foreign(one.name), "”, it is ") if one.name else ("The share is ",)
            tuned = "" if units.codes is None else f" (λ = {one.tuning:.2f})"
            told = f"{100 * mean.value:.1f} % (95 % interval {100 * mean.low:.1f} to {100 * mean.high:.1f})"
            results.append((*which, told, f"{tuned}{_bounds(one)}."))
    warnings = dict.fromkeys(w for one in found for w in one.warnings if w != NOT_RANDOM)
    return [data, [method, intervals], [*results, *((w,) for w in warnings)]]


def _sampling(units: CodedUnits) -> str:
    if units.probabilities is None:
        return ", which were not sampled at random; the intervals leave out the error that comes from their choice"
    chances = units.probabilities[units.weights > 0]
    if not len(chances) or float(chances.max() - chances.min()) < 1e-9:
        return ", sampled at random with equal probabilities"
    return f", sampled at random with probabilities from {chances.min():.3g} to {chances.max():.3g}"


def _bounds(one: ShareEstimate) -> str:
    if one.least is None or one.most is None:
        return ""
    return (
        f", and from {100 * one.least.value:.1f} to {100 * one.most.value:.1f} % whatever the labels of "
        f"{counted(one.open, 'open unit')} are"
    )


def count_text(one: ShareEstimate) -> str:
    """Return ``16 of 1,114 units``: those that have the code now; a percent would look like an estimate."""
    return f"{one.coded:,} of {counted(one.units, 'unit')}"


# --- replication ------------------------------------------------------------------------------------------------------


def estimates(
    units: CodedUnits, groups: Sequence[str], pair: tuple[str, str] | None = None, parts: bool = False
) -> list[ShareEstimate]:
    """Return the share among all units, and in each group (n,).

    Of a ``pair`` of groups, it is the share in the first minus that in the second; with ``parts``, the part of each
    group among the units with the code.
    """
    names, of = sorted({*groups} - {""}), np.array(groups)
    if pair is not None:
        if unknown := [name for name in pair if name not in names]:
            raise UnknownNameError("group", unknown[0], names)
        return [difference(units, of == pair[0], of == pair[1], f"{pair[0]} – {pair[1]}")]
    if parts:
        return [composition(units, of == name, name) for name in names]
    return [share(units), *(shares(units, groups) if names else ())]


def replication_files(
    units: CodedUnits, groups: Sequence[str], ids: Sequence[str] | None = None, notes: Sequence[str] = ()
) -> dict[str, str]:
    """Return the text of a CSV file and of a script that prints estimates from it, by name.

    They are the shares of all units and of each group, the part of each group in the code, and the difference of each
    pair of groups. ``groups`` and ``ids`` (n,) are names of the groups and of the units; ``notes``, with which the
    script begins, say for which units the estimates hold. Raises :class:`themescope.core.errors.DataError` if a group
    has the name of the line of all units.
    """
    if "all units" in groups:
        raise DataError("A group is called “all units”, as the line of all of them is. Rename the group.")
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(("unit", "document", "group", "label", "code", "probability", "open"))
    documents = np.arange(len(groups)) if units.documents is None else units.documents
    labels = ["" if np.isnan(x) else repr(x) for x in units.labels.tolist()]
    codes = [""] * len(labels) if units.codes is None else [repr(x) for x in units.codes.tolist()]
    chances = np.full(len(labels), 1.0) if units.probabilities is None else units.probabilities
    names = range(1, len(labels) + 1) if ids is None else ids
    known = ["" if np.isnan(x) else repr(x) for x in chances.tolist()]
    open_ = ["1" if x else "" for x in units.open.tolist()]
    writer.writerows(zip(names, documents.tolist(), groups, labels, codes, known, open_, strict=True))
    remarks = "".join(f"# {' '.join(note.split())}\n" for note in notes)
    script = _HEAD + remarks + Path(formulas.__file__).read_text(encoding="utf-8") + _PROGRAM
    return {"units.csv": table.getvalue(), "replicate.py": script}


_HEAD = """\
# Prints the estimates of units.csv, which must be beside this script. Needs Python 3.11 or newer, and NumPy:
#     python -m pip install numpy
#     python replicate.py
"""
_PROGRAM = '''

def main() -> None:
    """Read units.csv beside this script, and print shares, parts and differences of groups in percent."""
    import csv
    from itertools import combinations
    from pathlib import Path

    with open(Path(__file__).with_name("units.csv"), encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    label, code, chance = (
        np.array([float(row[name]) if row[name] else math.nan for row in rows])
        for name in ("label", "code", "probability")
    )
    group = np.array([row["group"] for row in rows])
    document = np.unique(np.array([row["document"] for row in rows]), return_inverse=True)[1]
    sampled = ~np.isnan(label) & ~np.isnan(chance)
    weight = np.divide(1.0, chance, out=np.zeros(len(rows)), where=sampled)
    still = np.array([row["open"] == "1" for row in rows]) & ~np.isnan(chance)
    label, machine = np.where(sampled, label, 0.0), not np.isnan(code).any()
    names = sorted(set(group.tolist()) - {""})

    everything, ones = np.ones(len(rows), dtype=bool), np.ones(len(rows))

    def ways(where, estimate, most):
        """Return estimates of ``estimate(labels, codes, weights)`` by people, the machine, and corrected.

        Also the corrected ones with the labels 1 - ``most`` and ``most`` of the open units, where there are any.
        """
        found, chosen, used = {}, where & (weight > 0), code if machine else None
        enough = chosen.sum() >= FEWEST_LABELS and len(np.unique(document[chosen])) >= FEWEST_DOCUMENTS
        if enough:
            found["people"] = estimate(label, None, weight)
        if machine:
            found["machine"] = estimate(code, None, ones)
        if enough:
            found["corrected"] = estimate(label, used, weight)
        found = {way: one for way, one in found.items() if not math.isnan(one.value)}
        if "corrected" in found and (where & still).any():
            for way, of in (("least", 1 - most), ("most", most)):
                found[way] = estimate(np.where(still, of, label), used, np.where(still, 1 / chance, weight))
        return found

    def share(where):
        return lambda y, f, w: mean(
            y[where], None if f is None else f[where], w[where], document[where], len(rows))

    def show(name, way, numbers):
        print("\\t".join([name, way, *(f"{100 * x:.4f}" for x in numbers)]))

    def listed(name, found):
        for way, one in found.items():
            show(name, way, (min(1.0, max(0.0, one.value)), *interval(one)))

    print("group\\testimate\\tshare\\tlow\\thigh")
    listed("all units", ways(everything, share(everything), ones))
    found = {name: ways(group == name, share(group == name), ones) for name in names}
    for name in names:
        listed(name, found[name])
    for name in names:
        part = (group == name).astype(float)
        listed("of the code, " + name, ways(
            everything, lambda y, f, w: ratio(part, y, f, w, document, len(rows)), part))
    for one, other in combinations(names, 2):
        first, second = found[one], found[other]
        pairs = {way: (first[way], second[way]) for way in first
                 if way in second and way not in ("least", "most")}
        if "corrected" in pairs and ("least" in first or "least" in second):
            for way, opposite in (("least", "most"), ("most", "least")):
                pairs[way] = first.get(way, first["corrected"]), second.get(opposite, second["corrected"])
        for way, (a, b) in pairs.items():
            show(f"{one} – {other}", way, difference(a, b))


if __name__ == "__main__":
    main()
'''
