#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Fetches PyTorch into a folder of its own, unless it is there.  If it cannot be had, says what to do.
#
#     tools/torch.sh TARGET PYTHON FOLDER REQUIREMENT

target=$1 python=$2 folder=$3 wanted=$4
if [ "$(cat "$folder/requirement" 2> /dev/null)" = "$wanted" ]; then
    exit 0
fi
echo "installing $wanted into $folder"
rm -rf "$folder"
# expecttest: PyTorch's own tests import it.
if "$python" -m pip install --quiet --no-compile --target "$folder" "$wanted" expecttest; then
    echo "$wanted" > "$folder/requirement"
else
    rm -rf "$folder"
    echo "Stretto: make $target SKIPPED, no test of stretto.torch has run: pip does not find $wanted." >&2
    echo "Stretto: pytorch.org names the index of PyTorch's builds for CPUs; put it into PIP_EXTRA_INDEX_URL" >&2
    exit 1
fi
