"""Questions that a program asks about a labelling, and what the answers change.

``strategies`` choose the next question for a ``state``, make the operations of the history, and say when to stop.
``state`` is a labelling with its vectors and answers, and determines which sentences an answer moves. It is a function
of the labelling, the vectors and a seed, so that questions continue after a reload.
"""
