"""Themes of lists with repeated texts: the same number of themes, the same themes, in every order of the rows.

    python -m benchmarks.repeated_texts LISTS.json [--model default] [--answers 1] [--orders 20]

LISTS is a JSON list of [name, sentences, codes] with different sentences. Rows are added until 0, 30 and 50 % of the
rows repeat another one: half of them are ``--answers`` different answers such as "Don't know", equally often (with 0,
none), the others copies of the sentences, the i-th of a random order with a frequency of 1/i. Printed for each list and
share: the number of themes, the ARI of the themes with the codes over the different sentences, that with the themes of
the list without repeats, and the lowest ARI between the themes of the first order of the rows and of ``--orders``
random ones. A summary follows.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from benchmarks._shared import ARI, QUICK, known_lists
from themescope import load
from themescope.core.tasks.themes import ThemesConfig, find_themes
from themescope.core.types import SILENT, Ids

SHARES = (0.0, 0.3, 0.5)
ANSWERS = ("Don't know", "None", "No answer", "n/a", "Nothing", "No idea")
CONFIG = ThemesConfig(**QUICK)


def repeated(n: int, share: float, answers: int, random: np.random.Generator) -> Ids:
    """Return the rows of a list of ``n`` sentences and then repeats, as numbers; the answers begin with n."""
    added = round(share * n / (1 - share))
    answered = added // 2 if answers else 0
    frequency = random.permutation(1 / np.arange(1, n + 1))
    copies = random.choice(n, added - answered, p=frequency / frequency.sum())
    return np.concatenate([np.arange(n), n + np.arange(answered) % max(answers, 1), copies])


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", type=Path)
    parser.add_argument("--model", default="default")
    parser.add_argument("--answers", type=int, default=1, choices=range(len(ANSWERS) + 1))
    parser.add_argument("--orders", type=int, default=20)
    wanted = parser.parse_args()
    model = load(wanted.model)
    changes: dict[float, list[tuple[float, float]]] = {share: [] for share in SHARES}
    print("| list | sentences | codes | repeated rows | themes | ARI, codes | ARI, without repeats | ARI, orders |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for number, (name, texts, truth) in enumerate(known_lists(wanted.lists)):
        n, texts = len(texts), [*texts, *ANSWERS]
        x, plain = model.encode(texts), np.zeros(n, np.int32)
        for share in SHARES:
            random = np.random.default_rng([number, round(100 * share)])
            rows, results = repeated(n, share, wanted.answers, random), []
            for order in [np.arange(len(rows)), *(random.permutation(len(rows)) for _ in range(wanted.orders))]:
                drawn = rows[order]
                found = find_themes([texts[i] for i in drawn], x[drawn], CONFIG, 0, SILENT, model.calibration)
                labels = np.empty(len(rows), np.int32)
                labels[order] = found.labels
                results.append(labels)
            first = results[0]
            plain = plain if share else first
            score, before = ARI.score(truth, first[:n]), ARI.score(truth, plain[:n])
            changes[share].append((abs(first.max() - plain.max()) / (plain.max() + 1), abs(score - before)))
            orders = min((ARI.score(first, other) for other in results[1:]), default=1.0)
            print(f"| {name} | {n} | {truth.max() + 1} | {share:.0%} | {first.max() + 1} | {score:.3f} | "
                  f"{ARI.score(plain[:n], first[:n]):.3f} | {orders:.3f} |", flush=True)  # fmt: skip
    for share, changed in changes.items():
        mean, most = np.mean(changed, axis=0), np.max(changed, axis=0)
        print(f"{share:.0%}: number changed by {mean[0]:.3f} (at most {most[0]:.3f}), ARI by {mean[1]:.3f} "
              f"(at most {most[1]:.3f})")  # fmt: skip


if __name__ == "__main__":
    main()
