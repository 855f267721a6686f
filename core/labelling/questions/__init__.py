"""Questions that a program asks about a labelling, and what the answers change.

``strategies`` choose the next question for a ``state``: a labelling with its vectors and answers. ``moves`` determines
which sentences an answer moves, and ``steps`` makes the operations of the history and says when to stop. A state is a
function of the labelling, the vectors and a seed, so that questions continue after a reload.
"""
