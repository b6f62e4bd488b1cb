# SPDX-License-Identifier: BSD-3-Clause
"""The metrics of a job, from what its ranks have recorded of their calls.

Names, labels and buckets are those of NCCL's inspector, with stretto_ in place of nccl_, as far as
it has them; it has none for late ranks.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import stretto
from stretto.bandwidth import BUS_FACTOR
from stretto.metrics.text import Family
from stretto.reports.calls import KEYS, Site, sites
from stretto.reports.lateness import late_by

Labels = tuple[tuple[str, str], ...]

_COLLECTIVES = {
    "allreduce": "AllReduce", "allgather": "AllGather", "reduce_scatter": "ReduceScatter",
    "broadcast": "Broadcast", "reduce": "Reduce", "gather": "Gather", "scatter": "Scatter",
    "alltoall": "AlltoAll", "barrier": "Barrier",
}  # fmt: skip
_NONBLOCKING = "nonblocking "
_JOB_IDS = ("SLURM_JOB_ID", "SLURM_JOBID", "PBS_JOBID", "LSB_JOBID")


def bucket(size: int) -> str:
    """The range of sizes that this one is in, as "8-9MB" (powers of 1024)."""
    if size < 1 << 10:
        return "0-1KB"
    shift, unit = max((s, u) for s, u in ((10, "KB"), (20, "MB"), (30, "GB")) if size >= 1 << s)
    whole = size >> shift
    return f"{whole}-{whole + 1}{unit}"


@dataclass
class Sums:
    """Of the calls of one kind and size that a rank has ended since the last look."""

    calls: int = 0
    nanoseconds: int = 0
    bytes: int = 0


@dataclass
class Arrivals:
    """Of a rank in one communicator, at the calls since the last look that were compared."""

    calls: int = 0
    late: float = 0.0
    """Seconds, of all these calls."""
    waiting: float = 0.0

    def add(self, calls: int, late: float, waiting: float) -> None:
        self.calls += calls
        self.late += calls * late
        self.waiting += calls * waiting


class Measured:
    """Looks at the records of a job now and then, and says what happened in between.

    environment: of the process, for the id of the job that a scheduler has given it.
    """

    def __init__(self, environment: dict[str, str] | None = None):
        variables = os.environ if environment is None else environment
        known = (variables[name] for name in _JOB_IDS if variables.get(name))
        self._common = {"version": stretto.__version__, "slurm_job_id": next(known, "unknown")}
        self._before: dict[tuple[Any, ...], tuple[int, int]] = {}
        self._ended: dict[Labels, int] = defaultdict(int)
        self._last: dict[Labels, int] = defaultdict(int)
        self._compared: dict[tuple[Any, ...], int] = {}

    def look(
        self, ranks: list[dict[str, Any]], hosts: Collection[str] | None = None
    ) -> list[Family]:
        """The metrics since the last look.

        ranks: records by `_core.read_calls`, with all calls since the last look, or more.
        hosts: those whose ranks' metrics are wanted; all ranks are compared.  None: all.
        """
        self._hosts = hosts
        self._nodes = len({each["host"] for each in ranks})
        bandwidth = Family(
            "stretto_bus_bandwidth_gbs", "gauge", "Bus bandwidth of blocking collectives in GB/s"
        )
        time = Family(
            "stretto_collective_exec_time_microseconds",
            "gauge",
            "Mean time that a rank spent in a collective in microseconds, waiting included",
        )
        ended = Family("stretto_collectives_total", "counter", "Collectives that a rank has ended")
        skew = Family(
            "stretto_arrival_skew_seconds",
            "gauge",
            "Mean time by which a rank came to a collective after the first rank",
        )
        wait = Family(
            "stretto_wait_seconds",
            "gauge",
            "Mean time that a rank waited in a collective for ranks that came later",
        )
        late = Family(
            "stretto_late_rank_total", "counter", "Collectives to which no rank came later"
        )
        found = sites(ranks)
        for labels, sums, factor in self._by_size(found):
            time.add(labels, sums.nanoseconds / sums.calls / 1e3)
            if factor and sums.nanoseconds and sums.bytes:
                bandwidth.add(labels, factor * sums.bytes / sums.nanoseconds)
        for labels, calls in self._totals(self._ended):
            ended.add(labels, calls)
        for labels, arrivals in self._by_rank(found):
            skew.add(labels, arrivals.late / arrivals.calls)
            wait.add(labels, arrivals.waiting / arrivals.calls)
        for labels, calls in self._totals(self._last):
            late.add(labels, calls)
        return [bandwidth, time, ended, skew, wait, late]

    def _labels(self, site: Site, about: dict[str, Any]) -> dict[str, str]:
        return {
            **self._common,
            "node": about["host"],
            "rank": str(about["rank"]),
            "comm_name": site["communicator_name"],
            "n_nodes": str(self._nodes),
            "nranks": str(site["size"]),
        }

    def _wanted(self, about: dict[str, Any]) -> bool:
        return self._hosts is None or about["host"] in self._hosts

    @staticmethod
    def _totals(counted: dict[Labels, Any]) -> list[tuple[dict[str, str], float]]:
        """Counters never go back, so they stay when a rank is silent."""
        return [(dict(labels), value) for labels, value in counted.items()]

    def _by_size(self, found: list[Site]) -> list[tuple[dict[str, str], Sums, float]]:
        """Calls by their labels, and the factor of their bus bandwidth, or 0 if time in the call is
        not the time of the call."""
        sums: dict[Labels, tuple[Sums, float]] = {}
        for site in found:
            overlaps = site["collective"].startswith(_NONBLOCKING)
            name = site["collective"].removeprefix(_NONBLOCKING).removesuffix("v")
            factor = 0.0 if overlaps else BUS_FACTOR[name](site["size"])
            for each in site.ranks:
                calls, nanoseconds = self._since_last_look(each.about["rank"], site, each.kind)
                if not calls or not self._wanted(each.about):
                    continue
                by_rank = self._labels(site, each.about)
                self._ended[tuple(by_rank.items())] += calls
                labels = {
                    **by_rank,
                    "collective": _COLLECTIVES.get(name, name),
                    "message_size": bucket(site["bytes"]),
                    "nonblocking": "true" if overlaps else "false",
                }
                sum_, _ = sums.setdefault(tuple(labels.items()), (Sums(), factor))
                sum_.calls += calls
                sum_.nanoseconds += nanoseconds
                sum_.bytes += calls * site["bytes"]
        return [(dict(labels), sum_, factor) for labels, (sum_, factor) in sums.items()]

    def _since_last_look(self, rank: int, site: Site, kind: dict[str, Any]) -> tuple[int, int]:
        """Calls, and nanoseconds in them."""
        key = (rank, *(site[name] for name in KEYS))
        before = self._before.get(key, (0, 0))
        now = self._before[key] = (kind["complete"], kind["inside_ns"])
        return now[0] - before[0], max(0, now[1] - before[1])

    def _by_rank(self, found: list[Site]) -> list[tuple[dict[str, str], Arrivals]]:
        sums: dict[Labels, Arrivals] = defaultdict(Arrivals)
        for site in map(self._not_yet_compared, found):
            lateness = site.lateness()
            if lateness is None:
                continue
            late = late_by(site.came).mean(axis=0) * 1e-9
            for each, seconds, of_rank in zip(site.ranks, late, lateness, strict=True):
                if not self._wanted(each.about):
                    continue
                labels = tuple(self._labels(site, each.about).items())
                stride = each.kind["stride"]  # the records keep a call of so many
                sums[labels].add(stride * len(site.numbers), float(seconds), of_rank.waiting)
                self._last[labels] += stride * of_rank.last
        return [(dict(labels), each) for labels, each in sums.items()]

    def _not_yet_compared(self, site: Site) -> Site:
        """The site with the calls that no look before this one has compared."""
        before = self._compared.get(site.key, -1)
        new = np.array([number > before for number in site.numbers], np.bool_)
        numbers = [number for number in site.numbers if number > before]
        if numbers:
            self._compared[site.key] = numbers[-1]
        return replace(site, numbers=numbers, came=site.came[new], left=site.left[new])
