"""Networks and how they are trained. Everything here imports torch; methods import it late."""
