# SPDX-License-Identifier: Apache-2.0
# The library in PREFIX needs no MPI, and neither does a job on one host. Under mpirun it
# loads its module from its own folder. If the module is missing, the error names the
# file.
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK}/library)
execute_process(COMMAND ldd ${PREFIX}/${LIBDIR}/libhorovodpp.so OUTPUT_VARIABLE needed
  COMMAND_ERROR_IS_FATAL ANY)
if(needed MATCHES "libmpi|libopen-rte|libopen-pal")
  message(FATAL_ERROR "the library needs MPI:\n${needed}")
endif()

file(WRITE ${WORK}/sum.cc "#include <horovodpp/collectives.h>
#include <cstdio>
int main() {
  const hvd::Status begun = hvd::init();
  if (!begun.ok()) return std::puts(begun.to_string().c_str()), 3;
  float x = 1;
  const hvd::Status reduced = hvd::allreduce_(hvd::TensorView::of(&x, {1}), {\"x\", hvd::ReduceOp::kSum});
  return reduced.ok() && x == hvd::size() ? 10 * hvd::size() : 1;
}
")
execute_process(COMMAND ${CXX} -std=c++17 -I${PREFIX}/include ${WORK}/sum.cc -o ${WORK}/sum
  -L${PREFIX}/${LIBDIR} -lhorovodpp COMMAND_ERROR_IS_FATAL ANY)

# runs(<wanted exit code> <text> <command>...): expects the exit code and the text in the
# output.
function(runs wanted text)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said)
  string(REGEX REPLACE "[ \n]+" " " said "${said}")
  if(NOT result EQUAL wanted OR NOT said MATCHES "${text}")
    message(FATAL_ERROR "${ARGN}\nended with ${result}, not ${wanted}, or did not say '${text}':\n${said}")
  endif()
endfunction()
set(run ${PREFIX}/${BINDIR}/horovodrun -np 2)
set(ENV{LD_LIBRARY_PATH} ${PREFIX}/${LIBDIR})
runs(20 "" ${run} --no-mpi ${WORK}/sum)
if(NOT MODULE)
  return()
endif()
runs(20 "" ${run} --mpi ${WORK}/sum)

# The library alone, elsewhere.
file(GLOB library ${PREFIX}/${LIBDIR}/libhorovodpp.so*)
file(COPY ${library} DESTINATION ${WORK}/library)
set(ENV{LD_LIBRARY_PATH} ${WORK}/library)
runs(20 "" ${run} --no-mpi ${WORK}/sum)
runs(3 "was not found: looked for libhorovodpp_mpi_[a-z0-9]+.so in ${WORK}/library"
  ${run} --mpi ${WORK}/sum)
set(ENV{HOROVODPP_MPI_MODULE} ${MODULE})
runs(20 "" ${run} --mpi ${WORK}/sum)
set(ENV{HOROVODPP_MPI_MODULE} ${WORK}/nowhere.so)
runs(3 "${WORK}/nowhere.so: cannot open" ${run} --mpi ${WORK}/sum)
