# SPDX-License-Identifier: Apache-2.0
# Compiles a program with the flags of horovodpp-config from the tree in PREFIX.
set(script ${PREFIX}/${BINDIR}/horovodpp-config)
function(said variable)
  execute_process(COMMAND ${script} ${ARGN} OUTPUT_VARIABLE text
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(text UNIX_COMMAND "${text}")
  set(${variable} ${text} PARENT_SCOPE)
endfunction()
said(version --version)
string(REGEX REPLACE "[+].*" "" release "${version}")
if(NOT release STREQUAL VERSION)
  message(FATAL_ERROR "horovodpp-config is of '${version}', the library of ${VERSION}")
endif()
execute_process(COMMAND ${PREFIX}/${BINDIR}/horovodrun --version OUTPUT_VARIABLE of_launcher
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
if(NOT of_launcher STREQUAL version)
  message(FATAL_ERROR "horovodpp-config is of '${version}', horovodrun of '${of_launcher}'")
endif()
said(prefix --prefix)
if(NOT prefix STREQUAL PREFIX)
  message(FATAL_ERROR "horovodpp-config lies in '${prefix}', not in ${PREFIX}")
endif()
set(ENV{LD_LIBRARY_PATH} "")
said(flags --c --cflags --libs --rpath)
file(WRITE ${WORK}/by_script.c "#include <horovodpp/c/horovodpp.h>
int main(void) { return hvd_init(HVD_C_VERSION) != HVD_OK || hvd_size() != 1; }
")
execute_process(COMMAND cc -std=c99 ${WORK}/by_script.c -o ${WORK}/by_script ${flags}
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${WORK}/by_script COMMAND_ERROR_IS_FATAL ANY)
said(flags --cflags --libs --rpath)
file(WRITE ${WORK}/by_script.cc "#include <horovodpp/collectives.h>
int main() { return hvd::init().ok() && hvd::size() == 1 ? 0 : 1; }
")
execute_process(COMMAND ${CXX} ${WORK}/by_script.cc -o ${WORK}/by_script ${flags}
  COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${WORK}/by_script COMMAND_ERROR_IS_FATAL ANY)
said(flags --cxx17 --cflags --libs --rpath)
execute_process(COMMAND ${CXX} ${SOURCE}/../install/collectives_outside.cc -o ${WORK}/by_script
  ${flags} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${WORK}/by_script COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${script} --nonsense RESULT_VARIABLE result ERROR_QUIET)
if(NOT result EQUAL 2)
  message(FATAL_ERROR "horovodpp-config takes --nonsense")
endif()
