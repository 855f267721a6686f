"""Fingerprints of results: what every implementation makes of a tiny fixed input, kept with its card's revision.

``python -m tests.contracts.fingerprints`` compares the results of this version with ``fingerprints.json``. With
``--write`` it writes new fingerprints, but refuses to replace one that differs under the same revision, because cached
results of the old code would then be taken for those of the new: raise ``revision`` of the card first.

A fingerprint is a list of numbers, which are compared within a tolerance, and texts, which are compared exactly. A
partition is a text in which clusters are numbered in order of first appearance. Vectors enter by their scalar
products, which do not depend on the sign or the rotation of the coordinates; trainings also by the points of their
curves. The inputs are part of the fingerprints: whoever changes them deletes the fingerprints they belong to and
writes these again, in a commit that changes no implementation.
"""
