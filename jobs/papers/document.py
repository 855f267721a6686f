"""Reproduced tables as a Markdown file with the data of their rows, and their records in a JSON file beside it.

What is said about a run (profile, seeds, split, numbers of articles, settings) comes from the records of its tables.
The same records give the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from themescope.core.papers.spec import (
    Accuracy,
    ChosenSetting,
    ClusteringMeasures,
    CountBenchmark,
    CountSummaries,
    CountTopics,
    CountTriplets,
    ExamplePredictions,
    Measure,
    ModelSpec,
    Paper,
    RelatednessMeasures,
    SummaryMeasures,
    Topics,
)
from themescope.core.records.stored import ModelRecord
from themescope.db.records import PaperTableRecord
from themescope.jobs.common.files import whole
from themescope.jobs.papers.work import Work

Json = Mapping[str, Any]


def records_beside(path: Path) -> Path:
    """Return the JSON file with the records of a document."""
    return path.with_suffix(".json")


def write_document(path: Path, paper: Paper, profile: str, records: Iterable[PaperTableRecord]) -> None:
    """Write the complete tables of one profile to ``path``, and their records beside it, each atomically."""
    known = {table.id for table in paper.tables}
    tables = {r.name: r.content for r in records if r.content["complete"] and r.name in known}
    kept = json.dumps({"paper": paper.id, "profile": profile, "tables": tables}, ensure_ascii=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    for file, text in ((path, document(paper, profile, tables)), (records_beside(path), kept + "\n")):
        with whole(file) as partial:
            partial.write_text(text, encoding="utf-8", newline="\n")


def document(paper: Paper, profile: str, tables: Mapping[str, Json]) -> str:
    """Return the document of complete tables (id → content); it names those of the paper that are not among them."""
    lines = [
        f"# Results: {paper.title}",
        "",
        f"<!-- Written by `themescope reproduce {paper.id} --profile {profile}`. Do not edit: run it again. -->",
        "",
        paper.citation,
        "",
        f"Profile **{profile}**. Each table states seeds, data and settings as they were recorded with its scores.",
        "",
        _cells(paper),
        "",
        *(line for note in paper.notes for line in (note, "")),
    ]
    absent = [heading(table.id, table.title) for table in paper.tables if table.id not in tables]
    if absent:
        lines += [f"No finished run with this profile: {'; '.join(absent)}.", ""]
    lines += _tested(paper, tables)
    for table in paper.tables:
        if table.id in tables:
            lines += _section(table.id, profile, tables[table.id])
    return "\n".join(lines).rstrip() + "\n"


def _tested(paper: Paper, tables: Mapping[str, Json]) -> Iterator[str]:
    """List what the papers' own numbers claim and what the tests say of it, first of all for a reader."""
    lines = []
    for table in (table for table in paper.tables if table.id in tables):
        published = {row["title"] for row in tables[table.id]["rows"] if row["published"]}
        claims = [c for c in tables[table.id]["claims"] if {c["first"], c["second"]} <= published and "p" in c]
        if claims:
            lines += [f"**{heading(table.id, table.title)}**", ""]
        for claim in claims:
            difference, p, verdict = _outcome(claim)
            lines.append(f"- {verdict}: {_plain(f'{_claimed(claim)} by {difference}, p = {p}'.replace('= <', '<'))}.")
        lines += [""] if claims else []
    if lines:
        yield from ("What the published numbers claim, tested on ours (details below the tables):", "", *lines)


def _claimed(claim: Json) -> str:
    return f"{claim['first']} {'>' if claim['relation'] == 'better' else '≈'} {claim['second']}"


def heading(id: str, title: str) -> str:
    """Return the title of a table, after its number in the paper if it has one: "4-reuters" is of its Table 4."""
    number = id.partition("-")[0]
    return f"Table {number}: {title}" if number.isdigit() else title


def _cells(paper: Paper) -> str:
    text = (
        "A cell reads: ours [95 % interval over n articles, documents or pairs of sentences] ± standard deviation over "
        "seeds, none where one seed was used"
    )
    if any(row.published for table in paper.tables for row in table.rows):
        return f"{text} · published · difference. A dash means that the paper has no number."
    return f"{text}. A dash means that the model is not measured by the column."


