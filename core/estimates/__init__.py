"""Estimates of shares and regressions from people's labels and the machine's codes, with honest intervals.

``shares`` has the estimates of a code, its logistic regression, and how many labels are needed; ``report`` the methods
paragraph and the replication files.
"""
