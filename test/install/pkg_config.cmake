# SPDX-License-Identifier: Apache-2.0
# Compiles programs of SOURCES with only FLAGS and pkg-config's output for the tree in PREFIX, and
# runs them. The programs use tensors, have run-time type information or not, or are in C++17.
set(ENV{PKG_CONFIG_PATH} ${PREFIX}/${LIBDIR}/pkgconfig)
set(ENV{LD_LIBRARY_PATH} "")
separate_arguments(sanitizer UNIX_COMMAND "${FLAGS}")
function(build_and_run source package)
  set(flags "")
  foreach(question --cflags --libs --variable=rpath)
    execute_process(COMMAND ${PKG_CONFIG} ${question} ${package}
      OUTPUT_VARIABLE answer OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    separate_arguments(answer UNIX_COMMAND "${answer}")
    list(APPEND flags ${answer})
  endforeach()
  execute_process(
    COMMAND ${CXX} ${sanitizer} ${ARGN} ${SOURCES}/${source} -o ${WORK}/by_pkg_config ${flags}
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${WORK}/by_pkg_config COMMAND_ERROR_IS_FATAL ANY)
endfunction()
build_and_run(outside.cc horovodpp)
build_and_run(collectives_outside.cc horovodpp-collectives)
if(NOT sanitizer)  # A sanitizer may need it.
  build_and_run(outside.cc horovodpp -fno-rtti)
endif()
