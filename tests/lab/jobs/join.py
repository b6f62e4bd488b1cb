# SPDX-License-Identifier: BSD-3-Clause
"""Joins a job and says how that ended.

Arguments RANK:WHAT are for one rank: NAME=VALUE sets a variable, late=SECONDS has it come later,
absent has it not come at all.
"""

from __future__ import annotations

import os
import sys
import time

import stretto

mine = os.environ["STRETTO_RANK"]
for each in sys.argv[1:]:
    rank, _, what = each.partition(":")
    if rank != mine:
        continue
    if what == "absent":
        print("absent")
        sys.exit()
    name, _, value = what.partition("=")
    if name == "late":
        time.sleep(float(value))
    else:
        os.environ[name] = value
if "SAY" in os.environ:
    print(os.environ["SAY"])
try:
    stretto.init().finalize()
    print("joined")
except stretto.Error as error:
    print(type(error).__name__, error)
