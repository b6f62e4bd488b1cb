# SPDX-License-Identifier: BSD-3-Clause
"""Trials: jobs of Stretto in the lab to which something happens, and what becomes of them."""
