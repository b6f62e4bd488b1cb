# SPDX-License-Identifier: BSD-3-Clause
# What `cmake --install` and the wheel put in place: library, header, CMake package, pkg-config file.
# All paths in them are relative to where they lie, so that an installed tree can be moved.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

if(SKBUILD)
  # A wheel is a zip and has no symbolic links.  The library lies under the name that programs look
  # for at run time, libstretto.so.0; in the place of the link that -lstretto finds lies a linker
  # script.
  set(CMAKE_INSTALL_LIBDIR lib)
  set_property(TARGET stretto PROPERTY VERSION)
  set(namelink NAMELINK_SKIP)
endif()

set(STRETTO_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/stretto)
# From the pkg-config file up to the prefix: "../.." for lib/pkgconfig.
file(RELATIVE_PATH STRETTO_PC_TO_PREFIX
  /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" STRETTO_PC_TO_PREFIX "${STRETTO_PC_TO_PREFIX}")

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/strettoConfig.cmake.in
  ${PROJECT_BINARY_DIR}/strettoConfig.cmake INSTALL_DESTINATION ${STRETTO_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/strettoConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
configure_file(${PROJECT_SOURCE_DIR}/cmake/stretto.pc.in ${PROJECT_BINARY_DIR}/stretto.pc @ONLY)

install(TARGETS stretto EXPORT strettoTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} ${namelink})
if(SKBUILD)
  get_target_property(soversion stretto SOVERSION)
  file(WRITE ${PROJECT_BINARY_DIR}/linker_script/libstretto.so
    "/* GNU ld script */ INPUT(libstretto.so.${soversion})\n")
  install(FILES ${PROJECT_BINARY_DIR}/linker_script/libstretto.so
    DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
# Beside libstretto, which it looks for where it lies itself.  Nobody links it, so the CMake package
# does not name it.
install(TARGETS stretto_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(STRETTO_CUDA_MODULE)
  install(FILES ${STRETTO_CUDA_MODULE} DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(EXPORT strettoTargets NAMESPACE stretto:: DESTINATION ${STRETTO_CMAKE_DIR})
install(FILES ${PROJECT_BINARY_DIR}/strettoConfig.cmake
  ${PROJECT_BINARY_DIR}/strettoConfigVersion.cmake DESTINATION ${STRETTO_CMAKE_DIR})
install(FILES ${PROJECT_BINARY_DIR}/stretto.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES
  ${PROJECT_SOURCE_DIR}/include/stretto/communicators.h
  ${PROJECT_SOURCE_DIR}/include/stretto/nonblocking.h
  ${PROJECT_SOURCE_DIR}/include/stretto/embedding.h
  ${PROJECT_SOURCE_DIR}/include/stretto/info.h
  ${PROJECT_SOURCE_DIR}/include/stretto/stall.h
  ${PROJECT_SOURCE_DIR}/include/stretto/phases.h
  ${PROJECT_SOURCE_DIR}/include/stretto/waiting.h
  ${PROJECT_SOURCE_DIR}/include/stretto/stretto.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/stretto)
