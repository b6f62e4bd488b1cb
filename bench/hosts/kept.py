# SPDX-License-Identifier: BSD-3-Clause
"""Results of many jobs on one number of hosts.  They are kept: a new start continues where the last
one ended."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from cluster import Cluster
from contest import facts
from launching import LaunchError

START, PATIENCE = 180, 4  # seconds for a start; times what is expected, before a job is ended
# What the network is like, once for all jobs: they then choose by the same numbers.
PROFILE = """
import json, stretto
with stretto.init() as comm:
    if comm.rank == 0:
        print(json.dumps(comm.network_profile()))
"""


class Kept:
    """`results`: the settings, facts of the machine as `meta`, the network's `profile`, `rows`."""

    def __init__(self, path: Path, ranks: int, settings: dict[str, Any], anew: bool) -> None:
        self.path, self.ranks = path, ranks
        self.results = {**settings, "meta": None, "profile": None, "rows": []}
        if path.exists() and not anew:
            self.results = json.loads(path.read_text())
            if any(self.results.get(name) != value for name, value in settings.items()):
                sys.exit(f"{path} has other settings: --anew forgets it, --output spares it")
        else:
            self.results["meta"] = {**facts([]), "ranks": ranks}

    def save(self) -> None:
        whole = self.path.with_suffix(".part")
        whole.write_text(json.dumps(self.results, indent=1))
        whole.replace(self.path)

    def profile(self, cluster: Cluster) -> str:
        """The file with the network's profile, which is measured if it is not there."""
        if self.results["profile"] is None:
            code = [sys.executable, "-c", PROFILE]
            (self.results["profile"],) = self.job(cluster, code, START, "thorough")
            self.save()
        path = self.path.with_suffix(".profile")
        path.write_text(json.dumps(self.results["profile"]))
        return str(path)

    def job(
        self, cluster: Cluster, command: list[str], limit: float, profile: str, **settings: str
    ) -> list[dict]:
        """The lines of JSON that a rank on each host prints."""
        settings = {"STRETTO_TUNING_FILE": profile, "STRETTO_AUTOTUNE": "0", **settings}
        passed = [word for name in settings for word in ("--env", f"{name}={settings[name]}")]
        whole = cluster.command("run", "--no-prefix", *passed, *command)
        return list(cluster.lines(whole, {}, limit))


def measure(ranks: Iterable[int], run: Callable[[int], None]) -> bool:
    """On each number of hosts; whether all came to their end."""
    whole = True
    for each in ranks:
        try:
            run(each)
        except LaunchError as error:
            whole = False
            print(f"{each} hosts: {error}", file=sys.stderr)
    return whole


def stored(folder: Path, files: str) -> list[dict]:
    """By rate and number of ranks, all that have rows."""
    found = [json.loads(path.read_text()) for path in folder.glob(files)]
    found = [results for results in found if results["rows"]]
    if not found:
        sys.exit(f"nothing was measured: there is no {folder / files}")
    return sorted(found, key=lambda results: (results["rate"], results["meta"]["ranks"]))


def tell_wrong(found: list[dict]) -> int:
    """Elements that were wrong, of all results."""
    wrong = sum(row["wrong"] for results in found for row in results["rows"])
    if wrong:
        print(f"WRONG: {wrong} elements")
    return wrong
