# SPDX-License-Identifier: Apache-2.0
# Embeds the GPU kernels in the library, as two modules: `batch` for collectives, `tensors` for
# tensors. Of each, the PTX, which the repository keeps packed, for the driver of any GPU to
# compile; and, if nvcc is installed, the source compiled for the GPUs that nvcc knows, with which a
# program starts sooner.
set(kernels ${CMAKE_CURRENT_SOURCE_DIR}/device/kernels)
set(modules batch tensors)
set(definition_of_batch HVD_KERNELS)
set(definition_of_tensors HVD_TENSOR_KERNELS)

set(packed "")
set(ptx "")
foreach(module ${modules})
  set(archive ${kernels}/${module}.ptx.tar.xz)
  file(ARCHIVE_EXTRACT INPUT ${archive} DESTINATION ${CMAKE_CURRENT_BINARY_DIR})
  list(APPEND packed ${archive})
  list(APPEND ptx ${definition_of_${module}}_PTX="${CMAKE_CURRENT_BINARY_DIR}/${module}.ptx")
endforeach()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${packed})
set_source_files_properties(${kernels}/ptx_image.cc PROPERTIES
  COMPILE_DEFINITIONS "${ptx}"
  OBJECT_DEPENDS "${packed}" SKIP_UNITY_BUILD_INCLUSION ON)

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
    set(sources_of_batch ${kernels}/names.h)
    set(sources_of_tensors ${kernels}/tensor_bodies.h ${kernels}/tensor_arguments.h
      ${kernels}/tensor_names.h ${CMAKE_CURRENT_SOURCE_DIR}/kernel/loops/functors.h
      ${CMAKE_CURRENT_SOURCE_DIR}/kernel/scalar_to.h)
    set(fatbins "")
    set(definitions "")
    foreach(module ${modules})
      set(fatbin ${CMAKE_CURRENT_BINARY_DIR}/${module}.fatbin)
      add_custom_command(OUTPUT ${fatbin}
        COMMAND ${HVD_NVCC} -std=c++20 -O3 -fmad=false --expt-relaxed-constexpr -fatbin ${codes}
          -I${PROJECT_SOURCE_DIR} -ccbin ${CMAKE_CXX_COMPILER} -o ${fatbin} ${kernels}/${module}.cu
        DEPENDS ${kernels}/${module}.cu ${kernels}/bodies.h ${kernels}/elements.h
          ${kernels}/arguments.h ${sources_of_${module}}
          ${CMAKE_CURRENT_SOURCE_DIR}/core/reduce_arithmetic.h
        COMMENT "Compiling the kernels of ${module}.cu for GPUs" VERBATIM)
      list(APPEND fatbins ${fatbin})
      list(APPEND definitions ${definition_of_${module}}_FATBIN="${fatbin}")
    endforeach()
    set_source_files_properties(${kernels}/nvcc_image.cc PROPERTIES
      COMPILE_DEFINITIONS "${definitions}"
      OBJECT_DEPENDS "${fatbins}" SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endif()
