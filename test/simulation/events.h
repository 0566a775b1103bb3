// SPDX-License-Identifier: Apache-2.0
// The events of a simulated job, in the order of virtual time.
#pragma once

#include <cstdint>
#include <queue>
#include <vector>

#include "horovodpp/core/clock.h"

namespace hvd::simulation {

struct Event {
  enum class Kind : std::uint8_t {
    kMail,     // to `rank`; `index` selects the letter
    kTurn,     // part `index` of a turn of `rank`
    kCaller,   // thread `index` of `rank` goes on
    kWake,     // `rank` must look for news
    kObserve,  // `rank` sees that its batch, number `index`, is complete
    kNotice,   // `rank` learns that rank `index` is dead
  };
  Clock::TimePoint at = {};
  std::uint64_t order = 0;
  Kind kind = Kind::kTurn;
  int rank = 0;
  std::uint32_t index = 0;
};

class Events {
 public:
  void add(Clock::TimePoint at, Event::Kind kind, int rank,
           std::uint32_t index = 0) {
    queue_.push({at, next_order_++, kind, rank, index});
  }
  bool empty() const { return queue_.empty(); }
  Event next() {
    const Event event = queue_.top();
    queue_.pop();
    return event;
  }

 private:
  struct Later {
    bool operator()(const Event& a, const Event& b) const {
      return a.at != b.at ? a.at > b.at : a.order > b.order;
    }
  };
  std::priority_queue<Event, std::vector<Event>, Later> queue_;
  std::uint64_t next_order_ = 0;
};

}  // namespace hvd::simulation
