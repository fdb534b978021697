"""Lowering: from typed expressions and statements to Z3 terms over symbolic states."""
