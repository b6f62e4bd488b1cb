# SPDX-License-Identifier: BSD-3-Clause
# Where ccache is installed, it compiles, unless a launcher was given.  Headers compiled ahead need its
# sloppiness; what it keeps is of use to other clones, too.
find_program(STRETTO_CCACHE ccache)
mark_as_advanced(STRETTO_CCACHE)
if(STRETTO_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${STRETTO_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()
