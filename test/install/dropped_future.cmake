# SPDX-License-Identifier: Apache-2.0
# Every future that a program drops causes a warning, although the headers in
# PREFIX are included as system headers, as CMake does.
set(calls
  "allreduce_async_(view)" "allreduce_async(view)" "grouped_allreduce_async_({view})"
  "grouped_allreduce_async({view})" "allgather_async(view)" "grouped_allgather_async({view})"
  "broadcast_async_(view, 0)" "broadcast_async(view, 0)" "alltoall_async(view)"
  "reducescatter_async(view)" "grouped_reducescatter_async({view})" "join_async()"
  "allreduce_async_(tensor)" "allreduce_async(tensor)" "grouped_allreduce_async_({tensor})"
  "broadcast_async_(tensor, 0)" "alltoall_async(tensor)" "reducescatter_async(tensor)"
  "current_runtime().allreduce_async_(view)" "current_runtime().barrier_async()")
set(statements "")
foreach(call ${calls})
  string(APPEND statements "  hvd::${call};\n")
endforeach()
file(WRITE ${WORK}/dropped_future.cc
  "#include <horovodpp/horovodpp.h>\nvoid forget(hvd::TensorView view, const hvd::Tensor& tensor) {\n${statements}}\n")
execute_process(
  COMMAND ${CXX} -std=c++20 -isystem ${PREFIX}/${INCLUDEDIR} -fsyntax-only ${WORK}/dropped_future.cc
  RESULT_VARIABLE result ERROR_VARIABLE text)
string(REGEX MATCHALL "dropped_future\\.cc:[0-9]+:[0-9]+: warning:[^\n]*nodiscard" warnings "${text}")
list(LENGTH warnings count)
list(LENGTH calls wanted)
if(NOT result EQUAL 0 OR NOT count EQUAL wanted)
  message(FATAL_ERROR "${count} warnings of ${wanted}:\n${text}")
endif()
