"""Queries of results: partitions, methods of a comparison, and evaluations on triplets."""
