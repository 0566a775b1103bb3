// SPDX-License-Identifier: Apache-2.0
// A CutSearch decides by measured steps which cut of a step's operations is in
// force. The tuner proposes cuts; the search tries them one at a time and keeps
// the fastest.
//
// A cut counts by its fastest measurement, because other programs only delay
// steps. When there is nothing new to try, the search measures cuts once more
// that were nearly as fast as the best, among them the usual one. One that was
// delayed by chance then wins after all.
//
// Pure: no thread, no clock, no I/O.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "horovodpp/coordinator/tuning/tuning_memory.h"

namespace hvd::coordinator {

// A measurement of a cycle.
struct TuningSample {
  double step_seconds = 0;
  double bytes = 0;          // Of a step.
  double largest_batch = 0;  // Bytes.
  std::size_t batches = 0;
};

class CutSearch {
 public:
  struct Limits {
    int warm_ups = 0;  // Measurements before the first trial.
    int max_trials = 20;
  };
  CutSearch() = default;
  explicit CutSearch(const Limits& limits) : limits_(limits) {}

  // Begins with `best`, before any measurement.
  void begin(Arrangement best) { best_ = std::move(best); }
  bool is_measured() const { return samples_ > 0; }

  const Arrangement& best() const { return best_; }
  // Its fastest measurement; nullopt: it has not been measured.
  std::optional<TuningSample> best_sample() const;

  // The cut `now` in force has been measured. Returns the cut to go back to, if
  // `now` lost.
  std::optional<Arrangement> measured(const Arrangement& now,
                                      const TuningSample& sample);
  // Whether `cut` may be tried now.
  bool may_try(const Arrangement& cut) const;
  // Returns `cut`, whose trial begins.
  Arrangement try_new(Arrangement cut);
  // A cut that should be measured once more, since nothing new is to be tried.
  std::optional<Arrangement> try_close_one();

  // Ranks cannot follow `now`; `usual` is the cut that they can. Returns the cut
  // to change to, if any. The search ends.
  std::optional<Arrangement> could_not_follow(const Arrangement& now,
                                              const Arrangement& usual);

 private:
  struct Tried {
    Arrangement cut = {};
    TuningSample fastest = {};
    int times = 0;  // Measured.
  };

  const Tried* find(const Arrangement& cut) const;
  bool has_trials() const;

  Limits limits_ = {};
  Arrangement best_ = {};
  std::vector<Tried> tried_ = {};
  int samples_ = 0;
  int trials_ = 0;
  int losses_ = 0;  // New cuts since the last one that won.
  bool is_over_ = false;
};

}  // namespace hvd::coordinator
