"""Recurrent sentence encoders: Skip-Thought, SAE and SDAE."""
