# SPDX-License-Identifier: Apache-2.0
# Installs the build tree BUILD into PREFIX, emptied before, then moves it: what
# was installed must not know where.
file(REMOVE_RECURSE ${PREFIX} ${PREFIX}.staged)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX}.staged
  COMMAND_ERROR_IS_FATAL ANY)
file(RENAME ${PREFIX}.staged ${PREFIX})

foreach(paper LICENSE NOTICE THIRD_PARTY.md)
  if(NOT EXISTS ${PREFIX}/${DOCDIR}/${paper})
    message(FATAL_ERROR "${DOCDIR}/${paper} was not installed")
  endif()
endforeach()
