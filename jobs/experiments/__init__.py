"""Carries out the declarations of ``core.experiments`` with the kinds of jobs that exist."""
