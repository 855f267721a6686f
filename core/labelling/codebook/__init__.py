"""Codebooks of labellings: what belongs into each cluster, in words and examples.

``entries`` holds the texts of a cluster and what merges and deletions do to them, ``operations`` what people do,
``versions`` named states and their differences, ``documents`` a codebook as Markdown, web page and table, and the
modules that begin with ``qda`` the REFI-QDA format of programs for qualitative analysis.
"""
