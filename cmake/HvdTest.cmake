# SPDX-License-Identifier: Apache-2.0
# - hvd_unit_tests(<layer>): all *_test.cc of test/<layer>/ and of its rooms as one program
#   labeled `unit`. Its cases run in one process or, for the largest programs, in several at a
#   time. All programs of a layer contain its *_suite.cc, which tests instantiate.
# - hvd_mpi_tests(<layer>): all *_mpi_test.cc there as one program, run under mpirun with 1,
#   2, 3 and 4 ranks, under a sanitizer with 2, and labeled `mpi`. Its main is
#   test/support/mpi_main.cc.
# - hvd_job_tests(<layer>): all *_job_test.cc there as one program, run by horovodrun
#   without MPI with 1, 2, 3 and 4 ranks, under AddressSanitizer with 2, and labeled `job`.
#   Its main is test/support/job_main.cc.

set(HVD_TEST_ENVIRONMENT
  "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/test/support/tsan.supp"
  "UBSAN_OPTIONS=print_stacktrace=1")
# The watchdog (test/support/watchdog) ends a program after this number of seconds in one
# case. The longest case of dev takes 14 s on two cores. ThreadSanitizer delays signal
# handlers, so threads do not answer: there ctest's limit ends a program.
if(HVD_SANITIZE STREQUAL "address" AND HVD_ALL_TESTS)
  # The exhaustive ones.
  list(APPEND HVD_TEST_ENVIRONMENT "HOROVODPP_TEST_CASE_SECONDS=600")
elseif(HVD_SANITIZE STREQUAL "address")
  list(APPEND HVD_TEST_ENVIRONMENT "HOROVODPP_TEST_CASE_SECONDS=120")
elseif(NOT HVD_SANITIZE)
  list(APPEND HVD_TEST_ENVIRONMENT "HOROVODPP_TEST_CASE_SECONDS=60")
endif()
# Tests that repeat to meet other orders of events repeat less in slow builds.
if(HVD_SANITIZE)
  list(APPEND HVD_TEST_ENVIRONMENT "HOROVODPP_TEST_RUNS=3")
endif()

# ThreadSanitizer does not see the synchronization of the threads of BLAS and oneDNN, and
# takes minutes to find that each such report is suppressed.
if(HVD_SANITIZE STREQUAL "thread")
  list(APPEND HVD_TEST_ENVIRONMENT "OPENBLAS_NUM_THREADS=1" "OMP_NUM_THREADS=1")
endif()

# ThreadSanitizer has a fixed memory layout, for which kernels with wide address
# randomization leave no room. Programs start without randomization if that is allowed.
set(HVD_TEST_LAUNCHER "")
if(HVD_SANITIZE STREQUAL "thread")
  set(launcher setarch ${CMAKE_HOST_SYSTEM_PROCESSOR} -R)
  execute_process(COMMAND ${launcher} true RESULT_VARIABLE refused OUTPUT_QUIET ERROR_QUIET)
  if(refused EQUAL 0)
    set(HVD_TEST_LAUNCHER ${launcher})
  endif()
endif()

# Programs with so much computation of their own that optimizing them pays. Under the address
# sanitizer optimizing them takes longer than it saves.
if(NOT HVD_SANITIZE STREQUAL "address")
  set(HVD_BUSY_TESTS collective_test collective_mpi_test collective_job_test coordinator_test)
endif()

# Programs that only use public headers and the library, as users do. All others link the
# internals.
set(HVD_OUTSIDE_TESTS models_test fault_program job_program exit_program)

# hvd_watched(<program>): the watchdog watches the program's cases.
function(hvd_watched name)
  target_sources(${name} PRIVATE $<TARGET_OBJECTS:hvd_watchdog> $<TARGET_OBJECTS:hvd_watched_cases>)
  target_link_libraries(${name} PRIVATE absl::symbolize)
endfunction()

function(hvd_test_program name)
  add_executable(${name} ${ARGN})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  if(name IN_LIST HVD_OUTSIDE_TESTS)
    target_link_libraries(${name} PRIVATE horovodpp absl::status absl::statusor absl::strings)
  else()
    target_link_libraries(${name} PRIVATE hvd_internals)
  endif()
  target_link_libraries(${name} PRIVATE hvd_compile_options GTest::gtest GTest::gmock)
  # A quarter of the time to compile a test. The library has these checks.
  if(HVD_SANITIZE STREQUAL "address")
    target_compile_options(${name} PRIVATE -fno-sanitize=alignment,null,vptr)
  endif()
  if(name MATCHES "_test$")
    hvd_watched(${name})
  endif()
  if(name IN_LIST HVD_BUSY_TESTS)
    target_compile_options(${name} PRIVATE -O1)
    hvd_precompile(${name} busy_test)
  else()
    target_compile_options(${name} PRIVATE -O0)
    hvd_precompile(${name} test)
  endif()
