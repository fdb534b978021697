"""A run, for every engine: its request, plan, result and expected verdict, and the ledger of recorded results."""
