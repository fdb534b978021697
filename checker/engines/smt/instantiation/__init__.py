"""Refutation of quantified formulas by ground instances that the checker chooses itself."""
