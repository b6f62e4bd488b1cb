#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Fails if a function of the library has a static variable that is made under a guard.  If one
# thread makes it while another forks, the child hangs in it: base/lazy.hpp has what to use instead.
#
#     guarded_statics.sh libstretto.so

command -v readelf > /dev/null || exit 77
symbols=$(readelf -sW "$1") || exit 1
echo "$symbols" | grep -q stretto_allreduce || { echo "no symbols in $1"; exit 1; }
# The C++ runtime, which is linked in, has some of its own.
if echo "$symbols" | grep ' OBJECT .* _ZGVZ' | grep -v '_ZGVZN\?St\|get_locale'; then exit 1; fi
