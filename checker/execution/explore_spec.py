"""The work of the command `explore`: select the specs, or read the trace, and serve the page."""

from __future__ import annotations

from pathlib import Path

from checker.errors import InputError
from checker.execution.show_trace import replayed
from checker.explorer.address import MOST_STEPS, Address
from checker.explorer.serving import require_server, serve
from checker.explorer.session import ExplorerSession
from checker.explorer.steps import address_of
from checker.explorer.variant import Variant, sibling_of, variant_of
from checker.output.formats import Counterexample
from checker.printable import printable
from checker.run import registry
from checker.run.expectation import properties_to_check


def explore_spec(
    target: str | None,
    *,
    settings: tuple[str, ...],
    trace: Path | None,
    spec_file: Path | None,
    against: str | None,
    port: int,
    opens_browser: bool,
) -> None:
    """Serve the explorer until Ctrl-C; raise UserError if the input is wrong."""
    require_server()
    if trace is not None:
        if target is not None or settings:
            raise InputError("--from takes the spec and its constants from the trace: leave out SPEC and --set")
        replay = replayed(trace, spec_file)
        variant = _variant_of_trace(replay)
        start = _start(replay, trace)
    else:
        if target is None:
            raise InputError("name a spec or a trace: python -m checker explore SPEC, or explore --from TRACE")
        if spec_file is not None:
            raise InputError("--spec belongs to --from: name the file itself, as in explore path/to/my_spec.py")
        variant, start = variant_of(target, settings), Address()
    variants = (variant,) if against is None else (variant, sibling_of(against, variant))
    session = ExplorerSession(variants, start)

    def announce(address: str) -> None:
        names = " beside ".join(printable(each.name) for each in variants)
        print(f"exploring {names}\n{address}\nCtrl-C ends the explorer", flush=True)

    serve(session, port=port, opens_browser=opens_browser, announce=announce)


def _variant_of_trace(replay: Counterexample) -> Variant:
    """Return the variant of a trace, with the constants and the fairness of the trace."""
    origin, spec = replay.origin, type(replay.spec)
    entry = registry.select_spec(origin.target)
    scenario = next((scenario for scenario in entry.scenarios if scenario.name == origin.scenario), None)
    # The promises of the spec that the trace does not have are removed.
    fair = {**dict.fromkeys(spec.declared_fairness), **replay.spec.fairness}
    return Variant(
        origin.name,
        origin.target,
        spec,
        origin.scenario,
        dict(origin.constants),
        fair,
        replay.description,
        properties_to_check(scenario) if scenario is not None else None,
    )


def _start(replay: Counterexample, path: Path) -> Address:
    """Return the address of the end of a trace."""
    steps = replay.violation.trace
    if len(steps) > MOST_STEPS:
        raise InputError(f"{path} has {len(steps):,} states: the explorer takes at most {MOST_STEPS:,} steps")
    return address_of(replay.spec, steps)
