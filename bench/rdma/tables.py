# SPDX-License-Identifier: BSD-3-Clause
"""What rdma_bench said, as tables in Markdown.

Contestants: UCX with its own settings, UCX told by settings not to copy and not to keep
registrations, the same with at most two slices ahead of their flags, or with flags put behind a
fence, and verbs."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sizes import size_text

Record = dict[str, int | str]
Of = str | Callable[[Record], float]
STREAMS = ("up front", "pipelined", "in turn")
DEFAULT, TOLD = "default", "told"  # settings of UCX


@dataclass(frozen=True)
class Contestant:
    name: str
    way: str
    settings: tuple[str, ...]


UCX = Contestant("UCX", "ucx", (DEFAULT,))
UCX_TOLD = Contestant("UCX, told", "ucx", (TOLD,))
UCX_TWO = Contestant("told, two ahead", "ucx, two ahead", (TOLD,))
UCX_FENCE = Contestant("told, fence", "ucx, fence", (TOLD,))
VERBS = Contestant("verbs", "verbs", (DEFAULT, TOLD))
ONE_SLICE = (UCX, UCX_TOLD, VERBS)
ALL = (UCX, UCX_TOLD, UCX_TWO, UCX_FENCE, VERBS)


def quantile(values: Sequence[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[round(share * (len(ordered) - 1))]


def number(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def spread(values: Sequence[float]) -> str:
    """The median, and between what eight of ten lie."""
    low, high = quantile(values, 0.1), quantile(values, 0.9)
    return f"{number(statistics.median(values))} ({number(low)} to {number(high)})"


def count(values: Sequence[float]) -> str:
    """Of what ought to be the same in all rounds: the median, and the extremes if there are any."""
    least, median, most = min(values), statistics.median(values), max(values)
    return f"{median:.0f}" if least == most else f"{median:.0f} ({least:.0f} to {most:.0f})"


def ms(name: str) -> Callable[[Record], float]:
    return lambda each: each[name] / 1000


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    rule = ["---:"] * len(header)
    return "\n".join(f"| {' | '.join(line)} |" for line in [header, rule, *rows])


class Records:
    def __init__(self, records: Sequence[Record]) -> None:
        self.records = records

    def sizes(self, what: str) -> list[tuple[int, int]]:
        """Numbers and bytes of slices."""
        of = (each for each in self.records if each["what"] == what)
        return list(dict.fromkeys((each["slices"], each["bytes"]) for each in of))

    def values(self, what: str, size: tuple[int, int], of: Of, who: Contestant) -> list[float]:
        return [
            each[of] if isinstance(of, str) else of(each)
            for each in self.records
            if (each["what"], each["way"], each["slices"], each["bytes"]) == (what, who.way, *size)
            and each["settings"] in who.settings
        ]

    def rows(
        self, what: str, contestants: Sequence[Contestant], columns: Sequence[tuple[Of, bool]]
    ) -> Iterable[list[str]]:
        """`columns`: what, and whether it is counted rather than measured."""
        for size in self.sizes(what):
            for who in contestants:
                row = [size_text(size[1]), who.name]
                for of, counted in columns:
                    row.append((count if counted else spread)(self.values(what, size, of, who)))
                yield row


def registration(all_: Records) -> str:
    columns: list[tuple[Of, bool]] = []
    for turn in ("first", "again"):
        columns += [(f"{turn}_us", False), (f"{turn}_calls", True), (f"{turn}_ends", True)]
    header = ["bytes", "by", "first, us", "ibv_reg_mr", "ibv_dereg_mr", "again, us", "ibv_reg_mr",
              "ibv_dereg_mr"]  # fmt: skip
    return table(header, all_.rows("registration", ONE_SLICE, columns))


def slices(all_: Records) -> str:
    def requests(each: Record) -> float:
        return each["writes"] + each["sends"]

    columns = [(ms("payload_us"), False), (ms("flag_us"), False), ("packets", True),
               (requests, True), ("from_buffer", True), ("from_elsewhere", True)]  # fmt: skip
    header = ["bytes", "by", "payload there, ms", "flag there, ms", "packets", "requests",
              "bytes from the buffer", "from copies"]  # fmt: skip
    return table(header, all_.rows("slice", ONE_SLICE, columns))


def silence(all_: Records) -> str:
    columns = [(ms("payload_us"), False), ("flag_in_silence", True)]
    header = ["bytes", "by", "payload there, ms", "flags without the sender"]
    return table(header, all_.rows("silent", ONE_SLICE, columns))


def unregistered(all_: Records) -> str:
    columns = [("registrations", True), ("from_buffer", True), ("from_elsewhere", True)]
    header = ["bytes", "by", "ibv_reg_mr", "bytes from the buffer", "from copies"]
    return table(header, all_.rows("unregistered", (UCX, UCX_TOLD), columns))


def streams(all_: Records, of: Of, counted: bool = False, which: Sequence[str] = STREAMS) -> str:
    rows = []
    for size in all_.sizes(STREAMS[0]):
        for stream in which:
            row = [f"{size[0]} × {size_text(size[1])}", stream]
            for who in ALL:
                row.append((count if counted else spread)(all_.values(stream, size, of, who)))
            rows.append(row)
    return table(["slices", "registration", *(who.name for who in ALL)], rows)


def behind(each: Record) -> float:
    """The mean of the stream's slices."""
    return 100 * each["flag_behind_us"] / each["total_us"]


def overlapped(each: Record) -> float:
    return 100 * each["overlapped_us"] / max(each["registering_us"], 1)


def results(all_: Records) -> dict[str, str]:
    """The tables of the page, by their titles."""
    return {
        "Registration": registration(all_),
        "One slice": slices(all_),
        "A stream, ms until the last flag": streams(all_, ms("total_us")),
        "How far flags come behind their payloads, percent of the stream's time": streams(
            all_, behind
        ),
        "Percent of the time of registrations in which the slice before was on its way": streams(
            all_, overlapped, which=STREAMS[1:]
        ),
    }


def details(all_: Records) -> dict[str, str]:
    return {
        "The sender calls nothing after it has sent": silence(all_),
        "UCX, from memory that is not registered": unregistered(all_),
        "Slices whose first request was posted when the call returned": streams(
            all_, "posted_first", counted=True
        ),
    }


def text(tables: dict[str, str]) -> str:
    return "\n\n".join(f"**{title}**\n\n{each}" for title, each in tables.items())
