"""The prover: the same specs as Z3 terms; inductive invariants, k-induction and bounded search."""
