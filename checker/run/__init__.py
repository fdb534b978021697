"""Runs, independent of the engine: requests, plans, results, expected verdicts, and the ledger of results."""
