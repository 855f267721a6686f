"""SplitMix64 against published numbers of the generator."""

import numpy as np

from themescope.core.compute import GOLDEN, mix

FROM_SEED_1234567 = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]


def test_numbers_are_those_of_the_reference_implementation():
    with np.errstate(over="ignore"):
        states = np.uint64(1234567) + GOLDEN * np.arange(1, 5, dtype=np.uint64)
        assert mix(states).tolist() == FROM_SEED_1234567


def test_one_number_equals_its_row_of_an_array():
    states = np.array([1, 2, 2**63 + 5], np.uint64)
    with np.errstate(over="ignore"):
        assert [int(mix(state)) for state in states] == mix(states).tolist()
