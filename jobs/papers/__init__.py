"""Carries out the declarations of ``core.papers`` with the kinds of jobs that exist."""
