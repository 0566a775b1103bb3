# What the headers in PREFIX say to a compiler that was not told to read C++20: that,
# once, and nothing of what it could not read.
foreach(header horovodpp runtime/runtime runtime/global replica/gradient_reducer
    optim/distributed_optimizer autograd version)
  file(WRITE ${WORK}/older_cxx.cc "#include <horovodpp/${header}.h>\nint main() {}\n")
  execute_process(COMMAND ${CXX} -std=c++17 -I${PREFIX}/${INCLUDEDIR} -fsyntax-only ${WORK}/older_cxx.cc
    RESULT_VARIABLE result ERROR_VARIABLE text OUTPUT_QUIET)
  string(REGEX MATCHALL "error:" errors "${text}")
  list(LENGTH errors count)
  if(result EQUAL 0 OR count GREATER 2 OR NOT text MATCHES "error: [^:]*horovodpp needs C\\+\\+20")
    message(FATAL_ERROR "${header}.h: ${count} errors, and not the one that says C++20:\n${text}")
  endif()
endforeach()
