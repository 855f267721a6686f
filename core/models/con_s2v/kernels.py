"""Compiled training and inference loops.

They are in one file because numba's cache notices changes only in the file of the compiled function (the generator in
``core.compute`` is fixed by its published numbers). Tables are float32 with contiguous rows. Rows are
passed by index and not as slices, because a slice counts references, for which threads would wait. Several threads may
work on different sentences and share the tables without locks (Recht et al. 2011).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from themescope.core.compute import GOLDEN, mix
from themescope.core.models.con_s2v.text import LEAST_RATE, Buffers, Context, Losses, Noise, Span, Tables, TextArrays

_HALF_WORD, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
_ZERO, _ONE = np.float32(0), np.float32(1)
_EDGE = np.float32(6)  # limit of logits, as in the reference implementation
_mix = njit(cache=True, inline="always")(mix)


@njit(cache=True, inline="always")
def _next(state: Any) -> Any:
    state[0] += GOLDEN
    return _mix(state[0])


@njit(cache=True, inline="always")
def _below(state: Any, bound: int) -> Any:
    return np.int64(((_next(state) >> _HALF_WORD) * np.uint64(bound)) >> _HALF_WORD)


@njit(cache=True, inline="always")
def _kept(state: Any, threshold: Any) -> Any:
    return (_next(state) >> _HALF_WORD) < threshold


@njit(cache=True, inline="always")
def _drawn(state: Any, alias: Any) -> Any:
    """Draw an item of an alias table: the high half of a random number chooses the cell, the low half the item."""
    draw = _next(state)
    place = ((draw >> _HALF_WORD) * np.uint64(len(alias))) >> _HALF_WORD
    cell = alias[place]
    return np.int64(place) if (draw & _LOW) < (cell >> _HALF_WORD) else np.int64(cell & _LOW)


@njit(cache=True, fastmath=True, error_model="numpy", inline="always")
def _sigmoid(x: Any) -> Any:
    return _ONE / (_ONE + np.exp(-min(max(x, -_EDGE), _EDGE)))


@njit(cache=True, fastmath=True, error_model="numpy")
def _dot(table: Any, row: Any, x: Any, i: Any) -> Any:
    total = _ZERO
    for k in range(x.shape[1]):
        total += table[row, k] * x[i, k]
    return total


@njit(cache=True, fastmath=True, error_model="numpy")
def _dots(table: Any, a: Any, b: Any, c: Any, x: Any, i: Any) -> Any:
    """Return the products of row i of ``x`` with three rows; every entry of ``x`` is read once."""
    first, second, third = _ZERO, _ZERO, _ZERO
    for k in range(x.shape[1]):
        y = x[i, k]
        first += table[a, k] * y
        second += table[b, k] * y
        third += table[c, k] * y
    return first, second, third


@njit(cache=True, fastmath=True, error_model="numpy")
def _update(table: Any, row: Any, x: Any, i: Any, gradient: Any, change: Any) -> None:
    for k in range(x.shape[1]):
        old = table[row, k]
        gradient[k] += change * old
        table[row, k] = old + change * x[i, k]


@njit(cache=True, fastmath=True, error_model="numpy")
def _updates(table: Any, a: Any, b: Any, c: Any, x: Any, i: Any, gradient: Any, p: Any, q: Any, r: Any) -> None:
    """Update three different rows a, b, c."""
    for k in range(x.shape[1]):
        y, first, second, third = x[i, k], table[a, k], table[b, k], table[c, k]
        gradient[k] += p * first + q * second + r * third
        table[a, k] = first + p * y
        table[b, k] = second + q * y
        table[c, k] = third + r * y


@njit(cache=True, fastmath=True, error_model="numpy")
def _add_scaled(table: Any, row: Any, gradient: Any, change: Any) -> None:
    for k in range(len(gradient)):
        gradient[k] += change * table[row, k]


@njit(cache=True, fastmath=True, error_model="numpy")
def _add(x: Any, i: Any, gradient: Any) -> None:
    for k in range(len(gradient)):
        x[i, k] += gradient[k]


@njit(cache=True, fastmath=True, error_model="numpy")
def pull(x: Any, i: Any, towards: Any, share: Any) -> None:
    """Move row i of ``x`` by ``share`` of the way ``towards`` a (dim,) vector: the proximity step."""
    for k in range(len(towards)):
        x[i, k] += share * (towards[k] - x[i, k])


@njit(cache=True, fastmath=True, error_model="numpy")
def descend(x: Any, i: Any, table: Any, targets: Any, count: int, rate: Any, gradient: Any) -> Any:
    """Update ``table`` by one step of negative sampling, add the step of x to ``gradient``, and return the loss.

    ``targets[0]`` is the item to predict, the other ``count`` - 1 are noise (Mikolov et al. 2013, equation 4). Three
    rows are processed at once where they differ.
    """
    likelihood, s = 1.0, 0
    while s < count:
        a = targets[s]
        if s + 3 <= count and a != targets[s + 1] and a != targets[s + 2] and targets[s + 1] != targets[s + 2]:
            b, c = targets[s + 1], targets[s + 2]
            first, second, third = _dots(table, a, b, c, x, i)
            p, q, r = _sigmoid(first), _sigmoid(second), _sigmoid(third)
            likelihood *= (p if s == 0 else _ONE - p) * (_ONE - q) * (_ONE - r)
            p -= _ONE if s == 0 else _ZERO
            _updates(table, a, b, c, x, i, gradient, -rate * p, -rate * q, -rate * r)
            s += 3
        else:
            p = _sigmoid(_dot(table, a, x, i))
            likelihood *= p if s == 0 else _ONE - p
            p -= _ONE if s == 0 else _ZERO
            _update(table, a, x, i, gradient, -rate * p)
            s += 1
    return -np.log(likelihood)


@njit(cache=True, fastmath=True, error_model="numpy")
def _gradient_step(x: Any, i: Any, table: Any, targets: Any, count: int, rate: Any, gradient: Any) -> None:
    """Add to ``gradient`` what :func:`descend` adds, without changing ``table``."""
    for s in range(count):
        p = _sigmoid(_dot(table, targets[s], x, i)) - (_ONE if s == 0 else _ZERO)
        _add_scaled(table, targets[s], gradient, -rate * p)


@njit(cache=True)
def _work(dim: int, drawn: int, text: TextArrays, span: Span) -> Any:
    longest = 1
    for i in range(span.low, span.high):
        longest = max(longest, text.starts[i + 1] - text.starts[i])
    gradient, mean = np.zeros(dim, np.float32), np.zeros(dim, np.float32)
    targets, kept = np.empty(drawn + 1, np.int64), np.empty(longest, np.int64)
    return Buffers(gradient, mean, targets, kept, np.array([span.seed], np.uint64))


@njit(cache=True)
def _draw_targets(item: Any, alias: Any, drawn: int, work: Buffers) -> int:
    """Write an item and up to ``drawn`` noise items different from it into the targets; return their number."""
    work.targets[0], found = item, 1
    for _ in range(drawn):
        noise = _drawn(work.state, alias)
        if noise != item:
            work.targets[found] = noise
            found += 1
    return found


@njit(cache=True)
def _step(x: Any, i: Any, table: Any, item: Any, alias: Any, drawn: int, rate: Any, work: Buffers) -> Any:
    """Predict ``item`` from row i of ``x``, update both, and return the loss."""
    found = _draw_targets(item, alias, drawn, work)
    work.gradient[:] = _ZERO
    loss = descend(x, i, table, work.targets, found, rate, work.gradient)
    _add(x, i, work.gradient)
    return loss


@njit(cache=True)
def _kept_words(text: TextArrays, i: Any, work: Buffers) -> int:
    """Write the words of sentence i that subsampling keeps into ``work.kept``; return their number."""
    count = 0
    for place in range(text.starts[i], text.starts[i + 1]):
        word = text.ids[place]
        if _kept(work.state, text.keep[word]):
            work.kept[count] = word
            count += 1
    return count


@njit(cache=True, inline="always")
def _rate_at(span: Span, text: TextArrays, i: Any) -> Any:
    """Return the learning rate α = α₀·max(1e-4, 1 - progress in words)."""
    return np.float32(span.rate * max(LEAST_RATE, 1.0 - (span.done + text.starts[i]) / span.total))


@njit(cache=True, fastmath=True, error_model="numpy")
def _neighbour_mean(table: Any, context: Context, i: Any, mean: Any) -> Any:
    """Write the mean of the rows of the neighbours of i into ``mean`` (dim,); return the number of neighbours."""
    low, high = context.starts[i], context.starts[i + 1]
    mean[:] = _ZERO
    for place in range(low, high):
        _add_scaled(table, context.targets[place], mean, _ONE / np.float32(high - low))
    return high - low


@njit(cache=True, error_model="numpy", nogil=True)
def train_sentences(tables: Tables, text: TextArrays, context: Context, noise: Noise, steps: Losses, span: Span) -> Any:
    """Run Algorithm 1 of Saha et al. (2017) on a span of sentences; with a window, in mode reference.

    Return sums: (content loss, content steps, neighbour loss, neighbour steps).
    """
    work, sums = _work(tables.words.shape[1], noise.drawn, text, span), np.zeros(4)
    for i in range(span.low, span.high):
        count, rate = _kept_words(text, i, work), _rate_at(span, text, i)
        # Within a sentence only its own row changes, so the mean of its neighbours is the same for every word.
        if steps.strength > 0:
            _neighbour_mean(tables.sentences, context, i, work.mean)
        for t in range(count):
            if steps.window > 0:
                radius = 1 + _below(work.state, steps.window)
                _window(tables, noise, t, radius, count, rate, work, sums)
                if t < radius:  # the sentence is a token before the first word, within the window
                    _round(tables, context, noise, steps, i, work.kept[t], rate, work, sums)
            _round(tables, context, noise, steps, i, work.kept[t], rate, work, sums)
    return sums


@njit(cache=True, error_model="numpy")
def _round(
    tables: Tables,
    context: Context,
    noise: Noise,
    steps: Losses,
    i: Any,
    word: Any,
    rate: Any,
    work: Buffers,
    sums: Any,
) -> None:
    """Take the steps (a) to (f) of Algorithm 1 for one word."""
    if steps.content:
        sums[0] += _step(tables.sentences, i, tables.words, word, noise.words, noise.drawn, rate, work)
        sums[1] += 1
    low, near = context.starts[i], context.starts[i + 1] - context.starts[i]
    if near == 0:
        return
    if steps.neighbours > 0:
        other = context.targets[low + _below(work.state, near)]
        share = np.float32(rate * steps.neighbours)
        sums[2] += _step(tables.sentences, i, tables.nodes, other, noise.nodes, noise.drawn, share, work)
        sums[3] += 1
    if steps.strength > 0:
        share = np.float32(rate * steps.strength)
        pull(tables.sentences, i, work.mean, share / (_ONE + share) if steps.implicit else share)


@njit(cache=True, error_model="numpy")
def _window(tables: Tables, noise: Noise, t: Any, radius: Any, count: Any, rate: Any, work: Buffers, sums: Any) -> None:
    """Predict the word at position t from the words within ``radius``."""
    for s in range(max(0, t - radius), min(count, t + radius + 1)):
        if s != t:
            sums[0] += _step(
                tables.inputs, work.kept[s], tables.words, work.kept[t], noise.words, noise.drawn, rate, work
            )
            sums[1] += 1


@njit(cache=True, error_model="numpy", nogil=True)
def train_memory(tables: Tables, text: TextArrays, noise: Noise, window: int, span: Span) -> Any:
    """Train distributed memory (Le and Mikolov 2014, section 2.2) on a span of sentences.

    The mean of φ_i and the inputs of up to R ~ U{1…window} preceding words predicts a word. The gradient of the mean is
    added to each of its parts in full. Return sums as :func:`train_sentences`.
    """
    work, sums = _work(tables.words.shape[1], noise.drawn, text, span), np.zeros(4)
    mean = np.zeros((1, tables.words.shape[1]), np.float32)
    for i in range(span.low, span.high):
        count, rate = _kept_words(text, i, work), _rate_at(span, text, i)
        for t in range(count):
            first = max(0, t - 1 - _below(work.state, window))
            _memory_mean(tables, i, work.kept, first, t, mean)
            found = _draw_targets(work.kept[t], noise.words, noise.drawn, work)
            work.gradient[:] = _ZERO
            sums[0] += descend(mean, 0, tables.words, work.targets, found, rate, work.gradient)
            sums[1] += 1
            _add(tables.sentences, i, work.gradient)
            for s in range(first, t):
                _add(tables.inputs, work.kept[s], work.gradient)
    return sums


@njit(cache=True, fastmath=True, error_model="numpy")
def _memory_mean(tables: Tables, i: Any, kept: Any, first: Any, end: Any, mean: Any) -> None:
    """Write the mean of φ_i and the inputs of the words ``kept[first:end]`` into the only row of ``mean``."""
    part = _ONE / np.float32(1 + end - first)
    for k in range(mean.shape[1]):
        mean[0, k] = part * tables.sentences[i, k]
    for s in range(first, end):
        for k in range(mean.shape[1]):
            mean[0, k] += part * tables.inputs[kept[s], k]


@njit(cache=True, error_model="numpy", nogil=True)
def train_bags(tables: Tables, text: TextArrays, context: Context, noise: Noise, own: bool, span: Span) -> Any:
    """Train FastSent (Hill et al. 2016, section 3) on a span of sentences.

    The sum of a sentence's word inputs predicts the words of its neighbours and, with ``own``, its own. The gradient of
    the sum is divided equally among the words, so that the sum moves by the gradient. Return sums as
    :func:`train_sentences`.
    """
    work, sums = _work(tables.words.shape[1], noise.drawn, text, span), np.zeros(4)
    bag = np.zeros((1, tables.words.shape[1]), np.float32)
    for i in range(span.low, span.high):
        count, rate = _kept_words(text, i, work), _rate_at(span, text, i)
        work.mean[:] = _ZERO
        for s in range(count):
            _add_scaled(tables.inputs, work.kept[s], work.mean, _ONE)
        bag[0] = work.mean
        low, high = context.starts[i], context.starts[i + 1]
        for place in range(low, high + (1 if own else 0)):
            other = context.targets[place] if place < high else i
            for position in range(text.starts[other], text.starts[other + 1]):
                word = text.ids[position]
                if count > 0 and _kept(work.state, text.keep[word]):
                    sums[0] += _step(bag, 0, tables.words, word, noise.words, noise.drawn, rate, work)
                    sums[1] += 1
        work.gradient[:] = (bag[0] - work.mean) / np.float32(max(count, 1))
        for s in range(count):
            _add(tables.inputs, work.kept[s], work.gradient)
    return sums


@njit(cache=True, error_model="numpy", nogil=True)
def infer(tables: Tables, text: TextArrays, noise: Noise, window: int, epochs: int, rate: float, seeds: Any) -> None:
    """Infer vectors of new sentences by content steps on their rows; all other tables stay fixed.

    ``tables.sentences`` (n, dim) has the initial vectors and receives the result. ``seeds`` (n,) has one seed for each
    sentence, so that a row does not depend on the others. ``window`` > 0 infers as :func:`train_memory` trains.
    """
    dim = tables.words.shape[1]
    mean = np.zeros((1, dim), np.float32)
    for i in range(len(seeds)):
        work = _work(dim, noise.drawn, text, Span(i, i + 1, rate, 0, 1, seeds[i]))
        for epoch in range(epochs):
            falling = np.float32(rate * max(LEAST_RATE, 1.0 - epoch / epochs))
            count = _kept_words(text, i, work)
            for t in range(count):
                first = max(0, t - 1 - _below(work.state, window)) if window > 0 else t
                _memory_mean(tables, i, work.kept, first, t, mean)
                found = _draw_targets(work.kept[t], noise.words, noise.drawn, work)
                work.gradient[:] = _ZERO
                _gradient_step(mean, 0, tables.words, work.targets, found, falling, work.gradient)
                _add(tables.sentences, i, work.gradient)


@njit(cache=True, error_model="numpy", nogil=True)
def retrofit(vectors: Any, start: Any, context: Context, rounds: int) -> None:
    """Retrofit ``vectors`` (n, dim) in place: q_i ← ½ q̂_i + ½ mean of its neighbours, q̂ being ``start``.

    A sentence without neighbours is not changed (Faruqui et al. 2015).
    """
    mean = np.zeros(start.shape[1], np.float32)
    for _ in range(rounds):
        for i in range(len(vectors)):
            if _neighbour_mean(vectors, context, i, mean) > 0:
                for k in range(len(mean)):
                    vectors[i, k] = np.float32(0.5) * (start[i, k] + mean[k])
