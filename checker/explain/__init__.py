"""Explanations: why a property failed, why an action is disabled, where a part of a spec is located."""
