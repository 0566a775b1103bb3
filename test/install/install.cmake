# SPDX-License-Identifier: Apache-2.0
# Installs the build tree BUILD into PREFIX, emptied first, and then moves the
# installation: installed files must not contain their path.
file(REMOVE_RECURSE ${PREFIX} ${PREFIX}.staged)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX}.staged
  COMMAND_ERROR_IS_FATAL ANY)
file(RENAME ${PREFIX}.staged ${PREFIX})

foreach(paper LICENSE NOTICE THIRD_PARTY.md)
  if(NOT EXISTS ${PREFIX}/${DOCDIR}/${paper})
    message(FATAL_ERROR "${DOCDIR}/${paper} was not installed")
  endif()
endforeach()
