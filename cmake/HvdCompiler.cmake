# SPDX-License-Identifier: Apache-2.0
# The compiler options of every target of this project.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 12
   OR CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 14)
  message(FATAL_ERROR "${CMAKE_CXX_COMPILER} is ${CMAKE_CXX_COMPILER_ID} "
    "${CMAKE_CXX_COMPILER_VERSION}; horovodpp needs GCC >= 12 or Clang >= 14. "
    "Name another with -DCMAKE_CXX_COMPILER=<path>.")
endif()

if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(HVD_CCACHE ccache)
  if(HVD_CCACHE)
    # Differences that ccache must ignore with precompiled headers.
    set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${HVD_CCACHE})
    add_compile_options($<IF:$<CXX_COMPILER_ID:GNU>,-fpch-preprocess,SHELL:-Xclang$<SEMICOLON>-fno-pch-timestamp>)
  endif()
endif()

add_library(hvd_compile_options INTERFACE)
target_compile_options(hvd_compile_options INTERFACE
  -Wall -Wextra -Wshadow -Wconversion)
if(HVD_WARNINGS_AS_ERRORS)
  target_compile_options(hvd_compile_options INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  # Clang includes sign conversions in -Wconversion, GCC does not.
  target_compile_options(hvd_compile_options INTERFACE -Wthread-safety
    -Wno-sign-conversion)
endif()
# Identical build folders share ccache's objects.
target_compile_options(hvd_compile_options INTERFACE
  -ffile-prefix-map=${PROJECT_BINARY_DIR}=.)

if(HVD_SANITIZE STREQUAL "address")
  set(HVD_SANITIZER_FLAGS -fsanitize=address,undefined
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang" AND HVD_BUILD_TESTS)
    set(HVD_FUZZERS ON)
  endif()
elseif(HVD_SANITIZE STREQUAL "thread")
  set(HVD_SANITIZER_FLAGS -fsanitize=thread -fno-omit-frame-pointer)
elseif(HVD_SANITIZE)
  message(FATAL_ERROR "HVD_SANITIZE is '${HVD_SANITIZE}'; use address or thread")
endif()
if(HVD_SANITIZE)
  add_compile_options(${HVD_SANITIZER_FLAGS})
  add_link_options(${HVD_SANITIZER_FLAGS})
endif()

# mold links the many test programs several times as fast.
find_program(HVD_MOLD mold)
if(HVD_MOLD AND HVD_BUILD_TESTS)
  add_link_options(-fuse-ld=mold)
endif()

# Presets compile several sources of a target as one (CMAKE_UNITY_BUILD), so that common
# instantiations are compiled once. CMake excludes sources with options of their own.
if(CMAKE_UNITY_BUILD)
  # GCC takes every file of such a batch but the first for a header.
  target_compile_options(hvd_compile_options INTERFACE
    $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()

# hvd_compile_alone(<source>...): excludes two kinds of these sources from batches: sources that
# Highway includes again for each instruction set, and instances that users reach.
function(hvd_compile_alone)
  foreach(source ${ARGN})
    file(STRINGS ${source} included_again REGEX "define HWY_TARGET_INCLUDE|^namespace HVD_EXPORT" LIMIT_COUNT 1)
    if(included_again)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()
