// SPDX-License-Identifier: Apache-2.0
// Some threads call every function of the current job while another thread
// enters and leaves jobs. Each call must return a value or an error.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "horovodpp/core/error.h"
#include "horovodpp/runtime/arena_alloc.h"
#include "horovodpp/runtime/global_collectives.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/runtime/settings/config.h"
#include "test/support/hammer.h"

namespace hvd {
namespace {

using Calls = std::vector<std::function<void()>>;

// Wraps a call that returns a number or throws.
template <typename Ask>
std::function<void()> number(Ask ask, int expected) {
  return [ask, expected] {
    try {
      EXPECT_EQ(ask(), expected);
    } catch (const Error& error) {
      EXPECT_EQ(error.status().code(), StatusCode::kFailedPrecondition);
    }
  };
}

// Rank and size queries: short, so that most meet a job that is ending.
Calls places() {
  return {number(rank, 0),          number(size, 1),
          number(local_rank, 0),    number(local_size, 1),
          number(cross_rank, 0),    number(cross_size, 1),
          number(is_homogeneous, 1)};
}

Calls asking() {
  const ProcessSet all = ProcessSet::global();
  return {
      number([all] { return process_set_size(all); }, 1),
      number([all] { return process_set_rank(all); }, 0),
      number([all] { return process_set_included(all); }, 1),
      number([all] { return process_set_ranks(all).at(0); }, 0),
      number([] { return value_or_throw(find_runtime())->topology().size(); },
             1),
      number(
          [] {
            current_runtime();
            return 0;
          },
          0),
      [] { is_initialized(); },
      [] { reform().ignore_error(); },
      [] { is_in_arena(arena_alloc_bytes(100).get(), 100); },
      [] { EXPECT_FALSE(arena_alloc_on(Device::cuda(100), 8).ok()); },
  };
}

// A view of memory of the calling thread.
TensorView view(int which) {
  thread_local float values[2] = {1, 1};
  return TensorView::of(&values[which], {1});
}

// Each meets a running job, no job, or a job that ends meanwhile.
Calls collectives() {
  return {
      [] { allreduce_(view(0)).ignore_error(); },
      [] { allreduce_(view(0), {.name = "by name"}).ignore_error(); },
      [] { allreduce(view(0)).status().ignore_error(); },
      [] {
        grouped_allreduce_({view(0), view(1)}).ignore_error();
      },
      [] { grouped_allreduce({view(0)}).status().ignore_error(); },
      [] { allgather(view(0)).status().ignore_error(); },
      [] { allgather_into(view(0), view(1)).ignore_error(); },
      [] { grouped_allgather({view(0)}).status().ignore_error(); },
      [] { broadcast_(view(0), 0).ignore_error(); },
      [] { broadcast(view(0), 0).status().ignore_error(); },
      [] { alltoall(view(0)).status().ignore_error(); },
      [] { alltoall_into(view(0), view(1)).status().ignore_error(); },
      [] { reducescatter(view(0)).status().ignore_error(); },
      [] { reducescatter_into(view(0), view(1)).ignore_error(); },
      [] { grouped_reducescatter({view(0)}).status().ignore_error(); },
      [] { barrier().ignore_error(); },
      [] { join().status().ignore_error(); },
      [] { EXPECT_FALSE(add_process_set({0}).ok()); },
      [] { EXPECT_FALSE(remove_process_set(ProcessSet::global()).ok()); },
      [] {
        const auto job = find_runtime();
        if (!job.ok()) return;
        auto call = (*job)->prepare_allreduce_(view(0), {.name = "again"});
        if (call.ok()) call->run().ignore_error();
      },
  };
}

void enter_and_leave() {
  ASSERT_TRUE(init(Config()).ok());
  EXPECT_EQ(rank(), 0);
  EXPECT_TRUE(shutdown().ok());
}

TEST(GlobalThreads, AskingForThePlaceDuringAShutdownIsAValueOrAnError) {
  hammer(places(), 60, enter_and_leave);
}

TEST(GlobalThreads, AskingDuringAShutdownIsAValueOrAnError) {
  hammer(asking(), 25, enter_and_leave);
}

TEST(GlobalThreads, CollectivesDuringAShutdownHaveAnOutcome) {
  hammer(collectives(), 20, enter_and_leave);
}

TEST(GlobalThreads, AskingWhileABrokenJobIsReplacedIsAValueOrAnError) {
  ASSERT_TRUE(init(Config()).ok());
  Calls calls = places();
  calls.push_back([] { barrier().ignore_error(); });
  hammer(calls, 20, [] {
    const auto broken = value_or_throw(find_runtime());
    broken->abort("is tired");
    while (value_or_throw(find_runtime()) == broken) reform().ignore_error();
  });
  EXPECT_TRUE(shutdown().ok());
}

}  // namespace
}  // namespace hvd
