"""Estimates of how much of a project has a code, from people's labels and the machine's predictions."""
