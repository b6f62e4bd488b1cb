#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Times the Intel MPI Benchmarks with and without Stretto, in an environment of its own."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path += [str(HERE.parents[1] / name) for name in ("", "peers", "hosts")]

from environment import enter  # noqa: E402

if __name__ == "__main__":
    enter(HERE)
    from intel_benchmarks import main

    sys.exit(main())
