"""What job kinds share while they run: the context of a job, and texts, models, vectors and results in the store.

A function belongs here if a job kind calls it. Pages, commands and the API may call it too, but what only they call
belongs to :mod:`themescope.jobs.services`.
"""
