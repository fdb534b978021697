"""Search for the lemmas that an inductive proof lacks."""
