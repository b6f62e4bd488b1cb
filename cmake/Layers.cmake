# SPDX-License-Identifier: BSD-3-Clause
# A folder of src/ is a layer and a target.  A layer sees the headers of the layers it names and no
# others, so that an include which points upwards does not build.

set(STRETTO_WARNINGS -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wsign-compare)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 sees overlapping copies in "text" + std::to_string(...) where there are none.
  list(APPEND STRETTO_WARNINGS -Wno-restrict)
endif()

# Warnings are errors in the build that users get, which all of the code goes through.  In instrumented
# code GCC warns of what is not there, as its manual says.
set(STRETTO_STRICT "")
set(strict ${STRETTO_WERROR})
if(STRETTO_WERROR STREQUAL "TESTED")
  set(strict OFF)
  set(version ${CMAKE_CXX_COMPILER_VERSION})
  if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND version VERSION_GREATER_EQUAL 12 AND version VERSION_LESS 17)
     OR (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND version VERSION_GREATER_EQUAL 15 AND version VERSION_LESS 23))
    set(strict ON)
  endif()
endif()
if(strict AND NOT STRETTO_SANITIZE)
  set(STRETTO_STRICT -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # GCC 12's <algorithm> calls what it declares deprecated itself, and Clang says so from 17 on.
  list(APPEND STRETTO_STRICT -Wno-deprecated-declarations)
endif()

option(STRETTO_TOGETHER "Compile headers ahead, and several files as one where that is faster" ON)

# What code is compiled with that runs a few times in a job, and not in each call: GCC then takes two
# thirds of the time.
set(STRETTO_COLD $<$<CONFIG:Release>:-O1>)

# stretto_layer(NAME [PURE] [COLD] [TOGETHER] USES layer... SOURCES file...)
#
# PURE: functions of their arguments, which neither see memory that ranks share nor bytes of another
# process.  With STRETTO_PURE_FROM such a layer compiles nothing: its objects are those of another build.
#
# Headers are included as "layer/file.hpp".  Each layer's folder is reached through a link in the
# build tree that holds only that folder, never through src/ itself.
function(stretto_layer name)
  cmake_parse_arguments(ARG "PURE;COLD;TOGETHER" "" "USES;SOURCES" ${ARGN})
  set(view "${CMAKE_BINARY_DIR}/layers/${name}")
  file(MAKE_DIRECTORY "${view}")
  file(CREATE_LINK "${CMAKE_CURRENT_SOURCE_DIR}" "${view}/${name}" SYMBOLIC)
  set_property(GLOBAL APPEND PROPERTY STRETTO_LAYERS ${name})
  set(views "${view}")
  foreach(layer IN LISTS ARG_USES)
    list(APPEND views $<TARGET_PROPERTY:stretto_${layer},INTERFACE_INCLUDE_DIRECTORIES>)
  endforeach()
  if(ARG_PURE AND STRETTO_PURE_FROM)
    file(STRINGS "${STRETTO_PURE_FROM}/objects/Release/${name}.txt" objects)
    file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/nothing.cpp" CONTENT "")
    add_library(stretto_${name} OBJECT "${CMAKE_BINARY_DIR}/nothing.cpp")
    target_sources(stretto_${name} INTERFACE ${objects})
    target_include_directories(stretto_${name} PUBLIC ${views})
    return()
  endif()
  add_library(stretto_${name} OBJECT ${ARG_SOURCES})
  target_include_directories(stretto_${name} PUBLIC ${views})
  file(GENERATE OUTPUT "${CMAKE_BINARY_DIR}/objects/$<CONFIG>/${name}.txt"
    CONTENT "$<JOIN:$<TARGET_OBJECTS:stretto_${name}>,\n>\n")
  set(options -ffp-contract=off)
  set(family layers)
  if(ARG_COLD)
    list(APPEND options ${STRETTO_COLD})
    set(family cold_layers)
  endif()
  target_compile_options(stretto_${name} PRIVATE ${STRETTO_WARNINGS} ${STRETTO_STRICT} ${options})
  if(ARG_PURE AND NOT STRETTO_SANITIZE_ALL)
    string(PREPEND family pure_)
  endif()
  stretto_sanitize(stretto_${name} ${family})
  stretto_precompile(stretto_${name} ${family} ${options})
  if(ARG_TOGETHER)
    stretto_compile_together(stretto_${name})
  endif()
endfunction()

set(STRETTO_STANDARD_HEADERS <algorithm> <array> <atomic> <chrono> <cstdint> <cstring> <functional> <map>
  <memory> <mutex> <numeric> <optional> <random> <span> <string> <thread> <utility> <vector>)

# stretto_precompile(TARGET FAMILY option... [HEADERS header...])
#
# Half of what a file takes to compile are headers of the standard library.  They are compiled once for
# each family of targets that have the same options: programs, that is tests, and layers.  A build with
# STRETTO_TOGETHER=OFF compiles layers without: it shows that every file includes what it needs.
function(stretto_precompile target family)
  cmake_parse_arguments(ARG "" "" "HEADERS" ${ARGN})
  get_target_property(sources ${target} SOURCES)
  if(STRETTO_FUZZ OR sources MATCHES "\\.c(;|$)" # C cannot share them
     OR (family MATCHES "layers" AND NOT STRETTO_TOGETHER))
    return()
  endif()
  set(common stretto_headers_of_${family})
  if(NOT TARGET ${common})
    file(WRITE "${CMAKE_BINARY_DIR}/${common}.cpp" "")
    add_library(${common} OBJECT "${CMAKE_BINARY_DIR}/${common}.cpp")
    if(family STREQUAL "programs")
      set_target_properties(${common} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${common} PRIVATE -fPIE)
    endif()
    target_compile_options(${common} PRIVATE ${ARG_UNPARSED_ARGUMENTS})
    stretto_sanitize(${common} ${family})
    target_precompile_headers(${common} PRIVATE ${STRETTO_STANDARD_HEADERS} ${ARG_HEADERS})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${common})
  stretto_allow_precompiled_warnings(${target})
