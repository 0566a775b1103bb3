# SPDX-License-Identifier: Apache-2.0
# cmake -D ROOT=<project> -D PREFIX=<include folder> -P InstallHeaders.cmake
#
# Installs the headers that PublicHeaders.cmake lists, and the headers that they include.
cmake_policy(VERSION 3.25)  # A script has no policies of its own.
include(${CMAKE_CURRENT_LIST_DIR}/PublicHeaders.cmake)
set(waiting ${HVD_PUBLIC_HEADERS})
set(installed "")
while(waiting)
  list(POP_FRONT waiting header)
  if(header IN_LIST installed OR NOT EXISTS ${ROOT}/${header})
    continue()
  endif()
  list(APPEND installed ${header})
  get_filename_component(folder ${header} DIRECTORY)
  file(INSTALL ${ROOT}/${header} DESTINATION ${PREFIX}/${folder})
  file(STRINGS ${ROOT}/${header} lines REGEX "^#include \"horovodpp/[^\"]+\"")
  foreach(line ${lines})
    string(REGEX MATCH "horovodpp/[^\"]+" included "${line}")
    list(APPEND waiting ${included})
  endforeach()
endwhile()
