"""Commands without their options: execute runs, proofs, mutants, walks and validations, and write their results."""
