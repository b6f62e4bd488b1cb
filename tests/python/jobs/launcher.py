# SPDX-License-Identifier: BSD-3-Clause
"""Starts two ranks as launchers do that say nothing of the job but rank and size.

    launcher.py env|pmi COMMAND...

env: torch.distributed's variables, with a port that all jobs have.  pmi: those of hydra, which
talks with each rank over a socket.  Each rank has a shell of its own around it.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys

RANKS = 2


def main() -> int:
    kind, *command = sys.argv[1:]
    ends, ranks = [], []
    for rank in range(RANKS):
        mine, theirs = socket.socketpair()
        if kind == "env":
            said = {"RANK": rank, "WORLD_SIZE": RANKS, "MASTER_ADDR": "localhost"}
            said["MASTER_PORT"] = 29533
        else:
            said = {"PMI_RANK": rank, "PMI_SIZE": RANKS, "PMI_FD": theirs.fileno()}
        ranks.append(
            subprocess.Popen(
                ["/bin/sh", "-c", '"$@"; exit $?', "sh", *command],
                env={**os.environ, **{name: str(value) for name, value in said.items()}},
                pass_fds=[theirs.fileno()],
            )
        )
        ends += [mine, theirs]
    return max(rank.wait() for rank in ranks)


if __name__ == "__main__":
    sys.exit(main())
