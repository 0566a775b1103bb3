# Compiles SOURCE with nothing but what pkg-config says of the tree in PREFIX, once as
# it is and once without run-time type information, and runs it.
set(ENV{PKG_CONFIG_PATH} ${PREFIX}/${LIBDIR}/pkgconfig)
execute_process(COMMAND ${PKG_CONFIG} --cflags --libs horovodpp
  OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${flags}")
set(ENV{LD_LIBRARY_PATH} ${PREFIX}/${LIBDIR})
foreach(more "" -fno-rtti)
  execute_process(
    COMMAND ${CXX} ${more} ${SOURCE} -o ${WORK}/by_pkg_config ${flags}
    COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${WORK}/by_pkg_config COMMAND_ERROR_IS_FATAL ANY)
endforeach()
