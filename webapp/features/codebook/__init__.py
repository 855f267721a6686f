"""Codebook page: definitions, rules and examples of the clusters of a labelling, versions and files."""
