# hvd_unit_tests(<layer>): all test/<layer>/*_test.cc as one program labelled
# `unit`. Each case is a ctest entry; under a sanitizer, where starting a program is
# slow, the program is one.
# hvd_mpi_tests(<layer>): all test/<layer>/*_mpi_test.cc as one program, run under
# mpirun with 1, 2, 3 and 4 ranks and labelled `mpi`. Its main is
# test/support/mpi_main.cc.

set(HVD_TEST_ENVIRONMENT
  "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/test/support/tsan.supp"
  "UBSAN_OPTIONS=print_stacktrace=1")

# ThreadSanitizer does not see how the threads of the BLAS and of oneDNN wait for
# each other, and takes minutes to find out that each such report is suppressed.
if(HVD_SANITIZE STREQUAL "thread")
  list(APPEND HVD_TEST_ENVIRONMENT "OPENBLAS_NUM_THREADS=1" "OMP_NUM_THREADS=1")
endif()

# Of ThreadSanitizer's fixed memory layout, kernels that randomize addresses
# widely leave no room: programs start without that where it is allowed.
set(HVD_TEST_LAUNCHER "")
if(HVD_SANITIZE STREQUAL "thread")
  set(launcher setarch ${CMAKE_HOST_SYSTEM_PROCESSOR} -R)
  execute_process(COMMAND ${launcher} true RESULT_VARIABLE refused OUTPUT_QUIET ERROR_QUIET)
  if(refused EQUAL 0)
    set(HVD_TEST_LAUNCHER ${launcher})
  endif()
endif()

function(hvd_test_program name)
  add_executable(${name} ${ARGN})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE hvd_compile_options horovodpp
    GTest::gtest GTest::gmock)
endfunction()

function(hvd_unit_tests layer)
  file(GLOB sources CONFIGURE_DEPENDS ${layer}/*_test.cc)
  list(FILTER sources EXCLUDE REGEX "_mpi_test\\.cc$")
  if(sources)
    hvd_test_program(${layer}_test ${sources})
    target_link_libraries(${layer}_test PRIVATE GTest::gtest_main)
    hvd_register_cases(${layer}_test ${layer} unit)
  endif()
endfunction()

# hvd_register_cases(<program> <name> <label>): ctest entries <name>.<case>, or, under
# a sanitizer, <name>.
function(hvd_register_cases program name label)
  set(test ${HVD_TEST_PREFIX}${name})
  if(HVD_SANITIZE)
    add_test(NAME ${test}
      COMMAND ${HVD_TEST_LAUNCHER} $<TARGET_FILE:${program}> --gtest_brief=1)
    set_tests_properties(${test} PROPERTIES LABELS ${label} TIMEOUT 1800
      ENVIRONMENT "${HVD_TEST_ENVIRONMENT}")
  else()
    gtest_discover_tests(${program} TEST_PREFIX "${test}." DISCOVERY_TIMEOUT 60
      PROPERTIES LABELS ${label} TIMEOUT 300)
  endif()
endfunction()

function(hvd_mpi_tests layer)
  file(GLOB sources CONFIGURE_DEPENDS ${layer}/*_mpi_test.cc)
  if(NOT sources)
    return()
  endif()
  hvd_test_program(${layer}_mpi_test ${sources} support/mpi_main.cc)
  target_link_libraries(${layer}_mpi_test PRIVATE MPI::MPI_CXX)
  foreach(ranks 1 2 3 4)
    hvd_add_mpi_test(${layer}.mpi.np${ranks} ${ranks} $<TARGET_FILE:${layer}_mpi_test>)
  endforeach()
endfunction()

# hvd_add_mpi_test(<name> <ranks> <command>...): the command under mpirun.
function(hvd_add_mpi_test name ranks)
  add_test(NAME ${HVD_TEST_PREFIX}${name}
    COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${ARGN})
  hvd_mpi_test_properties(${HVD_TEST_PREFIX}${name} ${ranks})
endfunction()

# More ranks than cores, and root in a container, are normal for a test.
function(hvd_mpi_test_properties test ranks)
  set_tests_properties(${test} PROPERTIES LABELS mpi TIMEOUT 300 PROCESSORS ${ranks}
    ENVIRONMENT "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_rmaps_base_oversubscribe=1;OMPI_MCA_mpi_yield_when_idle=1;PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe;OMPI_MCA_btl_vader_single_copy_mechanism=none;HOROVODPP_CACHE_DIR=${CMAKE_BINARY_DIR}/cache")
endfunction()
