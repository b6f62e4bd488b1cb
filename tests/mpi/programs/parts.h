/* SPDX-License-Identifier: BSD-3-Clause */
/* The parts of the program `served`. */
#pragma once

#include "check.h"

void collectives(const Ranks *of);
void barriers(const Ranks *of);
void types(const Ranks *of);
void layouts(const Ranks *of);
void operations(const Ranks *of);
void requests(const Ranks *of);
void persistent(const Ranks *of);
