# SPDX-License-Identifier: BSD-3-Clause
"""Processes of the ranks of a job, seen to their end.

Needs nothing but the standard library and nothing of Stretto: `lab/` starts ranks with it as well.
"""

from .job import Job as Job
from .job import forward_death as forward_death
