"""Lowering of specs with open constants: quantifiers in place of unrolled loops, functions in place of arrays.

The modules have the names of those in `smt/lowering` of which they replace classes.
"""
