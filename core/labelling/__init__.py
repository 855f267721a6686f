"""Labellings: user-made partitions of sentences, operations on them, and exact undo.

``partition`` holds the state, ``changes`` the smallest changes with their inverses, ``operations`` what people do,
``history`` which steps can be undone and redone. Everything is pure: a partition never changes, another one is made.
"""
