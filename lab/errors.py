# SPDX-License-Identifier: BSD-3-Clause
"""Errors, in words for the user."""


class LabError(Exception):
    """Ends a command with its message and exit status 1."""
