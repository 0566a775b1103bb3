// SPDX-License-Identifier: Apache-2.0
// Each Work in horovodpp. Forms:
//
//   name      in place, on memory of the process, by name
//   arena     the same on memory that the ranks of the node share
//   shuffled  as `name`, submitted in a new order by each rank each time
//   extra     as `name`, with one more number every ten times
//   group     as `name`, all tensors in one call
//   handle    as `name`, or `into`, prepared once
//   new       into memory that the call returns
//   into      into memory that is kept
#pragma once

#include <memory>

#include "test/benchmark/peers/harness.h"

namespace hvd::benchmark {

// nullptr if there is no such form. Collective.
std::unique_ptr<Task> own_task(const Work& work);

}  // namespace hvd::benchmark
