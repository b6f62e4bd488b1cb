#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Rates of messages with deep queues, beside other libraries, in an environment of its own."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path.append(str(HERE.parents[1]))

from environment import enter  # noqa: E402

if __name__ == "__main__":
    enter(HERE)
    from deep_queues import main

    sys.exit(main())
