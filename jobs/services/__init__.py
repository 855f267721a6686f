"""What pages, commands and the API call: operations that finish without a job, or queue one.

No job kind calls them; what job kinds share while they run belongs to :mod:`themescope.jobs.common`.
"""
