# SPDX-License-Identifier: Apache-2.0
# Compares the numbers and layouts that the program LAYOUTS prints, and the names that the
# shared LIBRARY (if any) exports, with the file ABI. Add new entries there; existing
# entries stay as long as the major version does.
execute_process(COMMAND ${LAYOUTS} OUTPUT_VARIABLE found COMMAND_ERROR_IS_FATAL ANY)
file(READ ${ABI} wanted)
if(LIBRARY)
  execute_process(COMMAND ${NM} --dynamic --defined-only --extern-only ${LIBRARY}
    OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL " [A-Z] hvd_[a-z_0-9]*" symbols "${symbols}")
  list(TRANSFORM symbols REPLACE "^ [A-Z] " "function ")
  list(SORT symbols)
  list(JOIN symbols "\n" symbols)
  string(APPEND found "${symbols}\n")
else()
  string(REGEX REPLACE "function [^\n]*\n" "" wanted "${wanted}")
endif()
if(NOT found STREQUAL wanted)
  message(FATAL_ERROR "The C interface is not that of ${ABI} any more. It is:\n${found}")
endif()
