# SPDX-License-Identifier: BSD-3-Clause
"""How `stretto run` waits for ranks and ends them: its package, without the rest of Stretto.

Importing `stretto` would need the library built and NumPy installed, also for root.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "python/stretto/cli/jobs"

_spec = importlib.util.spec_from_file_location(
    "stretto_jobs", FOLDER / "__init__.py", submodule_search_locations=[str(FOLDER)]
)
_jobs = importlib.util.module_from_spec(_spec)
sys.modules["stretto_jobs"] = _jobs  # its modules import one another
_spec.loader.exec_module(_jobs)

Job = _jobs.Job
forward_death = _jobs.forward_death
