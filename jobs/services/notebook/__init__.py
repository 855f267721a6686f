"""Error notebooks: building cases, random samples of failures, suggested categories, counts, agreement and reports."""
