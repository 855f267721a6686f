"""Dataset cards: README.md with a YAML header that names files, features and sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from themescope.core.readers.arrow_tables import LABEL, SENTENCES
from themescope.core.types import Split
from themescope.db.records import CorpusRecord
from themescope.jobs.common.results import code_version
from themescope.jobs.datasets.fields import Fields


@dataclass(frozen=True, slots=True)
class CardPart:
    """Files of one split of a subset."""

    split: Split
    rows: int
    size: int
    """Bytes."""


@dataclass(frozen=True, slots=True)
class Subset:
    """A subset (configuration) with its splits that have rows."""

    name: str
    fields: Fields
    parts: Sequence[CardPart]

    def config(self) -> dict[str, Any]:
        """Return the entry of the list ``configs``."""
        files = [{"split": p.split.value, "path": f"{self.name}/{p.split}-*.parquet"} for p in self.parts]
        default = {"default": True} if self.name == SENTENCES else {}
        return {"config_name": self.name, "data_files": files, **default}

    def info(self) -> dict[str, Any]:
        """Return the entry of the list ``dataset_info``."""
        splits = [{"name": p.split.value, "num_bytes": p.size, "num_examples": p.rows} for p in self.parts]
        size = sum(part.size for part in self.parts)
        sizes = {"download_size": size, "dataset_size": size}
        return {"config_name": self.name, "features": self.fields.in_card(), "splits": splits, **sizes}


def card(corpus: CorpusRecord, subsets: Sequence[Subset], labels: str) -> str:
    """Return the dataset card; ``labels`` says what the labels are, "" for none."""
    subsets = [subset for subset in subsets if subset.parts]
    header = {
        "language": [corpus.language],
        "pretty_name": corpus.name,
        "configs": [subset.config() for subset in subsets],
        "dataset_info": [subset.info() for subset in subsets],
    }
    counts = f"{corpus.articles:,} articles with {corpus.sentences:,} sentences"
    lines = [
        f"# {_line(corpus.name)}",
        f"{counts}, exported by Themescope {code_version()}.",
        "The subset `sentences` has a row for each sentence: its text, the title of its article, the headings of its "
        "section, and the numbers of article, section, paragraph and position. The subset `articles` has a row for each"
        " article, with its sections. Splits are determined by the titles of articles.",
    ]
    if labels:
        lines.append(f"The column `{LABEL}` has the {_line(labels)}; it is empty for sentences in no cluster.")
        lines.append(
            "The columns `source` (human, machine or imported), `coder` and `probability` say who or what gave it."
        )
    yaml_header = yaml.safe_dump(header, sort_keys=False, allow_unicode=True, width=1_000)
    return f"---\n{yaml_header}---\n\n" + "\n\n".join(lines) + "\n"


def _line(text: str) -> str:
    return " ".join(text.split())
