// SPDX-License-Identifier: Apache-2.0
// The neighbors of a cut have batches half or twice as long. They are worth
// trying where a model of the batches' times is wrong: a model knows only sizes
// that have been measured.
//
// Pure: no thread, no clock, no I/O.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace hvd::coordinator {

// Cuts each batch in two whose bytes differ as little as possible. A batch of
// one operation stays. `bytes`: of each operation; `cuts`: the index after the
// last operation of each batch.
std::vector<std::size_t> halve_batches(std::span<const double> bytes,
                                       std::span<const std::size_t> cuts);

// Joins each batch with the next. The last of an odd number stays alone.
std::vector<std::size_t> join_batches(std::span<const std::size_t> cuts);

}  // namespace hvd::coordinator
