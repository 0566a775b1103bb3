// SPDX-License-Identifier: Apache-2.0
// Some threads call C functions that use the job while another thread enters
// and leaves jobs. Each call must return a value or a code.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "horovodpp/c/horovodpp.h"
#include "test/support/hammer.h"

namespace hvd {
namespace {

using Calls = std::vector<std::function<void()>>;

// A call that returns a number, or -1.
std::function<void()> number(std::int32_t (*ask)(), std::int32_t expected) {
  return [ask, expected] {
    const std::int32_t answer = ask();
    if (answer == expected) return;
    EXPECT_EQ(answer, -1);
    EXPECT_EQ(hvd_last_error_code(), HVD_FAILED_PRECONDITION);
  };
}

float* values() {
  thread_local float two[2] = {1, 1};
  return two;
}

// A tensor of one element, in memory of the calling thread.
hvd_tensor* tensor(int which) {
  static const std::int64_t dims[] = {1};
  thread_local hvd_tensor both[2] = {};
  both[which] = {values() + which, dims, 1, HVD_FLOAT32, HVD_CPU};
  return &both[which];
}

// Begins an operation, and waits for its end.
template <typename Begin>
std::function<void()> operation(Begin begin) {
  return [begin] {
    hvd_operation handle = 0;
    if (begin(&handle) != HVD_OK) return;
    std::int32_t done = 0;
    hvd_poll(handle, &done);
    hvd_wait_for(handle, 0, &done);
    hvd_tensor result = {};
    const std::int64_t* splits = nullptr;
    std::size_t count = 0;
    std::int32_t last = 0;
    if (hvd_wait(handle) == HVD_OK) {
      hvd_result(handle, 0, &result);
      hvd_received_splits(handle, &splits, &count);
      hvd_joined_last(handle, &last);
    }
    hvd_wait_in_stream(handle, nullptr);
    EXPECT_EQ(hvd_release(handle), HVD_OK);
  };
}

// Prepares an operation, and runs it.
template <typename Prepare>
std::function<void()> prepared(Prepare prepare) {
  return [prepare] {
    hvd_prepared handle = 0;
    if (prepare(&handle) != HVD_OK) return;
    std::int32_t done = 0;
    hvd_prepared_start(handle);
    hvd_prepared_poll(handle, &done);
    hvd_prepared_wait(handle);
    hvd_prepared_run(handle);
    EXPECT_EQ(hvd_prepared_release(handle), HVD_OK);
  };
}

void reduce() {
  hvd_reducer reducer = 0;
  if (hvd_reducer_create(nullptr, &reducer) != HVD_OK) return;
  double sum = 1;
  hvd_reducer_stats stats = HVD_REDUCER_STATS;
  std::int32_t is_last = 0;
  const hvd_gradient_piece piece = {"piece", 0, 1};
  hvd_reducer_expect(reducer, "weight", 1);
  hvd_reducer_contribute(reducer, "weight", &is_last);
  hvd_reducer_add(reducer, "weight", tensor(0));
  hvd_reducer_add_pieces(reducer, values() + 1, 1, HVD_FLOAT32, &piece, 1);
  hvd_reducer_finish(reducer);
  hvd_reducer_sum(reducer, "loss", &sum, 1);
  hvd_reducer_discard(reducer);
  hvd_reducer_get_stats(reducer, &stats);
  EXPECT_EQ(hvd_reducer_destroy(reducer), HVD_OK);
}

// Rank and size queries: short, so that most meet a job that is ending.
Calls places() {
  return {number(hvd_rank, 0),          number(hvd_size, 1),
          number(hvd_local_rank, 0),    number(hvd_local_size, 1),
          number(hvd_cross_rank, 0),    number(hvd_cross_size, 1),
          number(hvd_is_homogeneous, 1)};
}

Calls asking() {
  return {
      [] { hvd_is_initialized(); },
      [] { hvd_job_status(); },
      [] { EXPECT_NE(hvd_reform(), HVD_OK); },
      [] {
        std::size_t count = 1;
        std::int32_t rank = 0;
        hvd_process_set_ranks(HVD_GLOBAL_PROCESS_SET, nullptr, 0, &count);
        EXPECT_EQ(count, 1u);
        hvd_process_set_rank(HVD_GLOBAL_PROCESS_SET, &rank);
        EXPECT_EQ(rank, 0);
      },
      [] {
        void* const memory = hvd_arena_alloc(100);
        hvd_is_in_arena(memory, 100);
        EXPECT_EQ(hvd_arena_free(memory), HVD_OK);
        void* none = nullptr;
        EXPECT_NE(hvd_arena_alloc_on(HVD_CUDA(100), 8, &none), HVD_OK);
      },
  };
}

// All functions that begin or prepare an operation find the job in one
// function: a few suffice.
Calls collectives() {
  return {
      [] { hvd_allreduce(values(), 1, HVD_FLOAT32, nullptr); },
      [] { hvd_broadcast(values(), 1, HVD_FLOAT32, 0, nullptr); },
      [] { hvd_barrier(HVD_GLOBAL_PROCESS_SET); },
      [] {
        const char* const name = "weight";
        hvd_broadcast_tensors(&name, tensor(0), 1, 0, nullptr);
      },
      operation([](auto* done) {
        return hvd_allreduce_async(tensor(0), 1, nullptr, done);
      }),
      operation([](auto* done) {
        return hvd_alltoall_async(tensor(0), nullptr, done);
      }),
      operation([](auto* done) {
        return hvd_join_async(HVD_GLOBAL_PROCESS_SET, done);
      }),
      prepared([](auto* call) {
        hvd_allreduce_options options = HVD_ALLREDUCE_OPTIONS;
        options.name = "again";
        return hvd_prepare_allreduce(tensor(0), 1, &options, call);
      }),
      [] {
        const std::int32_t rank = 0;
        hvd_process_set set = 0;
        EXPECT_NE(hvd_add_process_set(&rank, 1, &set), HVD_OK);
        EXPECT_NE(hvd_remove_process_set(HVD_GLOBAL_PROCESS_SET), HVD_OK);
      },
      reduce,
  };
}

void enter_and_leave() {
  ASSERT_EQ(hvd_init(HVD_C_VERSION), HVD_OK);
  EXPECT_EQ(hvd_rank(), 0);
  EXPECT_EQ(hvd_shutdown(), HVD_OK);
}

TEST(CThreads, AskingForThePlaceDuringAShutdownGivesAValueOrACode) {
  hammer(places(), 60, enter_and_leave);
}

TEST(CThreads, AskingDuringAShutdownGivesAValueOrACode) {
  hammer(asking(), 25, enter_and_leave);
}

TEST(CThreads, CollectivesDuringAShutdownHaveAnOutcome) {
  hammer(collectives(), 20, enter_and_leave);
}

}  // namespace
}  // namespace hvd
