"""The compiled step of an LSTM for inference: everything between two matrix products, in one pass over memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

# tanh x ≈ x·P(x²)/Q(x²) on ±7.9, where it is ±1 in float32; the coefficients are those of the Eigen library. The error
# is a few units in the last place, and unlike the exact function it is computed for eight numbers at a time.
_EDGE = np.float32(7.90531110763549805)
_P1, _P3, _P5, _P7 = map(np.float32, (4.89352455891786e-03, 6.37261928875436e-04, 1.48572235717979e-05,
                                      5.12229709037114e-08))  # fmt: skip
_P9, _P11, _P13 = map(np.float32, (-8.60467152213735e-11, 2.00018790482477e-13, -2.76076847742355e-16))
_Q0, _Q2, _Q4, _Q6 = map(np.float32, (4.89352518554385e-03, 2.26843463243900e-03, 1.18534705686654e-04,
                                      1.19825839466702e-06))  # fmt: skip
_HALF = np.float32(0.5)


@njit(cache=True, fastmath=True, error_model="numpy", inline="always")
def _tanh(x: Any) -> Any:
    x = min(max(x, -_EDGE), _EDGE)
    y = x * x
    p = _P1 + y * (_P3 + y * (_P5 + y * (_P7 + y * (_P9 + y * (_P11 + y * _P13)))))
    return x * p / (_Q0 + y * (_Q2 + y * (_Q4 + y * _Q6)))


@njit(cache=True, fastmath=True, error_model="numpy", inline="always")
def _sigmoid(x: Any) -> Any:
    return _HALF + _HALF * _tanh(_HALF * x)


# Every loop below begins at 0 and touches few arrays: only such loops are turned into eight numbers at a time.
@njit(cache=True, fastmath=True, error_model="numpy")
def _sigmoids(gate: Any, word: Any) -> None:
    for j in range(len(gate)):
        gate[j] = _sigmoid(gate[j] + word[j])


@njit(cache=True, fastmath=True, error_model="numpy")
def _tanhs(gate: Any, word: Any) -> None:
    for j in range(len(gate)):
        gate[j] = _tanh(gate[j] + word[j])


@njit(cache=True, fastmath=True, error_model="numpy")
def _remember(i: Any, f: Any, g: Any, c: Any) -> None:
    for j in range(len(c)):
        c[j] = f[j] * c[j] + i[j] * g[j]


@njit(cache=True, fastmath=True, error_model="numpy")
def _answer(o: Any, c: Any, h: Any) -> None:
    for j in range(len(h)):
        h[j] = o[j] * _tanh(c[j])


@njit(cache=True, fastmath=True, error_model="numpy", nogil=True)
def lstm_step(recurrent: Any, words: Any, ids: Any, h: Any, c: Any, states: Any, places: Any) -> None:
    """One time step of ``m`` sentences: changes ``recurrent``, ``h`` and ``c``, and writes the states.

    Shapes: ``recurrent`` (m, 4·H) what h contributes to the gates, in torch's order i, f, g, o; ``words`` (V, 4·H)
    what each distinct word does, biases included, and ``ids`` (m,) its rows; ``h``, ``c`` (≥ m, H); ``states``
    (tokens, H) and ``places`` (m,) its rows. All float32 but the ids.
    """
    n = h.shape[1]
    for row in range(len(ids)):
        gates, word = recurrent[row], words[ids[row]]
        _sigmoids(gates[: 2 * n], word[: 2 * n])
        _tanhs(gates[2 * n : 3 * n], word[2 * n : 3 * n])
        _sigmoids(gates[3 * n :], word[3 * n :])
        _remember(gates[:n], gates[n : 2 * n], gates[2 * n : 3 * n], c[row])
        _answer(gates[3 * n :], c[row], h[row])
        states[places[row]] = h[row]


@njit(cache=True, fastmath=True, error_model="numpy")
def _score(row: Any, bias: Any, context: Any) -> Any:
    total = np.float32(0)
    for j in range(len(row)):
        total += context[j] * _tanh(row[j] + bias[j])
    return total


@njit(cache=True, fastmath=True, error_model="numpy")
def _add(total: Any, weight: Any, row: Any) -> None:
    for j in range(len(total)):
        total[j] += weight * row[j]


@njit(cache=True, fastmath=True, error_model="numpy", nogil=True)
def attend(projected: Any, bias: Any, context: Any, states: Any, starts: Any) -> Any:
    """(n, width) means of the ``states`` of each sentence, weighted by softmax(context · tanh(projected + bias)).

    Shapes: ``projected`` (tokens, A), ``bias`` and ``context`` (A,), ``states`` (tokens, width); sentence i has the
    tokens ``starts[i]`` to ``starts[i + 1]``, at least one.
    """
    vectors = np.zeros((len(starts) - 1, states.shape[1]), np.float32)
    scores = np.empty(len(states), np.float32)
    for i in range(len(vectors)):
        first, end = starts[i], starts[i + 1]
        for t in range(first, end):
            scores[t] = _score(projected[t], bias, context)
        highest, total = scores[first:end].max(), np.float32(0)
        for t in range(first, end):
            scores[t] = np.exp(scores[t] - highest)
            total += scores[t]
        for t in range(first, end):
            _add(vectors[i], scores[t] / total, states[t])
    return vectors
