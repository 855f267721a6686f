"""Guess passwords at the sign-in of a store: how many of many attempts have their password checked.

    python -m benchmarks.brute_force [--attempts 100000] [--threads 8]

Each attempt is the call that the sign-in form makes. Three attacks in turn, each on a store of its own with 20
accounts: one name from one address, one name from 50 addresses, and all names from one address. Prints for each one the
attempts that were checked, those that were told to wait, and the attempts per second; then how long the owner of the
attacked name, who knows the password, has to wait.
"""

from __future__ import annotations

import argparse
import itertools
import logging
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from themescope.core.errors import AccessError
from themescope.db.label_records import Role
from themescope.db.settings import Settings
from themescope.db.store import Store
from themescope.jobs.services import people, sign_in

NAMES = [f"person {number}" for number in range(20)]
PASSWORD = "the right one is long"
ATTACKS: dict[str, Callable[[int], tuple[str, str]]] = {
    "one name, one address": lambda n: (NAMES[0], "192.0.2.1"),
    "one name, 50 addresses": lambda n: (NAMES[0], f"192.0.2.{n % 50}"),
    "20 names, one address": lambda n: (NAMES[n % 20], "192.0.2.1"),
}
"""Attack → name and address of attempt n."""


def attack(store: Store, attempts: int, threads: int, target: Callable[[int], tuple[str, str]]) -> Counter[str]:
    """Make the attempts with wrong passwords and count their answers."""
    numbers, answers, lock = itertools.count(), Counter[str](), threading.Lock()

    def run() -> None:
        while (n := next(numbers)) < attempts:
            name, address = target(n)
            try:
                sign_in.sign_in(store, name, f"a wrong guess {n}", address)
                answer = "signed in"
            except sign_in.TooManyAttempts:
                answer = "told to wait"
            except AccessError:
                answer = "checked"
            with lock:
                answers[answer] += 1

    workers = [threading.Thread(target=run) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return answers


def main() -> None:
    """Run the attacks and print their results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attempts", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=8)
    options = parser.parse_args()
    logging.disable(logging.WARNING)
    for title, target in ATTACKS.items():
        with tempfile.TemporaryDirectory() as folder:
            store = Store(Settings.in_folder(Path(folder)))
            store.migrate()
            for name in NAMES:
                people.add(store, name, Role.LABELLER, PASSWORD)
            begun = time.perf_counter()
            answers = attack(store, options.attempts, options.threads, target)
            seconds = time.perf_counter() - begun
            print(f"{title:24}{dict(answers)} in {seconds:.0f} s, {options.attempts / seconds:.0f}/s", flush=True)
            try:
                sign_in.sign_in(store, NAMES[0], PASSWORD, "198.51.100.7")
                print(f"{'':24}the owner of {NAMES[0]!r} signs in from another address")
            except sign_in.TooManyAttempts as error:
                print(f"{'':24}the owner of {NAMES[0]!r} waits for {error.wait_s:.0f} s")
            store.close()


if __name__ == "__main__":
    main()
