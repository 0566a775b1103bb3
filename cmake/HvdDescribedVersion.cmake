# SPDX-License-Identifier: Apache-2.0
# hvd_described_version(<variable> <root> <version>): the version with the built commit, as
# a semantic version: 0.1.0+12.g4f7248f is 12 commits after the last version's tag,
# 0.1.0+g4f7248f is of a repository without a tag. The version alone at its own tag, and if
# <root> is not a git clone.
function(hvd_described_version variable root version)
  set(${variable} ${version} PARENT_SCOPE)
  find_program(HVD_GIT git)
  # Otherwise git would describe an enclosing repository.
  if(NOT HVD_GIT OR NOT EXISTS ${root}/.git)
    return()
  endif()
  execute_process(
    COMMAND ${HVD_GIT} -C ${root} describe --tags --match "v[0-9]*" --always --abbrev=7
    OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(described MATCHES "-([0-9]+)-(g[0-9a-f]+)$")
    set(${variable} ${version}+${CMAKE_MATCH_1}.${CMAKE_MATCH_2} PARENT_SCOPE)
  elseif(described MATCHES "^[0-9a-f]+$")
    set(${variable} ${version}+g${described} PARENT_SCOPE)
  endif()
  # Configures again after a new commit, which is another version.
  execute_process(COMMAND ${HVD_GIT} -C ${root} rev-parse --path-format=absolute
    --git-path logs/HEAD OUTPUT_VARIABLE log OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT CMAKE_SCRIPT_MODE_FILE AND EXISTS "${log}")
    set_property(DIRECTORY ${root} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${log})
  endif()
endfunction()
