"""Time, memory and disk that a large corpus needs, predicted from short measurements on this machine.

:mod:`jobs.planning.rates` measures, :mod:`jobs.planning.simulation` predicts the time of a step on more workers, and
:mod:`jobs.planning.plan` puts the steps of a corpus together.
"""
