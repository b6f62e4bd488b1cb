#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Fetches CUDA's compiler from PyPI into a folder of its own, unless it is there:
# FOLDER/nvidia/cu*/bin/nvcc and cuobjdump.  If it cannot be had, says what to do.
#
#     tools/nvcc.sh TARGET PYTHON FOLDER

target=$1 python=$2 folder=$3
wanted="nvidia-cuda-nvcc nvidia-nvvm nvidia-cuda-crt nvidia-cuda-runtime nvidia-cuda-cuobjdump"
works() {
    "$folder"/nvidia/cu*/bin/nvcc --version > /dev/null 2>&1
}
if works; then
    exit 0
fi
echo "installing nvcc into $folder"
rm -rf "$folder"
# shellcheck disable=SC2086 # several packages
if "$python" -m pip install --quiet --no-compile --target "$folder" $wanted && works; then
    exit 0
fi
rm -rf "$folder"
echo "Stretto: make $target SKIPPED, no kernel for GPUs has been compiled: pip does not find $wanted." >&2
exit 1
