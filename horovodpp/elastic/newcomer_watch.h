// SPDX-License-Identifier: Apache-2.0
// A NewcomerWatch tells all ranks at the same boundary that newcomers wait.
// Rank 0 broadcasts their number while the ranks compute, and the ranks read it
// some boundaries later, so no rank waits. With short steps they look less
// often than at each step: rank 0 also tells how many boundaries to skip.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>

#include "horovodpp/core/thread/future.h"

namespace hvd {
class Runtime;
}

namespace hvd::elastic {

class NewcomerWatch {
 public:
  // Whether newcomers waited a moment ago. Every rank calls it, equally often.
  // False if the launcher adds no ranks to this job.
  //   hvd::Error  the job is broken
  bool look();
  // Begins anew, in another job.
  void forget() { *this = NewcomerWatch(); }

 private:
  using Clock = std::chrono::steady_clock;
  struct News {
    // The newcomers, and the boundaries until the ranks read the next news.
    std::array<std::int32_t, 2> numbers = {};
    Future<void> told = {};
  };
  void ask(Runtime& job);

  std::unique_ptr<News> news_;    // In flight. Or null.
  int interval_ = 1;              // Boundaries,
  int passed_ = 0;                // of which so many are passed
  Clock::time_point since_ = {};  // since then.
};

}  // namespace hvd::elastic
