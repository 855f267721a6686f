"""Ein Dor et al. 2018, *Learning Thematic Similarity Metric (from Article Sections) Using Triplet Networks*.

Published numbers are copied from the paper. The paper numbers only Table 4; the other tables are numbered in the order
in which the paper presents them.
"""
