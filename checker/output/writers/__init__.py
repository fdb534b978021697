"""The writers of counterexamples, a module for each format; `checker.output.formats` registers them."""
