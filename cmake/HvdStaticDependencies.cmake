# SPDX-License-Identifier: Apache-2.0
# With HVD_STATIC_DEPENDENCIES the shared library contains its dependencies, if archives
# exist that can be linked into a shared library. Other libraries' symbols then cannot
# replace the called ones (see docs/c.md). A dependency without such an archive stays a
# shared library, with a message; oneDNN is omitted in that case. MPI is always in a module
# of its own.

include(HvdArchives)

# Whether the archive can be linked into a shared library, that is, whether it is
# position-independent.
function(hvd_is_relocatable archive result)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -shared -o ${PROJECT_BINARY_DIR}/archive.so
      -Wl,--version-script=${PROJECT_SOURCE_DIR}/horovodpp/exported_names.map
      -Wl,--whole-archive ${archive} -Wl,--no-whole-archive
    RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  file(REMOVE ${PROJECT_BINARY_DIR}/archive.so)
  if(failed)
    set(${result} OFF PARENT_SCOPE)
  else()
    set(${result} ON PARENT_SCOPE)
  endif()
endfunction()

# hvd_prefer_archives(<name> <target>...): links the targets, and their dependencies, from
# the archives next to their shared libraries: all of them, or none.
function(hvd_prefer_archives name)
  hvd_archives_of(switched missing ${ARGN})
  foreach(archive IN LISTS switched)
    if(NOT missing AND archive MATCHES "\\.a$")
      hvd_is_relocatable(${archive} usable)
      if(NOT usable)
        set(missing ${archive})
      endif()
    endif()
  endforeach()
  if(missing)
    message(STATUS "${name} stays a shared library: ${missing} is not there, or not "
      "position-independent")
    return()
  endif()
  while(switched)
    list(POP_FRONT switched target location archive)
    set_target_properties(${target} PROPERTIES ${location} ${archive})
  endwhile()
endfunction()

hvd_prefer_archives(Abseil absl::status absl::statusor absl::strings absl::str_format
  absl::flat_hash_map absl::flat_hash_set)
hvd_prefer_archives(Highway hwy::hwy)
hvd_prefer_archives(zlib ZLIB::ZLIB)
if(PNG_FOUND)
  hvd_prefer_archives(libpng PNG::PNG)
endif()
if(JPEG_FOUND)
  hvd_prefer_archives(libjpeg JPEG::JPEG)
endif()
hvd_prefer_archives(libsodium Sodium::Sodium)

find_library(HVD_BLAS_ARCHIVE NAMES libopenblas.a libblas.a)
if(NOT HVD_BLAS_ARCHIVE)
  message(FATAL_ERROR "HVD_STATIC_DEPENDENCIES wants a BLAS as an archive (on Debian: "
    "libopenblas-dev)")
endif()
set_target_properties(BLAS::BLAS PROPERTIES
  INTERFACE_LINK_LIBRARIES "${HVD_BLAS_ARCHIVE};Threads::Threads;m")

# Header-only; so is fmt, which it includes.
add_library(hvd_spdlog INTERFACE)
target_compile_definitions(hvd_spdlog INTERFACE FMT_HEADER_ONLY=1 SPDLOG_FMT_EXTERNAL)
target_include_directories(hvd_spdlog SYSTEM INTERFACE
  $<TARGET_PROPERTY:spdlog::spdlog_header_only,INTERFACE_INCLUDE_DIRECTORIES>)

find_library(HVD_DNNL_ARCHIVE NAMES libdnnl.a)
if(HVD_DNNL_ARCHIVE)
  set(Dnnl_LIBRARY ${HVD_DNNL_ARCHIVE})
elseif(HVD_WITH_DNNL)
  message(STATUS "oneDNN is left out: there is no archive of it")
  set(HVD_WITH_DNNL OFF)
endif()
