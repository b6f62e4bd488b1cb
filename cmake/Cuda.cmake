# SPDX-License-Identifier: BSD-3-Clause
# The kernels for GPUs: a module of their own beside the library, which loads it at run time.  It is built
# where nvcc is and works; the package is complete without.
find_program(STRETTO_NVCC nvcc HINTS ENV CUDA_HOME PATHS /usr/local/cuda PATH_SUFFIXES bin
  DOC "CUDA's compiler, for the kernels; empty: none")

# The code that nvcc makes of those that we want, and the oldest of them also as PTX, for others.
function(stretto_nvcc_options options)
  set(nvcc_options -std=c++20 -fmad=false --allow-unsupported-compiler)
  execute_process(COMMAND ${STRETTO_NVCC} --list-gpu-code OUTPUT_VARIABLE codes ERROR_QUIET)
  string(REGEX MATCHALL "sm_[0-9]+" codes "${codes}")
  foreach(number 80 90 100)
    if(sm_${number} IN_LIST codes)
      if(NOT oldest)
        set(oldest ${number})
      endif()
      list(APPEND nvcc_options -gencode arch=compute_${number},code=sm_${number})
    endif()
  endforeach()
  if(oldest)
    list(APPEND nvcc_options -gencode arch=compute_${oldest},code=compute_${oldest})
    file(WRITE ${CMAKE_BINARY_DIR}/nvcc_works.cu "__global__ void kernel(int *word) { *word = 1; }\n")
    execute_process(COMMAND ${STRETTO_NVCC} ${nvcc_options} -fatbin -o nvcc_works.fatbin nvcc_works.cu
      WORKING_DIRECTORY ${CMAKE_BINARY_DIR} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE why)
  else()
    set(failed TRUE)
    set(why "it makes code for none of our GPUs (sm_80 and newer)")
  endif()
  if(failed)
    message(WARNING "the library has no kernels for GPUs, as ${STRETTO_NVCC} does not work: ${why}")
    set(nvcc_options "")
  endif()
  set(${options} ${nvcc_options} PARENT_SCOPE)
endfunction()

if(STRETTO_NVCC AND NOT STRETTO_NVCC_OPTIONS)
  stretto_nvcc_options(found)
  set(STRETTO_NVCC_OPTIONS "${found}" CACHE INTERNAL "")
endif()
if(STRETTO_NVCC AND STRETTO_NVCC_OPTIONS)
  set(kernels ${PROJECT_SOURCE_DIR}/src/device/kernels)
  file(GLOB kernel_sources CONFIGURE_DEPENDS ${kernels}/*.inl ${kernels}/*.hpp)
  set(STRETTO_CUDA_MODULE ${CMAKE_BINARY_DIR}/src/api/stretto_cuda.fatbin)
  add_custom_command(OUTPUT ${STRETTO_CUDA_MODULE}
    COMMAND ${STRETTO_NVCC} ${STRETTO_NVCC_OPTIONS} -I${CMAKE_BINARY_DIR}/layers/device -fatbin
      --compress-mode=size -o ${STRETTO_CUDA_MODULE} ${kernels}/kernels.cu
    DEPENDS ${kernels}/kernels.cu ${kernel_sources} COMMENT "Compiling kernels for GPUs" VERBATIM)
  add_custom_target(stretto_cuda_kernels DEPENDS ${STRETTO_CUDA_MODULE})
  add_dependencies(stretto stretto_cuda_kernels)
endif()
