"""The SMT engine: specs as Z3 terms; induction, k-induction and bounded search."""
