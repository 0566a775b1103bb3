# SPDX-License-Identifier: Apache-2.0
# hvd_layer(<folder> [APART] MAY_INCLUDE <folder>... [BACKENDS <mechanism>...] [USES <library>...])
#
# A folder of horovodpp/ is a layer, or a room of a layer (`collective/shm`), and a target
# (hvd_collective_shm). MAY_INCLUDE lists the folders, besides its own, whose headers its
# files may include; `core/*` lists core and its rooms. A layer does not include its rooms,
# and a room does not include its layer, unless named. test/house/layers.py checks every #include. A file named
# <mechanism>_*.cc is compiled only if <mechanism> is among BACKENDS; otherwise
# no_<mechanism>.cc replaces it. A folder that is APART is not a part of the library.
define_property(GLOBAL PROPERTY HVD_LAYER_TARGETS BRIEF_DOCS "Targets of all layers and rooms")
set(HVD_MECHANISMS nccl cuda nvcc dnnl png jpeg)
# If fuzzers are built (test/fuzz), these layers are instrumented for them.
set(HVD_FUZZED_LAYERS core coordinator nn transport)
# Where little is optimized, since compiling costs more than running (HVD_OPTIMIZE_LITTLE), these
# layers are optimized nevertheless: fuzzers run them millions of times, or they loop over elements.
set(HVD_BUSY_LAYERS core coordinator transport kernel tensor)
set(HVD_BUSY_FOLDERS collective/reduce)
# ThreadSanitizer's build omits these layers: their code runs on one thread, or starts threads only
# through other layers. `make test-all` builds them.
set(HVD_SEQUENTIAL_LAYERS checkpoint nn distributed data optim elastic)
set(HVD_FUZZER_COVERAGE
  -fsanitize-coverage=inline-8bit-counters,pc-table,trace-cmp,indirect-calls)

function(hvd_layer folder)
  string(REPLACE "/" "_" target hvd_${folder})
  string(REGEX REPLACE "/.*" "" layer ${folder})
  if(HVD_SANITIZE STREQUAL "thread" AND NOT HVD_ALL_TESTS AND layer IN_LIST HVD_SEQUENTIAL_LAYERS)
    return()
  endif()
  cmake_parse_arguments(LAYER "APART" "" "MAY_INCLUDE;BACKENDS;USES" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cc)
  foreach(mechanism ${HVD_MECHANISMS})
    if(mechanism IN_LIST LAYER_BACKENDS)
      list(FILTER sources EXCLUDE REGEX "/no_${mechanism}\\.cc$")
    else()
      list(FILTER sources EXCLUDE REGEX "/${mechanism}_[^/]*\\.cc$")
    endif()
  endforeach()
  if(sources)
    hvd_compile_alone(${sources})
    add_library(${target} OBJECT ${sources})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
    set_target_properties(${target} PROPERTIES
      CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    target_link_libraries(${target} PRIVATE hvd_compile_options
      absl::status absl::statusor absl::strings absl::str_format
      absl::flat_hash_map absl::flat_hash_set absl::core_headers
      Threads::Threads ${LAYER_USES})
    if(HVD_FUZZERS AND layer IN_LIST HVD_FUZZED_LAYERS)
      target_compile_options(${target} PRIVATE ${HVD_FUZZER_COVERAGE})
    endif()
    if(HVD_OPTIMIZE_LITTLE AND (layer IN_LIST HVD_BUSY_LAYERS OR folder IN_LIST HVD_BUSY_FOLDERS))
      target_compile_options(${target} PRIVATE -O1)
      hvd_precompile(${target} busy_library)
    else()
      hvd_precompile(${target} library)
    endif()
    if(NOT LAYER_APART)
      set_property(GLOBAL APPEND PROPERTY HVD_LAYER_TARGETS ${target})
    endif()
  endif()
endfunction()

# hvd_layer_targets(<variable> <layer>...): the targets of these layers and of their rooms.
function(hvd_layer_targets variable)
  get_property(all GLOBAL PROPERTY HVD_LAYER_TARGETS)
  set(found "")
  foreach(layer ${ARGN})
    set(own ${all})
    list(FILTER own INCLUDE REGEX "^hvd_${layer}(_|$)")
    if(NOT own)
      message(FATAL_ERROR "no layer is called ${layer}")
    endif()
    list(APPEND found ${own})
  endforeach()
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

# hvd_layer_objects(<variable> <layer>...): their object files.
function(hvd_layer_objects variable)
  hvd_layer_targets(objects ${ARGN})
  list(TRANSFORM objects REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>")
  set(${variable} ${objects} PARENT_SCOPE)
endfunction()
