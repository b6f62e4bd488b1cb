# SPDX-License-Identifier: BSD-3-Clause
"""Starts the processes of a job's ranks, waits for them and ends them.

Needs nothing but the standard library and nothing of Stretto: `lab/` starts ranks with it as well.
"""

from .job import Job as Job
from .job import forward_death as forward_death
