// A Coordinator is one rank's whole part in deciding what every rank executes
// next, and in which order: what comes in are this rank's submissions and
// peers' mail, what goes out are mail, batches and failures.
//
//   coordinator.submit(request);             // this rank has a tensor
//   coordinator.receive(from, bytes);        // mail
//   coordinator.step();                      // decide
//   for (auto& mail : coordinator.take_outgoing()) send(mail);
//   while (auto batch = coordinator.next_batch()) execute(batch);
//
// In three sentences: a rank says that a tensor has arrived, once, when it
// submits it; when it has arrived everywhere the root puts it into the one
// schedule; every rank executes the schedule in order. On a node this happens
// in shared memory, and only names that have no id yet need mail. Between nodes
// leaders and root exchange Ready and Round, the next one when the last is
// acknowledged: batches form by themselves while the link is busy, and no clock
// is needed.
//
// A pure state machine: no thread, no clock of its own, no I/O but the board.
// Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/coordinator/message.h"
#include "horovodpp/coordinator/negotiator.h"
#include "horovodpp/coordinator/node_board.h"
#include "horovodpp/coordinator/registrar.h"
#include "horovodpp/core/clock.h"

namespace hvd::coordinator {

struct Outgoing {
  int to = 0;
  std::string bytes;
};

// Whom to wake, for what was written to the board.
struct Bells {
  bool leader = false;
  bool node = false;
};

class Coordinator {
 public:
  static constexpr int kRoot = 0;

  struct Options {
    int rank = 0;
    int size = 1;
    // The leaders of all nodes, ascending; the first is the root.
    std::vector<int> leaders = {0};
    int my_leader = 0;
    std::uint32_t epoch = 0;
    std::uint32_t cache_capacity = 1024;
    std::size_t fusion_threshold = 128u << 20;
    Clock::Duration hold_back{0};
  };

  Coordinator(const Options& options, NodeBoard& board, const Clock& clock);

  // This rank has submitted `request`; its name is not in flight here.
  void submit(const Request& request) { negotiator_.submit(request); }

  // This rank shuts down: it submits nothing any more.
  absl::Status leave();

  // Mail from rank `from`. An error breaks the job; a Break of a peer comes
  // back as Aborted with its text. Mail of another epoch is dropped.
  absl::Status receive(int from, std::string bytes);

  // Moves decisions on: what became complete, what is to be scheduled.
  absl::Status step();

  absl::StatusOr<std::optional<Batch>> next_batch() {
    return negotiator_.next_batch();
  }

  // Whether step() has something to say that came up since it was last called.
  bool wants_step() const { return negotiator_.has_news(); }

  std::vector<Outgoing> take_outgoing();
  std::vector<Failure> take_failures() { return negotiator_.take_failures(); }
  Bells take_bells();

  // The mail that tells `to` that the job is broken.
  Outgoing break_mail(int to, const std::string& why) const;

  // Whether something submitted here has no outcome yet.
  bool has_in_flight() const { return negotiator_.has_in_flight(); }
  // Every rank has left, and this one has read the schedule to its end and owes
  // nobody anything.
  bool closed() const {
    return closed_ && pending_.empty() && negotiator_.ended_by().has_value();
  }
  // When step() will do by itself what it now holds back.
  std::optional<Clock::TimePoint> held_until() const;

 private:
  bool is_root() const { return options_.rank == kRoot; }
  bool is_leader() const { return options_.rank == options_.my_leader; }
  bool one_node() const { return options_.leaders.size() == 1; }

  absl::Status deliver(int from, const Message& message);
  absl::Status to_root(int from, const Message& message);
  absl::Status from_root(const Message& message);
  absl::Status send(int to, Message message);
  absl::Status announce();
  absl::Status collect();
  absl::Status schedule();
  void append_pending();
  absl::Status forward_messages();

  const Options options_;
  NodeBoard& board_;
  const Clock& clock_;
  Negotiator negotiator_;
  std::unique_ptr<Registrar> registrar_;  // The root's.

  // A leader's: completed ids not yet told, and schedule not yet written.
  std::vector<std::uint32_t> completed_;
  std::deque<std::vector<Record>> pending_;
  bool ready_is_unseen_ = false;
  bool round_is_unanswered_ = false;
  int rounds_unseen_ = 0;  // The root's.

  std::vector<Outgoing> outgoing_;
  Bells bells_;
  bool closed_ = false;
};

}  // namespace hvd::coordinator
