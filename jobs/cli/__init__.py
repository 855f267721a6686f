"""Commands of the command line, assembled in :mod:`themescope.jobs.cli.main`."""
