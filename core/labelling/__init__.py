"""Labellings: user-made partitions of sentences, operations on them, and exact undo.

``partition`` is the state, ``changes`` are elementary changes with their inverses, ``operations`` those of users, and
``history`` determines which steps can be undone and redone. Partitions are immutable.
"""
