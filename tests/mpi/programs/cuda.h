/* SPDX-License-Identifier: BSD-3-Clause */
/* What cuda.c has. */
#pragma once

#include <stddef.h>
#include <stdint.h>

void *device_alloc(size_t bytes);
int cuMemcpy(uintptr_t to, uintptr_t from, size_t bytes);
