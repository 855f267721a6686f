"""Time, memory and disk that a large corpus needs, predicted from short measurements on this machine.

:mod:`themescope.jobs.planning.rates` measures, :mod:`themescope.jobs.planning.simulation` predicts the time of a step
on more workers, and :mod:`themescope.jobs.planning.plan` puts the steps of a corpus together.
"""
