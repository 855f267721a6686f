"""Corpora as folders of Hugging Face datasets: Parquet files with a dataset card."""
