// SPDX-License-Identifier: Apache-2.0
// A job whose ranks are threads of this process: data parallelism without a
// launcher, for one program, one notebook or one test.
//
//   std::vector<double> losses = hvd::run_ranks(4, [&] {
//     Net model;                               // One of each in every rank.
//     hvd::DistributedOptimizer optimizer(...);
//     return train(model, optimizer, part(hvd::rank(), hvd::size()));
//   });
//
// In each thread hvd::rank(), the collectives and whatever is built on them are
// those of its rank, so that the program reads as it would for processes, and
// gives the same results, bit by bit. What the program shares among its threads
// is its own affair: models, optimizers and loaders are one rank's each.
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

// Calls `body` once for each of `ranks`, at the same time, and returns when all
// calls have: what they returned, by rank, where they return something. What the
// first rank to fail threw is thrown here; it breaks the job for the others,
// whose collectives then fail with Aborted and name it.
// An init() in `body` finds the job started; a shutdown() leaves it early. What
// started this process does not matter: a rank of an MPI job may run ranks.
// `config` without one is Config::from_env().
//   InvalidArgument    `ranks` is below 1
//   ResourceExhausted  the system has no more threads
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
