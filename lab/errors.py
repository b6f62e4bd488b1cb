# SPDX-License-Identifier: BSD-3-Clause
"""What went wrong, in words for the user."""


class LabError(Exception):
    """Ends a command with its message and exit status 1."""
