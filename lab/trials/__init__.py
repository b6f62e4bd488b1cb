# SPDX-License-Identifier: BSD-3-Clause
"""Trials: jobs of Stretto in the lab with injected failures, and checks of their ranks."""
