"""The SMT engine: lowers specs to Z3 terms; induction, k-induction, bounded search and PDR."""
