"""Waves of a project: assignment to known codes and new themes.

    python -m benchmarks.waves lists LISTS.json --model thematic-wikipedia-2 --draws 10 [--record R.json --name now]
    python -m benchmarks.waves themes LISTS.json --record benchmarks/records/predicted-themes.json

LISTS is a JSON list of [name, sentences, codes]. For each list and draw, 1,500 sentences have their codes, and a wave
of 300 others is assigned: printed are accuracy and calibration error (ten groups of equal size), and the number of new
themes in it, where there are none. In a second wave, 30 of the 300 are of a code that the 1,500 do not have. It is
found if a new theme has a third of them, and they are two thirds of it; other new themes are invented. The record gets
accuracy, calibration error, new themes without a new code, share found and other new themes of each draw, under a name.

``themes``: the themes that ``find_themes`` finds in 70 % of each list, with their number suggested and given, and those
of the others by ``Themes.predict``. Right is a sentence whose code is that of most sentences of its theme. Printed and
recorded are confidence, share right and calibration error, with the temperature of before (that of the sentences in
which the themes were found) and now; and the share of unusual ones of the list, of :data:`STRANGERS`, and of the next
list but two.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._shared import about, add_to_record, calibration_error, known_lists
from themescope import find_themes, load
from themescope.core.sentence_model import vectors_of
from themescope.core.tasks.waves import ThemeCentres, new_themes
from themescope.core.types import Float32, Ids

OLD, WAVE, PLANTED = 1_500, 300, 30


def draws(x: Float32, codes: Ids, count: int) -> Iterator[tuple[Any, ...]]:
    """Yield accuracy, calibration error, invented themes, and of a planted code: size, share found, others invented."""
    sizes = np.bincount(codes)
    for seed in range(count):
        random = np.random.default_rng(seed)
        planted = int(random.choice(np.flatnonzero(sizes >= PLANTED)))
        rows = random.permutation(np.flatnonzero(codes != planted))
        old, wave = rows[: min(OLD, len(rows) - WAVE)], rows[-WAVE:]
        centres = ThemeCentres(x[old], codes[old])
        found = centres.assign(x[wave])
        right = found.labels == codes[wave]
        invented = len(new_themes(x[wave], x[old], found.fit, seed))
        new = random.permutation(np.flatnonzero(codes == planted))[:PLANTED]
        mixed = np.concatenate([wave[PLANTED:], new])
        themes = new_themes(x[mixed], x[old], centres.assign(x[mixed]).fit, seed)
        hits = [int((theme.rows >= WAVE - PLANTED).sum()) for theme in themes]
        is_new = [hit * 3 >= PLANTED and hit * 3 >= 2 * len(one.rows) for hit, one in zip(hits, themes, strict=True)]
        best = max((hit for hit, good in zip(hits, is_new, strict=True) if good), default=0)
        yield (
            right.mean(),
            calibration_error(found.probability, right),
            invented,
            best / PLANTED,
            len(themes) - sum(is_new),
        )


def lists(args: argparse.Namespace) -> None:
    """Print a row for each list."""
    model = load(args.model)
    model = model.for_lists() if hasattr(model, "for_lists") else model
    found_of: dict[str, Any] = {}
    for name, texts, codes in known_lists(args.file):
        rows = list(draws(model.encode(texts), codes, args.draws))
        found_of[name] = np.round(rows, 4).tolist()
        accuracy, error, invented, found, others = map(np.array, zip(*rows, strict=True))
        print(
            f"{name}: {len(texts):,} sentences, accuracy {accuracy.mean():.3f}, calibration error {error.mean():.3f}, "
            f"invented without a new theme {np.count_nonzero(invented)} of {len(rows)} draws; planted theme found in "
            f"{np.count_nonzero(found)} of {len(rows)} ({found.mean():.2f} of its sentences), others invented in "
            f"{np.count_nonzero(others)}", flush=True,
        )  # fmt: skip
    add_to_record(args.record, "waves", args.name, found_of)


STRANGERS = ("asdf qwer", "lorem ipsum dolor", "xxxx", "qqq www eee", "fhqwhgads", "1234 5678", "zxcv bnm hjkl",
             "The recipe needs two eggs and a cup of flour.", "My cat sleeps all day on the sofa.",
             "How do I reset my password?", "She painted the kitchen yellow.", "Please find the invoice attached.",
             "He scored twice in the second half.", "The hotel room smelled of smoke.")  # fmt: skip


def predicted(texts: list[str], codes: Ids, other: list[str], k: int | str, seed: int) -> dict[str, Any]:
    """Return what is recorded of a list, with a row of confidences and of right predictions for both temperatures."""
    rows = np.random.default_rng(seed).permutation(len(texts))
    old, new = np.split(rows, [int(0.7 * len(rows))])
    themes = find_themes([texts[row] for row in old], k=k)  # type: ignore[arg-type]
    found = themes.predict([texts[row] for row in new])
    before = ThemeCentres(themes.vectors, themes.different_labels).assign(
        vectors_of(themes.encoder, [texts[row] for row in new])
    )  # type: ignore[arg-type]
    most = np.array([np.bincount(codes[old][themes.labels == theme]).argmax() for theme in range(len(themes.themes))])
    right = most[found.labels] == codes[new]
    unusual = {"list": found, "strangers": themes.predict(STRANGERS), "other list": themes.predict(other)}
    return {
        "k": k, "themes": len(themes.themes), "right": right,
        "before": before.probability, "now": found.probability,
        "unusual": {name: float(one.unusual.mean()) for name, one in unusual.items()},
        "unusual before": float(before.unusual.mean()),
    }  # fmt: skip


def of_themes(args: argparse.Namespace) -> None:
    """Print and record a row for each list and both numbers of themes."""
    given = list(known_lists(args.file))
    rows: list[dict[str, Any]] = []
    for place, (name, texts, numbers) in enumerate(given):
        for k in ("auto", int(numbers.max()) + 1):
            row = predicted(texts, numbers, given[(place + 3) % len(given)][1][:60], k, place)
            rows.append({"list": name, "sentences": len(texts), **row})
            print(name, k, f"right {row['right'].mean():.2f}", *(
                f"{when}: {row[when].mean():.2f}, error {calibration_error(row[when], row['right']):.3f};"
                for when in ("before", "now")), row["unusual"], flush=True)  # fmt: skip
    pooled = {name: np.concatenate([row[name] for row in rows]) for name in ("right", "before", "now")}
    for row in [pooled, *rows]:
        right = row.pop("right")
        for when in ("before", "now"):
            sure = row.pop(when)
            row |= {f"confidence {when}": float(sure.mean()), f"error {when}": calibration_error(sure, right)}
        row["right"] = float(right.mean())
    print("all:", pooled)
    if args.record:
        found = about("python -m benchmarks.waves themes") | {"all": pooled, "lists": rows}
        args.record.write_text(json.dumps(found, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("lists", "themes"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", default="thematic-wikipedia-2")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--record", type=Path)
    parser.add_argument("--name", default="now")
    given = parser.parse_args()
    {"lists": lists, "themes": of_themes}[given.what](given)
