"""The map component shared by the pages Map, Themes and Relabel."""
