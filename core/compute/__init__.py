"""Computation that the methods share: nearest neighbours and random numbers."""