endfunction()

# stretto_precompile_alone(TARGET [header...])
#
# The same for a target that shares its options with no other.
function(stretto_precompile_alone target)
  if(STRETTO_TOGETHER AND NOT STRETTO_FUZZ)
    target_precompile_headers(${target} PRIVATE ${STRETTO_STANDARD_HEADERS} ${ARGN})
    stretto_allow_precompiled_warnings(${target})
  endif()
endfunction()

# GCC 12 warns of the standard library's own lines in what was compiled ahead.
function(stretto_allow_precompiled_warnings target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -Wno-array-bounds -Wno-stringop-overflow)
  endif()
endfunction()

# stretto_compile_together(TARGET)
#
# Compiles several files of a target as one: what they include takes most of their time, so all of it
# takes a third.  For what includes much, and where no call spends its time: what the compiler makes of
# a loop should depend on its own file.  Names of one file must differ from those of its neighbours;
# and that each includes what it needs shows without this (make test-full).
function(stretto_compile_together target)
  if(STRETTO_TOGETHER AND NOT STRETTO_FUZZ)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

# Callers in C may give any number as a dtype, an op or a mode.  The library looks at it to refuse it,
# which is no mistake, though the language leaves open what an enumeration then holds.
function(stretto_takes_any_number target)
  if(STRETTO_SANITIZE MATCHES undefined)
    target_compile_options(${target} PRIVATE -fno-sanitize=enum)
  endif()
endfunction()

# stretto_sanitize(TARGET [FAMILY])
#
# All of the library, or without STRETTO_SANITIZE_ALL all but pure layers: they take long to compile.
# What programs do themselves, that is tests, is not looked at for undefined behaviour, but only what
# they call: it takes half of their compilation.
function(stretto_sanitize target)
  if(STRETTO_SANITIZE AND NOT ARGN MATCHES "^pure_")
    target_compile_options(${target} PRIVATE -fsanitize=${STRETTO_SANITIZE}
      -fno-omit-frame-pointer -fno-sanitize-recover=all)
    if("programs" IN_LIST ARGN AND STRETTO_SANITIZE MATCHES undefined)
      target_compile_options(${target} PRIVATE -fno-sanitize=undefined)
    endif()
    if(STRETTO_SANITIZE MATCHES undefined)
      # It opens a pipe to look at an object, so that a rank without free descriptors seems to be wrong.
      target_compile_options(${target} PRIVATE -fno-sanitize=vptr)
      if(NOT STRETTO_SANITIZE_ALL) # checks of each pointer; a null one ends the program anyway
        target_compile_options(${target} PRIVATE -fno-sanitize=null,object-size)
      endif()
    endif()
    target_link_options(${target} PRIVATE -fsanitize=${STRETTO_SANITIZE})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # The doorbell's fence orders a sleeper's look, no data: what TSan does not see does not matter.
      target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-tsan>)
    endif()
  endif()
endfunction()
