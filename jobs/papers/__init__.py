"""Reproduction of the experiment specs of ``core.papers`` with the registered job kinds."""
