"""Labelling tasks: making and distributing them, working on them, progress and checks."""
