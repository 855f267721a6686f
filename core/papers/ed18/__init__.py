"""Ein Dor et al. 2018, *Learning Thematic Similarity Metric (from Article Sections) Using Triplet Networks*.

Published numbers are copied from the paper, whose Tables 3 to 6 have results (Tables 1 and 2 are examples of triplets,
which the page Triplets shows). Tables of our own have names.
"""
