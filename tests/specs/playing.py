"""Specs of replication step by step: schedules in words, and states made by hand."""

from specs.replication.state import Replica


def play(spec, *calls, state=None):
    """Take the steps that calls such as "become_follower b2 0" name, from `state` or the initial one."""
    if state is None:
        (state,) = spec.initial_states()
    for call in calls:
        name, *arguments = call.split()
        state = spec.step(state, name, *(int(text) if text.isdigit() else text for text in arguments))
    return state


def state_with(spec, **variables):
    """Return the initial state with other values for some variables; of a map, for some keys."""
    (state,) = spec.initial_states()
    values = dict(state.values)
    for name, value in variables.items():
        with spec.bound():
            values[name] = {key: values[name][key] for key in Replica} | value if isinstance(value, dict) else value
    return spec.state_of(values)
