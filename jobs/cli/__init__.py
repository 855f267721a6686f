"""Commands of the command line, assembled in :mod:`jobs.cli.main`."""
