# SPDX-License-Identifier: Apache-2.0
# Describes versions of clones, made in WORK, by cmake/HvdDescribedVersion.cmake of ROOT.
include(${ROOT}/cmake/HvdDescribedVersion.cmake)
find_program(git git REQUIRED)
set(clone ${WORK}/clone)
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${clone}/project)

function(in_clone)
  execute_process(COMMAND ${git} -C ${clone} -c user.name=A -c user.email=a@b.c ${ARGN}
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endfunction()
function(expect root pattern)
  hvd_described_version(version ${root} 1.2.3)
  if(NOT version MATCHES "^${pattern}$")
    message(FATAL_ERROR "${root}: '${version}', not ${pattern}")
  endif()
endfunction()

expect(${clone} 1\\.2\\.3)                         # No clone.
in_clone(init -q)
expect(${clone} 1\\.2\\.3)                         # An empty clone.
in_clone(commit -q --allow-empty -m first)
expect(${clone} 1\\.2\\.3\\+g[0-9a-f]+)            # No tag.
in_clone(tag v1.2.3)
expect(${clone} 1\\.2\\.3)                         # At its tag.
in_clone(commit -q --allow-empty -m second)
in_clone(tag nightly)
expect(${clone} 1\\.2\\.3\\+1\\.g[0-9a-f]+)        # One commit later, at a tag of another kind.
expect(${clone}/project 1\\.2\\.3)                 # A project within another project's clone.
