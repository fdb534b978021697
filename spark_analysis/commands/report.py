"""The command `report`."""

from __future__ import annotations

from typing import Annotated

from checker.cli.declaration import option, refuse_options
from checker.cli.options import JsonFile, Master, SearchStates, SpecFile, WalkFolder
from traces.storage import Location


def report(
    folder: WalkFolder,
    out: Annotated[
        Location | None, option(metavar="DIR", help="The folder or URL for the report (default: DIR/report).")
    ] = None,
    json: JsonFile = "",
    master: Master = None,
    max_states: SearchStates = 2_000_000,
    exact: Annotated[
        bool,
        option(
            "--exact",
            help="Compute exact probabilities for configurations of up to 100,000 states (default: up to 2,000).",
        ),
    ] = False,
    splitting: Annotated[
        int | None,
        option(
            min=24,
            max=10**7,
            metavar="N",
            help="Estimate the probability of violations that fewer than 100 walks show, by importance splitting with "
            "N walks for each level (default: none).",
        ),
    ] = None,
    compare: Annotated[
        Location | None,
        option(
            metavar="OTHER",
            help="Compare with an earlier report: its report.json, or the folder of the report or of its walks.",
        ),
    ] = None,
    against: Annotated[
        list[Location] | None,
        option(
            metavar="OTHER",
            help="Show a report on a related spec beside this one: its report.json, or the folder of the report or of "
            "its walks (repeatable).",
        ),
    ] = None,
    history: Annotated[
        Location | None,
        option(
            metavar="FILE",
            help="Append the rates of this run to a file of JSON lines, and show the trend over its runs.",
        ),
    ] = None,
    sql: Annotated[
        str,
        option(
            metavar="QUERY",
            help="Print the result of a SQL query over the tables of the walks instead of a report (extra sql).",
        ),
    ] = "",
    spec: SpecFile = None,
) -> int:
    """Analyse random walks: violation rates, causes, counterexamples.

    The report shows how likely and how soon each property is violated, under which settings and why. The command
    writes an HTML page with counterexamples, report.json and causes.dot.

    Exit status: 0 only expected violations, 1 an unexpected violation, 2 wrong input or damaged walks, 3 missing walks.
    """
    from spark_analysis.session import require_arrow

    require_arrow()
    from spark_analysis.commands.report_walks import query_walks_of, report_walks

    if sql:
        refuse_options("a query makes no report", but=("--sql", "--spec", "--json"))
        return query_walks_of(folder, spec, sql, json)

    return report_walks(
        folder,
        spec,
        out=out,
        json_name=json,
        master=master,
        max_states=max_states,
        exact=exact,
        splitting=splitting or 0,
        compare=compare,
        against=against or (),
        history=history,
    )
