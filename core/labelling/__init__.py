"""A person's partition of sentences: what it is, how it changes, and how every change is taken back exactly.

``partition`` holds the state, ``changes`` the smallest changes with their inverses, ``operations`` what people do,
``history`` which steps can be undone and redone. Everything is pure: a partition never changes, another one is made.
"""
