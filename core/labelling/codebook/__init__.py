"""Codebooks of labellings: what belongs into each cluster, in words and examples.

``entries`` holds the texts of a cluster and what merges and deletions do to them, ``versions`` named states and their
differences, ``documents`` a codebook as Markdown, web page and table, and ``refi_qda`` the exchange format of programs
for qualitative analysis.
"""
