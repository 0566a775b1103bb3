// SPDX-License-Identifier: Apache-2.0
// A simulated job at work, and its events.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "horovodpp/coordinator/coordinator.h"
#include "horovodpp/core/thread/clock.h"
#include "test/simulation/job.h"
#include "test/simulation/meeting.h"
#include "test/simulation/random.h"
#include "test/simulation/simulated_rank.h"

namespace hvd::simulation {

// The events of a simulated job, in the order of virtual time.
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

// A RunningJob is one run of a program: the implementation of job.h.
struct alignas(128) Block {
  std::byte bytes[128] = {};
};

class RunningJob {
 public:
  RunningJob(const Program& program, bool trace);
  Report run();

 private:
  SimulatedRank& rank(int index) {
    return ranks_[static_cast<std::size_t>(index)];
  }
  void build_rank(int index, int local_rank);
  std::chrono::nanoseconds pace(int rank, std::chrono::nanoseconds mean);
  void handle(const Event& event);

  void act(int index, int thread);
  void resume_callers(int index);
  void wake(int index);
  void turn(int index, std::uint32_t part);
  void take_in(int index);
  void give_out(int index);
  void execute(int index);
  void end_turn(int index);
  void send(int from, std::vector<coordinator::Outgoing> mail);
  void ring(int index);
  void fail_submissions(int index);

  void enter(int index, coordinator::Batch batch);
  void look_into_batch(int index);
  void measure(int index);
  void finish_batch(int index);
  bool is_early(const coordinator::Batch& batch,
                const std::vector<int>& members);
  void check_entry(int index, const coordinator::Batch::Entry& entry);
  void check_result(const coordinator::Batch& batch, int index, int item);
  void settle(int index, const coordinator::Key& key, Outcome outcome,
              std::int64_t result, const std::string& text);

  void die(int index);
  void break_rank(int index, const std::string& why);
  void check_end();
  void check_end_of_rank(int index);
  void check_end_of_item(int item);

  void fault(const std::string& text);
  void say(int index, const std::string& text);

  const Program& program_;
  const bool trace_;
  Random random_;
  ManualClock clock_;
  Events events_;
  std::shared_ptr<const coordinator::Tree> tree_;
  std::deque<std::vector<Block>> memory_;  // By node.
  std::deque<Room> rooms_;
  std::vector<std::string> broken_nodes_;  // The reason; empty: not broken.
  std::deque<SimulatedRank> ranks_;
  std::deque<std::pair<int, std::string>> letters_;  // Sender and bytes.
  absl::flat_hash_map<std::pair<int, int>, Clock::TimePoint> last_arrival_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, Meeting> meetings_;
  std::map<int, std::int64_t> results_;    // By item.
  std::map<int, std::string> mismatches_;  // Texts, by item.
  Report report_;
};

}  // namespace hvd::simulation
