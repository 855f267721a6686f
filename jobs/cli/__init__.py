"""The parts of the command line; :mod:`jobs.cli.main` puts them together."""