def _section(table: str, profile: str, content: Json) -> Iterator[str]:
    yield from (f"## {heading(table, content['title'])}", "", f"*{content['source']}.* {content['about']}", "")
    yield from (run_facts(profile, content), "")
    columns = content["columns"]
    yield _line("Row", *(column["title"] for column in columns))
    yield _line("---", *("---" for _ in columns))
    for row in content["rows"]:
        yield _line(row["title"], *(cell(content, row, column) for column in columns))
    yield from ("", "Data and deviations:", "")
    yield from (_note(row) for row in content["rows"])
    yield from _settings(content)
    yield ""
    if content["claims"]:
        titles = {column["metric"]: column["title"] for column in columns}
        yield (
            "Paired tests on the same articles (difference of the means over seeds with its 95 % bootstrap interval; p "
            "of Wilcoxon's signed-rank test, corrected by Holm over the table):"
        )
        yield ""
        yield _line("Claim", "Metric", "Difference", "p", "Verdict")
        yield _line(*["---"] * 5)
        for claim in content["claims"]:
            yield _line(_claimed(claim), titles[claim["metric"]], *_outcome(claim))
        yield ""


def run_facts(profile: str, content: Json) -> str:
    """Return profile, seeds, split, limits and numbers of evaluated items of a table, as its record has them."""
    made = content["profile"]
    scores = [
        (column["title"], row["ours"].get(column["metric"])) for column in content["columns"] for row in content["rows"]
    ]
    used = made["seeds"][: max((len(ours["seeds"]) for _, ours in scores if ours), default=0)]
    facts = [
        f"Profile {profile}",
        f"seed{'s' * (len(used) > 1)} {', '.join(map(str, used))}" if used else "nothing measured",
    ]
    if "split" in made:
        facts.append(f"{made['split']} split")
    if made.get("articles"):
        facts.append(f"at most {made['articles']:,} articles of each data set")
    if made.get("documents"):
        facts.append(f"at most {made['documents']:,} documents of a topic task")
    numbers: dict[str, dict[str, None]] = {}
    for title, ours in scores:
        if ours and "n" in ours:
            numbers.setdefault(title, {})[f"{ours['n']:,}"] = None
    texts = {title: " or ".join(found) for title, found in numbers.items()}
    if len(set(texts.values())) == 1:
        facts.append(f"n = {next(iter(texts.values()))}")
    else:
        facts += [f"n = {text} ({title})" for title, text in texts.items()]
    return "; ".join(facts) + "."


def _settings(content: Json) -> Iterator[str]:
    """Name the settings with which the models of a table were fitted."""
    if "settings" not in content:
        yield from ("", "The settings of the models were not recorded with this table.")
        return
    if content["settings"]:
        yield from ("", "Settings of the models that were fitted for this table, where they are not the defaults:", "")
    for group in content["settings"]:
        values = ", ".join(f"{name}={_value(value)}" for name, value in group["settings"].items())
        yield f"- {_plain(', '.join(group['models']))}: {_plain(values or 'defaults')}."


def _value(value: Any) -> str:
    return (
        ",".join(map(str, value)) if isinstance(value, list) else value if isinstance(value, str) else json.dumps(value)
    )


def cell(content: Json, row: Json, column: Json) -> str:
    """Return ``.312 [.300, .325] ± .004 · .303 · +.009``, with dashes for missing values.

    A table without published numbers has ours only.
    """
    metric, digits = column["metric"], column["digits"]
    ours, known = row["ours"].get(metric), row["published"].get(metric)
    published = "–" if known is None else number(known, digits)
    compared = any(one["published"] for one in content["rows"])
    if ours is None:
        return f"not measured · {published}" if compared else "not measured" if row["missing"] else "–"
    text = value(ours, digits)
    if known is not None:
        return f"{text} · {published} · {number(row['difference'][metric], digits, sign=True)}"
    return f"{text} · {published}" if compared else text


def value(ours: Json, digits: int) -> str:
    """Return a measured score, with its interval and its spread over seeds."""
    text = number(ours["value"], digits)
    if "low" in ours:
        text += f" [{number(ours['low'], digits)}, {number(ours['high'], digits)}]"
    if "spread" in ours:
        text += f" ± {number(ours['spread'], digits)}"
    return text


def number(value: float, digits: int, *, sign: bool = False) -> str:
    """Format a number as papers do: no leading zero, and thousands separators."""
    text = f"{value:{'+' if sign else ''},.{digits}f}"
    if float(text.replace(",", "")) == 0:
        text = f"{0:.{digits}f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 and digits and text.lstrip("+-").startswith("0.") else text


