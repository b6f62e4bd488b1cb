# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks of a job have recorded of their calls (docs/report.md), and what it says."""
