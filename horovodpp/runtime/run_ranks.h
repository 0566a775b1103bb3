// SPDX-License-Identifier: Apache-2.0
// Runs a job whose ranks are threads of this process: data parallelism without
// a launcher, for one program, one notebook or one test.
//
//   std::vector<double> losses = hvd::run_ranks(4, [&] {
//     Net model;                               // One of each in every rank.
//     hvd::DistributedOptimizer optimizer(...);
//     return train(model, optimizer, part(hvd::rank(), hvd::size()));
//   });
//
// In each thread hvd::rank(), the collectives and everything built on them
// belong to that rank. The program reads as it would for processes, and gives
// the same results, bit by bit. Give each rank its own model, optimizer and
// loader; state that threads share is the program's responsibility.
#pragma once

#include "horovodpp/core/needs_cxx17.h"  // Comes first.

#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "horovodpp/core/error.h"
#include "horovodpp/core/export.h"
#include "horovodpp/runtime/settings/config.h"

namespace HVD_EXPORT hvd {

namespace internal {

// Runs `body(rank)` as each rank; see run_ranks().
void run_rank_threads(int ranks, const Config& config,
                      const std::function<void(int rank)>& body);

}  // namespace internal

// Calls `body` on each of `ranks` ranks at the same time, and returns when all
// calls have returned. Its value is their values by rank, if they return any.
// If a rank throws, run_ranks() throws the first exception. The failure breaks
// the job for the others, whose collectives then fail with Aborted and name
// that rank.
// In `body`, init() finds the job started, and shutdown() leaves it early. The
// launcher of this process does not matter: a rank of an MPI job may run ranks.
// `config` defaults to Config::from_env().
//   InvalidArgument    `ranks` is below 1
//   ResourceExhausted  the system cannot create so many threads
//   (others)           as Runtime::start and Config::from_env
template <typename F>
auto run_ranks(int ranks, F&& body, const Config& config) {
  using Result = std::invoke_result_t<F&>;
  if constexpr (std::is_void_v<Result>) {
    internal::run_rank_threads(ranks, config, [&](int) { body(); });
  } else {
    std::vector<std::optional<std::decay_t<Result>>> given(
        static_cast<std::size_t>(ranks < 0 ? 0 : ranks));
    internal::run_rank_threads(ranks, config, [&](int rank) {
      given[static_cast<std::size_t>(rank)].emplace(body());
    });
    std::vector<std::decay_t<Result>> results;
    results.reserve(given.size());
    for (auto& result : given) results.push_back(*std::move(result));
    return results;
  }
}

template <typename F>
auto run_ranks(int ranks, F&& body) {
  return run_ranks(ranks, std::forward<F>(body),
                   value_or_throw(Config::from_env()));
}

}  // namespace hvd
