// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/report/replay.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>

namespace hvd::launcher::report {
namespace {

// Times of one moment on two threads may differ by this.
constexpr double kSameTimeUs = 5;

class Replay {
 public:
  Replay(const std::vector<ReplayedBatch>& batches, const Intervals& exposed)
      : batches_(batches), exposed_(exposed) {}

  std::vector<Saving> run() {
    for (const ReplayedBatch& batch : batches_) {
      while (next_ < exposed_.size() && exposed_[next_].end <= batch.ready) {
        end_wait(exposed_[next_++]);
      }
      add(batch);
    }
    while (next_ < exposed_.size()) end_wait(exposed_[next_++]);
    return std::move(savings_);
  }

 private:
  struct End {
    double was = 0;
    double now = 0;
  };

  double saved() const { return savings_.empty() ? 0 : savings_.back().us; }

  void add(const ReplayedBatch& batch) {
    const double can_begin = std::max(batch.ready, last_.was);
    // Batches of a GPU overlap: the later one begins when the other ends.
    const double begin = std::max(batch.begin, last_.was);
    const double overhead = std::max(0.0, begin - can_begin);
    const double takes = std::max(0.0, batch.end - begin) * batch.scale;
    const double now =
        std::max(batch.ready - saved(), last_.now) + overhead + takes;
    if (batch.end < last_.was) return;
    last_ = {batch.end, now};
    ends_.push_back(last_);
  }

  void end_wait(const Interval& wait) {
    std::optional<End> last;
    while (ended_ < ends_.size() &&
           ends_[ended_].was <= wait.end + kSameTimeUs) {
      last = ends_[ended_++];
    }
    if (!last || last->was < wait.begin) return;
    const double begins = wait.begin - saved();
    const double ends = last->now + std::max(0.0, wait.end - last->was);
    const double takes = std::clamp(ends - begins, 0.0, wait.length());
    savings_.push_back({wait.end, saved() + wait.length() - takes});
  }

  const std::vector<ReplayedBatch>& batches_;
  const Intervals& exposed_;
  std::size_t next_ = 0;   // In exposed_.
  std::size_t ended_ = 0;  // In ends_.
  std::vector<End> ends_;
  End last_ = {std::numeric_limits<double>::lowest(),
               std::numeric_limits<double>::lowest()};
  std::vector<Saving> savings_;
};

}  // namespace

std::vector<Saving> replay(const std::vector<ReplayedBatch>& batches,
                           const Intervals& exposed) {
  return Replay(batches, exposed).run();
}

double saved_until(const std::vector<Saving>& savings, double time) {
  const auto behind = std::upper_bound(
      savings.begin(), savings.end(), time + kSameTimeUs,
      [](double at, const Saving& saving) { return at < saving.at; });
  return behind == savings.begin() ? 0 : (behind - 1)->us;
}

}  // namespace hvd::launcher::report
