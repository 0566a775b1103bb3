# SPDX-License-Identifier: Apache-2.0
# With a compiler set to a C++ that is too old, the headers in PREFIX cause a single error, which
# says so.
function(told_once needed given)
  foreach(header ${ARGN})
    file(WRITE ${WORK}/older_cxx.cc "#include <horovodpp/${header}.h>\nint main() {}\n")
    execute_process(
      COMMAND ${CXX} -std=c++${given} -I${PREFIX}/${INCLUDEDIR} -fsyntax-only ${WORK}/older_cxx.cc
      RESULT_VARIABLE result ERROR_VARIABLE text OUTPUT_QUIET)
    string(REGEX MATCHALL "error:" errors "${text}")
    list(LENGTH errors count)
    if(result EQUAL 0 OR count GREATER 2
        OR NOT text MATCHES "error: [^:]*horovodpp needs C\\+\\+${needed}")
      message(FATAL_ERROR "${header}.h: ${count} errors, and not the one that says C++${needed}:\n"
        "${text}")
    endif()
  endforeach()
endfunction()
told_once(20 17 horovodpp optim/distributed/distributed_optimizer autograd)
told_once(17 14 collectives runtime/runtime runtime/global replica/gradient_reducer snapshot/snapshots
  version)
