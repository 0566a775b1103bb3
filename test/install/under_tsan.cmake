# SPDX-License-Identifier: Apache-2.0
# A program under ThreadSanitizer uses the installed library, which is built without it. With the
# installed suppressions nothing of the library is reported, but a race of the program's own is.
execute_process(
  COMMAND ${CXX} -std=c++20 -g1 -fsanitize=thread -I${PREFIX}/include ${SOURCE}
    -L${PREFIX}/${LIBDIR} -lhorovodpp -lhorovodpp_tensors -Wl,-rpath,${PREFIX}/${LIBDIR}
    -o ${WORK}/under_tsan
  COMMAND_ERROR_IS_FATAL ANY)
# See cmake/HvdTest.cmake.
set(plain_layout setarch ${CMAKE_HOST_SYSTEM_PROCESSOR} -R)
execute_process(COMMAND ${plain_layout} true RESULT_VARIABLE refused OUTPUT_QUIET ERROR_QUIET)
if(NOT refused EQUAL 0)
  set(plain_layout "")
endif()
set(ENV{TSAN_OPTIONS} suppressions=${PREFIX}/${DATADIR}/horovodpp/tsan.supp)

# run(<argument>...): sets `text` to the output of two ranks.
macro(run)
  execute_process(
    COMMAND ${plain_layout} ${PREFIX}/bin/horovodrun --no-mpi -np 2 ${WORK}/under_tsan ${ARGN}
    OUTPUT_VARIABLE text ERROR_VARIABLE text)
endmacro()

run()
if(text MATCHES "ThreadSanitizer" OR NOT text MATCHES "done")
  message(FATAL_ERROR "a report about the library, or a failure:\n${text}")
endif()
run(race)
if(NOT text MATCHES "WARNING: ThreadSanitizer: data race")
  message(FATAL_ERROR "a race of the program is not reported:\n${text}")
endif()
