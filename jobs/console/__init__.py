"""The parts of the command line; :mod:`jobs.cli` puts them together."""
