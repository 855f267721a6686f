"""Computation that the methods share: nearest neighbours, random numbers and the cores of this process."""
