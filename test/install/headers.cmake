# SPDX-License-Identifier: Apache-2.0
# The cost of collectives.h for its users. It compiles as C++17 without a warning. Neither it nor
# horovodpp.h reads a header of another library.
file(WRITE ${WORK}/light.cc "#include <horovodpp/collectives.h>
hvd::Status reduce(float* data, long n) {
  hvd::AllreduceOptions options;
  options.name = \"gradients\";
  return hvd::allreduce_(hvd::TensorView::of(data, {n}), options);
}\n")
execute_process(COMMAND ${CXX} -std=c++17 -Wall -Wextra -Wpedantic -Wshadow -Werror
  -I${PREFIX}/${INCLUDEDIR} -fsyntax-only ${WORK}/light.cc COMMAND_ERROR_IS_FATAL ANY)

# <header> <most preprocessed lines>: today's count and some more.
function(reads_little header most)
  file(WRITE ${WORK}/reads.cc "#include <horovodpp/${header}.h>\n")
  execute_process(COMMAND ${CXX} -std=c++20 -I${PREFIX}/${INCLUDEDIR} -E ${WORK}/reads.cc
    OUTPUT_FILE ${WORK}/reads.ii COMMAND_ERROR_IS_FATAL ANY)
  file(STRINGS ${WORK}/reads.ii foreign
    REGEX "^# [0-9]+ \"[^\"]*/(absl|spdlog|fmt|nlohmann|hwy|oneapi|gtest)/|/mpi\\.h\"")
  if(foreign)
    list(GET foreign 0 first)
    message(FATAL_ERROR "${header}.h reads headers of other libraries: ${first}")
  endif()
  file(STRINGS ${WORK}/reads.ii lines)
  list(LENGTH lines count)
  message(STATUS "${header}.h: ${count} lines")
  if(count GREATER most)
    message(FATAL_ERROR "${header}.h becomes ${count} lines, more than ${most}")
  endif()
endfunction()
reads_little(collectives 60000)
reads_little(horovodpp 100000)

# Installed headers include only installed headers.
file(GLOB_RECURSE headers RELATIVE ${PREFIX}/${INCLUDEDIR} ${PREFIX}/${INCLUDEDIR}/horovodpp/*.h)
foreach(header ${headers})
  file(STRINGS ${PREFIX}/${INCLUDEDIR}/${header} lines REGEX "^#include \"horovodpp/")
  foreach(line ${lines})
    string(REGEX MATCH "horovodpp/[^\"]+" included "${line}")
    if(NOT EXISTS ${PREFIX}/${INCLUDEDIR}/${included} AND NOT included MATCHES "the_rest_needs")
      message(FATAL_ERROR "${header} includes ${included}, which is not installed")
    endif()
  endforeach()
endforeach()
