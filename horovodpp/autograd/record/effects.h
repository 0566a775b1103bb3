// SPDX-License-Identifier: Apache-2.0
// Effects of a checkpointed function besides its result, such as a message to
// other ranks, a counter, or a log line. A recomputation must not repeat them.
//
//   hvd::Tensor forward(const hvd::Tensor& x) {
//     double largest = hvd::run_once([&] { return agree_with_peers(x); });
//     return x / largest;       // the same number in the recomputation
//   }
//
// Code that a recomputation can skip entirely checks is_recomputing().
#pragma once

#include <any>
#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "horovodpp/autograd/graph/graph_state.h"
#include "horovodpp/autograd/graph/operation_observer.h"
#include "horovodpp/core/export.h"

namespace HVD_EXPORT hvd {

namespace autograd {

class EffectLog;

// Puts `log` in force on this thread: the log records the results of effects
// or, with `replay`, supplies them.
class EffectScope {
 public:
  EffectScope(EffectLog* log, bool replay)
      : log_(log),
        replay_(replay),
        outer_(std::exchange(graph_state.effects, this)) {}
  ~EffectScope() { graph_state.effects = outer_; }
  EffectScope(const EffectScope&) = delete;
  EffectScope& operator=(const EffectScope&) = delete;

 private:
  friend class EffectLog;
  EffectLog* const log_;
  const bool replay_;
  std::size_t next_ = 0;
  EffectScope* const outer_;
};

// The results of the effects of one run of a region, in order.
class EffectLog {
 public:
  // The recorded result of the next effect if this thread replays, or null.
  //   CheckpointError  the recorded run had fewer effects
  static const std::any* replayed();
  // Records `result` in every log in force that is not replayed.
  static void record(const std::any& result);
  // Whether there is a log in force on this thread.
  static bool is_in_force() { return graph_state.effects != nullptr; }

 private:
  std::vector<std::any> results_;
};

[[noreturn]] void throw_other_effect();

}  // namespace autograd

// Calls `effect` and returns its result. In a recomputation, returns the
// recorded result instead. Outside of checkpointed functions, just calls
// `effect`. The result is copied and lives as long as the region. Tensors in
// the result must not be part of a graph.
//   CheckpointError  the recomputation has other effects than forward
template <typename Effect>
auto run_once(Effect&& effect) {
  using Result = std::decay_t<std::invoke_result_t<Effect&>>;
  if constexpr (std::is_void_v<Result>) {
    if (autograd::EffectLog::replayed() == nullptr) {
      const autograd::WithinOperation once;
      std::forward<Effect>(effect)();
    }
    autograd::EffectLog::record(std::any());
  } else {
    if (const std::any* found = autograd::EffectLog::replayed()) {
      const auto* result = std::any_cast<Result>(found);
      if (result == nullptr) autograd::throw_other_effect();
      autograd::EffectLog::record(*found);
      return *result;
    }
    std::optional<Result> result;
    {
      const autograd::WithinOperation once;
      result = std::forward<Effect>(effect)();
    }
    autograd::EffectLog::record(*result);
    return *std::move(result);
  }
}

}  // namespace hvd