endfunction()

# The sources that start threads, or include such headers. ThreadSanitizer has nothing to
# report in others, so its build omits them.
set(HVD_STARTS_THREADS
  "<(thread|latch|barrier|future)>|loopback\\.h|/(world|ranks)\\.h|fleet|suite\\.h|set_num_threads\
|run_ranks\\.h")

# hvd_is_left_out(<variable> <program>): whether this build leaves out the whole program.
function(hvd_is_left_out variable program)
  set(left_out OFF)
  if(NOT HVD_ALL_TESTS AND program IN_LIST HVD_LEFT_OUT_${HVD_TEST_BUILD}_programs)
    set(left_out ON)
  endif()
  set(${variable} ${left_out} PARENT_SCOPE)
endfunction()

function(hvd_unit_tests layer)
  hvd_is_left_out(left_out ${layer}_test)
  if(left_out)
    return()
  endif()
  file(GLOB sources CONFIGURE_DEPENDS
    ${layer}/*_test.cc ${layer}/*/*_test.cc ${layer}/*_suite.cc)
  list(FILTER sources EXCLUDE REGEX "_(mpi|job|ucx)_test\\.cc$")
  if(HVD_SANITIZE STREQUAL "thread")
    if(NOT HVD_ALL_TESTS AND NOT layer IN_LIST HVD_CONCURRENT_LAYERS)
      return()
    endif()
    foreach(source ${sources})
      if(source MATCHES "_suite\\.cc$")
        continue()
      endif()
      file(STRINGS ${source} starts REGEX "${HVD_STARTS_THREADS}" LIMIT_COUNT 1)
      # Clang's ThreadSanitizer defines these itself.
      file(STRINGS ${source} replaces REGEX "operator new\\(" LIMIT_COUNT 1)
      if(NOT starts OR replaces)
        list(REMOVE_ITEM sources ${source})
      endif()
    endforeach()
  endif()
  if(sources)
    hvd_test_program(${layer}_test ${sources})
    target_link_libraries(${layer}_test PRIVATE GTest::gtest_main)
    hvd_register_cases(${layer}_test ${layer} unit)
  endif()
endfunction()

# Programs whose cases are split among several processes, which are shorter, or lighter:
# ThreadSanitizer keeps state of each thread, and fake GPUs have many threads.
set(HVD_SHARDS_device_test 4)
set(HVD_SHARDS_ops_test 4)
set(HVD_SHARDS_collective_test 2)
set(HVD_SHARDS_runtime_test 4)
# It mostly waits for launchers.
set(HVD_COST_horovodrun_mpi_test 50)

# The build in the names of the lists below: `address`, `thread` or `plain`.
set(HVD_TEST_BUILD plain)
if(HVD_SANITIZE)
  set(HVD_TEST_BUILD ${HVD_SANITIZE})
endif()

# Tests that do not work under a sanitizer. ThreadSanitizer starts no thread in the child of a
# fork, and reports each descriptor that a test closes under another thread. Much work on GPUs
# makes a slow stream look like a hung one. Calls of few tensors remain.
set(much_on_gpus "GpuFaults.*ManyTensors:GpuFaults.*ManyCalls:GpuFaults.*InALargeTensor*")
set(HVD_UNFIT_address_device_test "${much_on_gpus}")
set(HVD_UNFIT_thread_device_test "${much_on_gpus}")
set(HVD_UNFIT_thread_transport_test
  "WatchedProcess.GoesOnWithoutItsFirstThread:WithAChild.*:TcpWithAChild.*:LivenessLocks.Tell*\
:*PeerWatchByAnyWay.EndsAndAccusesNoRankIfItsDescriptorsAreClosed*")

# Tests that take a sanitizer minutes, and whose code other tests run under it. They check values of
# every type and size, jobs of every size, losses and bytes, and states of single-threaded code.
# `dev` and `make test-all` run all tests.
#
# These programs are neither built nor run. The models are single-threaded code over the tested
# operations; planes between processes run in collective_job_test, and over MPI in
# runtime_mpi_test and transport_mpi_test.
set(HVD_LEFT_OUT_address_programs models_test collective_mpi_test)
set(HVD_LEFT_OUT_address_coordinator_test "SurvivorVote.EveryInterleaving*")
# Every reduction of every size, and the bits of results, between ranks. Other calls of each plane,
# and ReduceKernel, take the same paths. Adasum's other calls are the calls of the ring and of
# shared memory.
set(HVD_LEFT_OUT_address_collective_test
  "*AllreduceEqualsTheReference*:*ReducescatterGivesEachRank*:*FloatsAreBitEqual*\
:*GivesATensorTheSameBits*:ReduceKernelBits*:LargeTensor*:AdasumPlane.FollowsTheFormulaInDefault*\
:AdasumPlane.MergesEachTensor*:DirectCircuit.GivesTheSame*:*MovesLargeTensorsWithTheDefaults\
:AdasumOfThreads/Plane*:BesideArenas*:PartlyInArenas*:NodesBesideMemory*")
# Two ranks on a node, and nodes of two and one of three ranks, remain.
set(other_layouts "Threads/RuntimeSuite*On1:Threads/RuntimeSuite*On3:Threads/RuntimeSuite*On4\
:Threads/RuntimeSuite*On2By1:Threads/RuntimeSuite*On4By2:Threads/RuntimeSuite*On4By3")
set(HVD_LEFT_OUT_address_runtime_test "*Determinism*:${other_layouts}")
# Of two to four ranks, three remain; each compressor has tests in jobs of its own.
set(HVD_LEFT_OUT_address_optim_test "*ExactlyOnce*_on_2:*ExactlyOnce*_on_4:*Convergence*")
# Smaller shapes take the same paths.
set(HVD_LEFT_OUT_address_ops_test "Shapes/BatchNorm.HasItsFirstAndSecondDerivatives/4")
set(HVD_LEFT_OUT_thread_runtime_test "*Determinism*:*LargeTensorsArriveWhole*\
:NamedCallsTest.NamesThatAreNotUsedAgainAreDropped:${other_layouts}:Threads/Reform*NodesOfOne*")
# Ranks share memory in the planes of one node and of several; other planes send messages.
set(HVD_LEFT_OUT_thread_collective_test "Adasum*:ShmAdasum*:Ring*:StagedOfThreads*\
:NodesBesideMemory*:InReadOnlyArenas*:PartlyInArenas*:NodesOfThreads*Reference*\
:NodesOfThreads*PartOfAnAllreduce*:*MovesLargeTensorsWithTheDefaults\
:HierarchicalPlane.SkipsTheVoteBeforeCertainCalls:*FloatsAreBitEqual*\
:*GivesATensorTheSameBits*")
# Of 10,000 random programs a quarter, without a sanitizer.
set(HVD_LEFT_OUT_plain_simulation_test
  "Seeds/RandomPrograms.*/1:Seeds/RandomPrograms.*/2:Seeds/RandomPrograms.*/3")
# The layers whose tests ThreadSanitizer runs: the others start threads only through these.
set(HVD_CONCURRENT_LAYERS core telemetry transport coordinator collective runtime snapshot device
  kernel autograd c)

# Between processes only the parts that other planes do for it differ, and these have tests
# of their own.
set(HVD_ON_TWO_collective_job_test "StagedOfProcesses/*")

# hvd_register_cases(<program> <name> <label>): the ctest entry <name>, or entries <name>.1
# to <name>.<n>, one for each process.
function(hvd_register_cases program name label)
  set(shards 1)
  if(DEFINED HVD_SHARDS_${program})
    set(shards ${HVD_SHARDS_${program}})
  endif()
  # Approximate seconds: long tests start first.
  set(cost ${shards})
  if(DEFINED HVD_COST_${program})
    set(cost ${HVD_COST_${program}})
  elseif(HVD_SANITIZE)
    math(EXPR cost "10 + ${shards}")
  endif()
  set(left_out "${HVD_UNFIT_${HVD_TEST_BUILD}_${program}}")
  if(NOT HVD_ALL_TESTS AND DEFINED HVD_LEFT_OUT_${HVD_TEST_BUILD}_${program})
    string(APPEND left_out ":${HVD_LEFT_OUT_${HVD_TEST_BUILD}_${program}}")
  endif()
  set(environment "${HVD_TEST_ENVIRONMENT}")
  if(left_out)
    list(APPEND environment "GTEST_FILTER=-${left_out}")
  endif()
  foreach(shard RANGE 1 ${shards})
    set(test ${HVD_TEST_PREFIX}${name})
    if(shards GREATER 1)
      string(APPEND test .${shard})
    endif()
    math(EXPR index "${shard} - 1")
    add_test(NAME ${test}
      COMMAND ${HVD_TEST_LAUNCHER} $<TARGET_FILE:${program}> --gtest_brief=1)
    set_tests_properties(${test} PROPERTIES LABELS ${label} TIMEOUT 900 COST ${cost}
      ENVIRONMENT "${environment};GTEST_TOTAL_SHARDS=${shards};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

function(hvd_mpi_tests layer)
  file(GLOB sources CONFIGURE_DEPENDS
    ${layer}/*_mpi_test.cc ${layer}/*/*_mpi_test.cc)
  hvd_is_left_out(left_out ${layer}_mpi_test)
  if(left_out OR NOT sources)
    return()
  endif()
  file(GLOB suites CONFIGURE_DEPENDS ${layer}/*_suite.cc)
  hvd_test_program(${layer}_mpi_test ${sources} ${suites} support/mpi_main.cc)
  target_link_libraries(${layer}_mpi_test PRIVATE hvd_mpi_internals MPI::MPI_CXX)
  set(sizes 1 2 3 4)
  if(HVD_SANITIZE)
    set(sizes 2)
  endif()
  foreach(ranks ${sizes})
    hvd_add_mpi_test(${layer}.mpi.np${ranks} ${ranks} $<TARGET_FILE:${layer}_mpi_test>)
  endforeach()
endfunction()

function(hvd_job_tests layer)
  file(GLOB sources CONFIGURE_DEPENDS
    ${layer}/*_job_test.cc ${layer}/*/*_job_test.cc)
  if(NOT sources OR NOT TARGET horovodrun)
    return()
  endif()
  file(GLOB suites CONFIGURE_DEPENDS ${layer}/*_suite.cc)
  hvd_test_program(${layer}_job_test ${sources} ${suites} support/job_main.cc)
  set(sizes 1 2 3 4)
  if(HVD_SANITIZE)
    set(sizes 2)
  endif()
  foreach(ranks ${sizes})
    set(test ${HVD_TEST_PREFIX}${layer}.job.np${ranks})
    add_test(NAME ${test} COMMAND horovodrun --no-mpi -np ${ranks}
      $<TARGET_FILE:${layer}_job_test> --gtest_brief=1)
    hvd_process_test_properties(${test} ${ranks} job)
    if(DEFINED HVD_ON_TWO_${layer}_job_test AND NOT ranks EQUAL 2)
      set_property(TEST ${test} APPEND PROPERTY
        ENVIRONMENT "GTEST_FILTER=-${HVD_ON_TWO_${layer}_job_test}")
    endif()
  endforeach()
endfunction()

# hvd_add_mpi_test(<name> <ranks> <command>...): the command under mpirun.
function(hvd_add_mpi_test name ranks)
  add_test(NAME ${HVD_TEST_PREFIX}${name}
    COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${ARGN})
  hvd_mpi_test_properties(${HVD_TEST_PREFIX}${name} ${ranks})
endfunction()

# More ranks than cores, and root in a container, are normal for a test. Open MPI leaks
# memory when it ends, so only unit tests look for leaks.
function(hvd_mpi_test_properties test ranks)
  hvd_process_test_properties(${test} ${ranks} mpi ASAN_OPTIONS=detect_leaks=0
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
    PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
    OMPI_MCA_btl_vader_single_copy_mechanism=none)
endfunction()

# hvd_process_test_properties(<test> <ranks> <label> <variable>=<value>...): waiting ranks
# leave their cores to others, so a job counts as two programs at most. Jobs begin first:
# while tests that take one slot remain, two slots are seldom free at once.
function(hvd_process_test_properties test ranks label)
  set(processors ${ranks})
  if(ranks GREATER 2)
    set(processors 2)
  endif()
  set(environment ${HVD_TEST_ENVIRONMENT} ${ARGN}
    "HOROVODPP_CACHE_DIR=${CMAKE_BINARY_DIR}/cache")
  set_tests_properties(${test} PROPERTIES LABELS ${label} TIMEOUT 900 PROCESSORS ${processors}
    COST 100 ENVIRONMENT "${environment}")
endfunction()
