# hvd_unit_tests(<layer>): all test/<layer>/*_test.cc as one program, each case a
# ctest entry labelled `unit`.
# hvd_mpi_tests(<layer>): all test/<layer>/*_mpi_test.cc as one program, run under
# mpirun with 1, 2, 3 and 4 ranks and labelled `mpi`. Its main is
# test/support/mpi_main.cc.

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
    gtest_discover_tests(${layer}_test TEST_PREFIX "${layer}." DISCOVERY_TIMEOUT 60
      PROPERTIES LABELS unit TIMEOUT 300
      ENVIRONMENT "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/test/support/tsan.supp")
  endif()
endfunction()

function(hvd_mpi_tests layer)
  file(GLOB sources CONFIGURE_DEPENDS ${layer}/*_mpi_test.cc)
  if(sources)
    hvd_test_program(${layer}_mpi_test ${sources} support/mpi_main.cc)
    target_link_libraries(${layer}_mpi_test PRIVATE MPI::MPI_CXX)
    foreach(ranks 1 2 3 4)
      add_test(NAME ${layer}.mpi.np${ranks}
        COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks}
                $<TARGET_FILE:${layer}_mpi_test>)
      hvd_mpi_test_properties(${layer}.mpi.np${ranks} ${ranks})
    endforeach()
  endif()
endfunction()

# More ranks than cores, and root in a container, are normal for a test.
function(hvd_mpi_test_properties test ranks)
  set_tests_properties(${test} PROPERTIES LABELS mpi TIMEOUT 300 PROCESSORS ${ranks}
    ENVIRONMENT "OMPI_ALLOW_RUN_AS_ROOT=1;OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1;OMPI_MCA_rmaps_base_oversubscribe=1;OMPI_MCA_mpi_yield_when_idle=1;PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe;OMPI_MCA_btl_vader_single_copy_mechanism=none")
endfunction()
