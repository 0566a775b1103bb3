// SPDX-License-Identifier: Apache-2.0
// run() makes a training go on when ranks are lost or join: see state.h.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "horovodpp/core/export.h"
#include "horovodpp/elastic/hosts_updated.h"  // IWYU pragma: export
#include "horovodpp/elastic/state.h"          // IWYU pragma: export

namespace HVD_EXPORT hvd {
namespace elastic {

// Enters the job of the remaining ranks, and of the newcomers that wait; or
// init(), if this process is in no job.
//   hvd::Error  it failed
void enter_next_job();

namespace internal {

void run_body(State& state, const std::function<void()>& body,
              const std::function<void()>& reset);

}  // namespace internal

// Takes the state of the rank that got furthest, and returns body(). When
// ranks are lost or newcomers wait, enters the next job and calls `body` again,
// with the state of the last boundary. Every rank calls it, in a job.
//
// `reset` replaces this thread's job after a loss or for newcomers, for
// programs that hold their Runtime.
//   hvd::Error (DataLoss)  only newcomers are left, which have no state
//   (others)               exceptions of `body` but hvd::Error (Aborted) and
//                          HostsUpdatedInterrupt; and those of `reset`
template <typename F>
auto run(State& state, F&& body,
         const std::function<void()>& reset = enter_next_job) {
  using Result = std::invoke_result_t<F&>;
  if constexpr (std::is_void_v<Result>) {
    internal::run_body(
        state, [&] { body(); }, reset);
  } else {
    std::optional<Result> result;
    internal::run_body(
        state, [&] { result.emplace(body()); }, reset);
    return *std::move(result);
  }
}

}  // namespace elastic
}  // namespace hvd
