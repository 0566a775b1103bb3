# SPDX-License-Identifier: Apache-2.0
# Headers of the standard library, Abseil and GoogleTest that nearly every source includes are
# parsed once per build instead of once per file. Sources still include the headers that they use: a
# build with -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON, such as `bare`, must pass.
set(HVD_PRECOMPILED_HEADERS
  <algorithm> <array> <atomic> <bit> <chrono> <cmath> <cstddef> <cstdint> <cstring>
  <deque> <functional> <limits> <map> <memory> <numeric> <optional> <set> <span> <string>
  <thread> <tuple> <type_traits> <utility> <vector>
  [["absl/base/thread_annotations.h"]] [["absl/container/flat_hash_map.h"]]
  [["absl/container/flat_hash_set.h"]] [["absl/status/status.h"]]
  [["absl/status/statusor.h"]] [["absl/strings/str_cat.h"]] [["absl/strings/str_join.h"]])

# hvd_precompiled(<kind> [HEADERS <header>...] [USES <library>...]): the precompiled headers of
# targets that are compiled alike: a kind of libraries, `library` or `busy_library`, or a kind of
# executables.
function(hvd_precompiled kind)
  set(target hvd_precompiled_${kind})
  cmake_parse_arguments(PRECOMPILED "" "" "HEADERS;USES" ${ARGN})
  set(source ${PROJECT_BINARY_DIR}/precompiled_${kind}.cc)
  if(kind MATCHES "library$")
    file(CONFIGURE OUTPUT ${source} CONTENT "")
    add_library(${target} OBJECT ${source})
  else()
    file(CONFIGURE OUTPUT ${source} CONTENT "int main() { return 0; }\n")
    add_executable(${target} ${source})
  endif()
  if(kind MATCHES "library$")
    set_target_properties(${target} PROPERTIES
      CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  endif()
  target_link_libraries(${target} PRIVATE hvd_compile_options absl::status absl::statusor
    absl::strings absl::flat_hash_map absl::flat_hash_set absl::core_headers
    Threads::Threads ${PRECOMPILED_USES})
  target_precompile_headers(${target} PRIVATE ${HVD_PRECOMPILED_HEADERS}
    ${PRECOMPILED_HEADERS})
endfunction()

# hvd_precompile(<target> <kind>): makes a target use them; it must be compiled likewise.
function(hvd_precompile target kind)
  if(TARGET hvd_precompiled_${kind})
    target_precompile_headers(${target} REUSE_FROM hvd_precompiled_${kind})
  endif()
  if(kind MATCHES "library$")
    set_target_properties(${target} PROPERTIES
      CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  endif()
endfunction()

# hvd_unoptimized(<source>...): sources that contain only options and sequences of calls,
# whose compilation takes several times as long with optimization.
function(hvd_unoptimized)
  set_source_files_properties(${ARGN} PROPERTIES
    COMPILE_OPTIONS -O0 SKIP_PRECOMPILE_HEADERS ON)
endfunction()
