// SPDX-License-Identifier: Apache-2.0
// Each Work as horovodpp does it. Forms:
//
//   name      in place, on memory of the process, by name
//   arena     the same on memory that the ranks of the node share
//   shuffled  as `name`, submitted in an order of its own by each rank each time
//   extra     as `name`, with one more number every ten times
//   group     as `name`, all tensors in one call
//   new       into memory that the call returns
#pragma once

#include <memory>

#include "test/benchmark/peers/harness.h"

namespace hvd::benchmark {

// Null where there is nothing like it. Collective.
std::unique_ptr<Task> own_task(const Work& work);

}  // namespace hvd::benchmark
