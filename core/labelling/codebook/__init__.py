"""Codebooks of labellings: what belongs into each cluster, in words and examples.

``entries`` holds the texts of a cluster, what merges and deletions do to them, named states with their differences, and
codes without ids, as documents and tables; ``operations`` what people do; and the modules that begin with
``qda`` the REFI-QDA format of programs for qualitative analysis.
"""
