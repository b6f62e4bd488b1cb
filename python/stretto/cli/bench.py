# SPDX-License-Identifier: BSD-3-Clause
"""`stretto bench`: collectives, timed on this machine."""

from __future__ import annotations

import platform
import sys
from datetime import datetime, timezone
from typing import Any

import click
from click.core import ParameterSource

import stretto
from stretto import _core
from stretto.bandwidth import BUS_FACTOR
from stretto.cli.catalog import DTYPES, REDUCING
from stretto.cli.cpus import allowed_cores, processor
from stretto.cli.launcher import Options, in_job, launch_again
from stretto.cli.lazy_group import Lazy, LazyGroup
from stretto.cli.measure import Case, measure
from stretto.cli.plot import plot
from stretto.cli.rows import SKEWED, SKEWED_UNITS, TIMES, TIMES_UNITS, Printer
from stretto.cli.skew import SKEW, Skew, clock_of, measure_skewed
from stretto.cli.tables import write_json
from stretto.cli.units import SIZES
from stretto.cli.values import FOLDS
from stretto.data import dtype_named


@click.group(
    cls=LazyGroup,
    lazy={
        "arrival": Lazy(
            "stretto.cli.arrival:arrival",
            "Times allreduces at which ranks arrive at different times.",
        ),
        "matching": Lazy(
            "stretto.cli.matching:matching",
            "Times how receives and messages find one another.",
        ),
        "pairs": Lazy(
            "stretto.cli.pairs:pairs", "Times pairs of ranks that send at the same time."
        ),
    },
    invoke_without_command=True,
    subcommand_metavar="[arrival|matching|pairs [OPTIONS]]",
)
@click.option("-n", "--ranks", type=click.IntRange(1), help="Ranks to start.  [default: 2]")
@click.option("--pin", is_flag=True, help="Keep rank r on core r mod cores.")
@click.option(
    "--sizes",
    type=SIZES,
    default="4:64M",
    show_default=True,
    help="Bytes: 4, 1K, ranges by powers of two (4:64M) or four (4:64M*4), with commas.",
)
@click.option(
    "--algorithms", default="auto", show_default=True, help="Names, with commas; auto: our choice."
)
@click.option(
    "--collective", type=click.Choice(tuple(BUS_FACTOR)), default="allreduce", show_default=True
)
@click.option(
    "--dtype",
    type=click.Choice(tuple(DTYPES)),
    default="float32",
    show_default=True,
)
@click.option(
    "--op",
    type=click.Choice(tuple(FOLDS)),
    default="sum",
    show_default=True,
    help="As far as the type has it (stretto info types).",
)
@click.option("--inplace/--no-inplace", default=False, show_default=True)
@click.option(
    "--buffers",
    type=click.Choice(["malloc", "shared"]),
    default="malloc",
    show_default=True,
    help="Private memory, or memory of alloc() that is read in place.",
)
@click.option(
    "--iters", type=click.IntRange(1), help="Calls of each size.  [default: 0.2 s, 10 to 5000]"
)
@click.option(
    "--skew",
    type=SKEW,
    metavar="KIND:TIME",
    help="Ranks come late: one-late:50ms (rank 1), any-late:50ms (another one in each call), "
    "moving-late:50ms (another one after every 8 calls) or rand-late:50ms (all, up to that).",
)
@click.option("--json", "json_path", metavar="FILE", help="Write the results to FILE (- prints).")
@click.option("--plot", "plot_path", metavar="PNG", help="Draw the results.")
@click.pass_context
def bench(context: click.Context, ranks: int | None, pin: bool, **options: Any) -> None:
    """Times a collective, and checks its results.

    \b
    stretto bench -n 4 --sizes 4:64M --json four.json --plot four.png
    stretto bench -n 8 --algorithms auto,ring,direct --sizes 64K:16M*4 --buffers shared
    stretto bench -n 4 --sizes 4M --algorithms direct,ring --skew one-late:50ms
    stretto bench -n 4 --dtype bfloat16 --op avg
    stretto run -n 2 --pin stretto bench --collective allgather --dtype float64
    mpirun -n 4 stretto bench

    All ranks meet in a barrier, then call the collective once; a call takes as long as its slowest
    rank.  t_min, t_p50, t_p99: smallest, median, 99th percentile over calls.  means: of each rank.
    algbw: bytes / t_p50; busbw: that times what a rank must move at least, in vectors (allreduce
    2(P-1)/P, of parts (P-1)/P, else 1).  probe: nanoseconds to overwrite a
    cache line that the neighbour has just read; compare only results with similar probes.

    With --skew ranks come to each call at different times, as in Proficz' benchmark (2018).
    elapsed: from a rank's own arrival to its own finish, mean over ranks and calls, then of each
    rank; last: from the last arrival to the last finish, the median over calls.  `bench arrival` is
    that benchmark as a whole.

    `bench pairs` times no collective, but pairs of ranks that send messages at the same time.
    `bench matching` times how receives and messages find one another.

    Outside a job it starts its own ranks.  The exit status is 1 if a result is wrong.
    """
    if context.invoked_subcommand:
        refuse_options(context)
        return
    if options["skew"] and options["plot_path"]:
        raise click.UsageError("--plot draws times by size; there is no picture of --skew")
    require_pair(options["collective"], options["dtype"], options["op"])
    if not in_job():
        sys.exit(launch_again("bench", Options(ranks or 2, prefix=False, pin=pin)))
    with stretto.init() as comm:
        if ranks not in (None, comm.size):
            raise click.UsageError(f"-n {ranks} inside a job of {comm.size} ranks")
        rows = run_cases(comm, **options)
    sys.exit(1 if any(row["wrong"] for row in rows) else 0)


