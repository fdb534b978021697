"""Proofs for every value of a constant: ranges are mathematical integers, sequences have any length."""
