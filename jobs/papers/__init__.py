"""Reproduction of the experiment specs of ``themescope.core.papers`` with the registered job kinds."""