def run_cases(
    comm: stretto.Communicator,
    sizes: list[int],
    algorithms: str,
    collective: str,
    dtype: str,
    op: str,
    inplace: bool,
    buffers: str,
    iters: int | None,
    skew: Skew | None,
    json_path: str | None,
    plot_path: str | None,
) -> list[dict[str, Any]]:
    meta = {
        "version": stretto.__version__,
        "ranks": comm.size,
        "collective": collective,
        "dtype": dtype,
        "op": op,
        "inplace": inplace,
        "buffers": buffers,
        "skew": str(skew) if skew else None,
        **surroundings(),
    }
    printer = Printer(comm.rank == 0 and json_path != "-", SKEWED if skew else TIMES)
    printer.begin(headline(meta), SKEWED_UNITS if skew else TIMES_UNITS)
    clock = clock_of(comm) if skew else None
    rows = []
    for size in sizes if collective != "barrier" else [0]:
        for algorithm in split_names(algorithms):
            case = Case(
                collective, algorithm, size, dtype_named(dtype), op, inplace, buffers == "shared"
            )
            rows.append(
                measure_skewed(comm, case, skew, iters, clock)
                if skew and clock
                else measure(comm, case, iters)
            )
            printer.row(rows[-1])
    if comm.rank == 0:
        printer.end(rows)
        if json_path:
            write_json(json_path, {"meta": meta, "rows": rows})
        if plot_path:
            plot(meta, rows, plot_path)
    return rows


def refuse_options(context: click.Context) -> None:
    """Refuses options of the group itself, which its subcommand would not get."""
    for name in context.params:
        if context.get_parameter_source(name) != ParameterSource.DEFAULT:
            raise click.UsageError(
                f"--{name.removesuffix('_path')} stands before {context.invoked_subcommand}, whose "
                f"options come after it: stretto bench {context.invoked_subcommand} --help"
            )


def surroundings() -> dict[str, Any]:
    """The place and time of the measurement."""
    return {
        "cores": len(allowed_cores() or []) or stretto.examine().cores,
        "processor": processor(),
        "system": platform.platform(),
        "when": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }


def headline(meta: dict[str, Any]) -> str:
    return (
        f"{meta['collective']} of {meta['dtype']}"
        + (f", {meta['op']}" if "reduce" in meta["collective"] else "")
        + f", {meta['ranks']} ranks on {meta['cores']} cores, {meta['buffers']} buffers"
        + (", in place" if meta["inplace"] else "")
        + (f", {meta['skew']}" if meta["skew"] else "")
    )


def require_pair(collective: str, dtype: str, op: str) -> None:
    """Before any rank is started."""
    dtype_named(dtype)  # NumPy has it
    able = [each for each in _core.supported()[dtype] if each in FOLDS]
    if collective in REDUCING and op not in able:
        raise click.UsageError(f"{dtype} has no {op}; it has {', '.join(able)}")


def split_names(text: str) -> list[str]:
    """At commas outside parentheses: "ring,segmented_ring(segments=4)"."""
    names, depth = [""], 0
    for letter in text:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            names.append("")
        else:
            names[-1] += letter
    return [name.strip() for name in names if name.strip()]
