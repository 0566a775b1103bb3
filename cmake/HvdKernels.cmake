# SPDX-License-Identifier: Apache-2.0
# Embeds the GPU kernels in the library: batch.ptx, which the repository keeps packed, for the
# driver of any GPU to compile; and, if nvcc is installed, batch.cu compiled for the GPUs
# that nvcc knows, with which a program starts sooner.
set(kernels ${CMAKE_CURRENT_SOURCE_DIR}/device/kernels)
set(packed ${kernels}/batch.ptx.tar.xz)
file(ARCHIVE_EXTRACT INPUT ${packed} DESTINATION ${CMAKE_CURRENT_BINARY_DIR})
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${packed})
set_source_files_properties(${kernels}/ptx_image.cc PROPERTIES
  COMPILE_DEFINITIONS HVD_KERNELS_PTX="${CMAKE_CURRENT_BINARY_DIR}/batch.ptx"
  OBJECT_DEPENDS ${packed} SKIP_UNITY_BUILD_INCLUSION ON)

set(HVD_KERNEL_COMPILER "")
if(HVD_WITH_NVCC)
  find_program(HVD_NVCC nvcc PATHS /usr/local/cuda/bin DOC "Compiles the kernels for GPUs")
endif()
if(HVD_WITH_NVCC AND HVD_NVCC)
  execute_process(COMMAND ${HVD_NVCC} --list-gpu-code
    OUTPUT_VARIABLE known RESULT_VARIABLE refused ERROR_QUIET)
  if(refused EQUAL 0)
    set(HVD_KERNEL_COMPILER nvcc)
    set(codes "")
    foreach(version 75 80 86 89 90)
      if(known MATCHES "sm_${version}[^0-9]")
        list(APPEND codes -gencode=arch=compute_${version},code=sm_${version})
      endif()
    endforeach()
    set(fatbin ${CMAKE_CURRENT_BINARY_DIR}/batch.fatbin)
    add_custom_command(OUTPUT ${fatbin}
      COMMAND ${HVD_NVCC} -std=c++20 -O3 -fmad=false --expt-relaxed-constexpr -fatbin ${codes}
        -I${PROJECT_SOURCE_DIR} -ccbin ${CMAKE_CXX_COMPILER} -o ${fatbin} ${kernels}/batch.cu
      DEPENDS ${kernels}/batch.cu ${kernels}/bodies.h ${kernels}/elements.h
        ${kernels}/arguments.h ${kernels}/names.h
        ${CMAKE_CURRENT_SOURCE_DIR}/core/reduce_arithmetic.h
      COMMENT "Compiling the kernels for GPUs" VERBATIM)
    set_source_files_properties(${kernels}/nvcc_image.cc PROPERTIES
      COMPILE_DEFINITIONS HVD_KERNELS_FATBIN="${fatbin}"
      OBJECT_DEPENDS ${fatbin} SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endif()
