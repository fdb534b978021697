"""Explanations: why a property is false, why an action is disabled, and where a part of a spec is located."""
