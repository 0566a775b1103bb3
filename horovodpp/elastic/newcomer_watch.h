// SPDX-License-Identifier: Apache-2.0
// A NewcomerWatch tells all ranks at the same boundary that newcomers wait.
// Rank 0 broadcasts their number while the ranks compute. The ranks read it at
// the next boundary, so no rank waits.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "horovodpp/core/thread/future.h"

namespace hvd::elastic {

class NewcomerWatch {
 public:
  // Whether newcomers waited at the last call. Every rank calls it, equally
  // often. False if the launcher adds no ranks to this job.
  //   hvd::Error  the job is broken
  bool look();
  // Drops the broadcast of a job that has ended.
  void forget() { news_.reset(); }

 private:
  struct News {
    std::int32_t waiting = 0;
    Future<void> told = {};
  };
  std::unique_ptr<News> news_;  // In flight. Or null.
};

}  // namespace hvd::elastic
