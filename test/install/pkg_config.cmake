# SPDX-License-Identifier: Apache-2.0
# Compiles SOURCE with nothing but FLAGS and what pkg-config says of the tree in PREFIX,
# once as it is and once without run-time type information, and runs it.
set(ENV{PKG_CONFIG_PATH} ${PREFIX}/${LIBDIR}/pkgconfig)
execute_process(COMMAND ${PKG_CONFIG} --cflags --libs horovodpp
  OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${flags}")
separate_arguments(sanitizer UNIX_COMMAND "${FLAGS}")
set(ENV{LD_LIBRARY_PATH} ${PREFIX}/${LIBDIR})
set(variants "")
if(NOT sanitizer)  # Which may need that information.
  set(variants -fno-rtti)
endif()
foreach(more "" ${variants})
  execute_process(
    COMMAND ${CXX} ${sanitizer} ${more} ${SOURCE} -o ${WORK}/by_pkg_config ${flags}
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${WORK}/by_pkg_config COMMAND_ERROR_IS_FATAL ANY)
endforeach()