def _note(row: Json) -> str:
    data = f"Not measured: {row['missing']}" if row["missing"] else f"Data: {row['data'].rstrip('.')}."
    return f"- **{_plain(row['title'])}.** {_plain(data)} {_plain(row['deviation'])}"


def _outcome(claim: Json) -> tuple[str, str, str]:
    if "p" not in claim:
        return "–", "–", "not tested"
    ends = f"[{number(claim['low'], 3, sign=True)}, {number(claim['high'], 3, sign=True)}]"
    p = "< .001" if claim["p_holm"] < 0.001 else number(claim["p_holm"], 3)
    return f"{number(claim['difference'], 3, sign=True)} {ends}", p, claim["verdict"]


def _line(*cells: str) -> str:
    return "| " + " | ".join(_plain(text).replace("|", "\\|") for text in cells) + " |"


def _plain(text: str) -> str:
    """Escape a name so that it contains no line break, tag or link."""
    return " ".join(text.split()).replace("<", "&lt;").replace("[x]", "\\[x]").replace("](", "]\\(")


def data_of(wanted: Measure, work: Work) -> str:
    """Describe the evaluation data and the training data."""
    match wanted:
        case CountTriplets(triplets):
            return f"{work.sources.corpus.name}: {work.sources.corpus.articles:,} articles"
        case CountBenchmark(benchmark):
            return _benchmark_words(work, benchmark)
        case Accuracy(model, triplets):
            return f"{_test_words(work, triplets)}; {_model_words(work, model)}"
        case ClusteringMeasures(model, _, benchmark):
            return _benchmark_words(work, benchmark) + (f"; {_model_words(work, model)}" if model else "")
        case RelatednessMeasures(model):
            return f"SICK; {_model_words(work, model)}"
        case ExamplePredictions(_, models):
            return "SICK; " + "; ".join(_model_words(work, model) for model in models.values())
        case CountTopics(labels) | ChosenSetting(_, labels):
            return work.corpus_of_model(labels).name
        case Topics(model, labels):
            return f"{work.corpus_of_model(labels).name}; {_model_words(work, model)}"
        case CountSummaries(documents):
            return documents.rsplit("/", 1)[-1]
        case SummaryMeasures(documents, _, model):
            return documents.rsplit("/", 1)[-1] + (f"; {_model_words(work, model)}" if model else "")


def _test_words(work: Work, triplets: str) -> str:
    file = work.test_file(triplets)
    if file:
        return f"triplets of {file.name}"
    counts = work.triplet_set(triplets).counts
    split, limit = work.profile.split.value, work.profile.articles
    articles = counts["articles"]["with_triplets"][split]
    found = f"{counts['triplets'][split]:,} {split} triplets of {articles:,} articles"
    found = f"{split} triplets of {limit:,} articles" if 0 < limit < articles else found
    return f"{found} ({work.sources.corpus.name})"


def _benchmark_words(work: Work, id: str) -> str:
    counts = work.benchmark(id).counts
    table = counts["table"]["ours"]
    source = work.sources.benchmark_corpus or work.sources.corpus.name
    return f"{table['articles']:,} articles, {table['sentences']:,} sentences ({source})"


def _model_words(work: Work, id: str) -> str:
    """Describe the training data: triplets, text, word vectors alone, or other models."""
    declared = work.paper.model(id)
    if declared.parts:
        return "made of: " + "; ".join(_model_words(work, part) for part in declared.parts)
    found = work.model(id, work.profile.seeds[0])
    if declared.pretrained:
        return f"model {found.name}"
    parts = [*_training_words(work, declared, found)]
    if declared.words:  # the table of word vectors without the folders of its path
        parts.append("words of " + work.sources.words_for(declared.words).replace("\\", "/").rsplit("/", 1)[-1])
    return ", ".join(parts) or "nothing to learn"


def _training_words(work: Work, declared: ModelSpec, found: ModelRecord) -> list[str]:
    if not declared.triplets:
        return [f"text of {work.corpus(declared.corpus).name}"] if found.corpus_id else []
    files = work.sources.training_files() if work.paper.triplet_data(declared.triplets).replaceable else None
    if files:
        return [f"learned from {files[0].name}"]
    known = work.triplet_set(declared.triplets).counts["triplets"]["train"]
    drawn = int(found.config.get("triplets_per_epoch", 0)) * int(found.config.get("epochs", 1))
    count = f"{drawn:,} draws of {known:,}" if 0 < drawn < known else f"{known:,}"
    return [f"learned from {count} triplets"]
