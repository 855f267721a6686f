"""Evaluation tasks: the data and the protocol of each evaluation."""
