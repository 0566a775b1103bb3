// The Registrar is the root's part of the protocol: it hears what each rank
// proposes, checks that all proposals for a name agree, gives names their ids,
// and puts what is complete on all nodes into the one order in which every rank
// executes it.
//
// A pure state machine: no thread, no clock of its own, no I/O. Only rank 0 has
// one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "horovodpp/coordinator/message.h"
#include "horovodpp/core/clock.h"

namespace hvd::coordinator {

class Registrar {
 public:
  struct Options {
    int ranks = 1;
    int nodes = 1;
    // Ids kept at a time, the least recently executed gives way; 0: none is
    // kept.
    std::uint32_t capacity = 1024;
    std::size_t fusion_threshold = 128u << 20;
    // The longest a batch below the threshold waits for company.
    Clock::Duration hold_back{0};
  };

  explicit Registrar(const Options& options);

  // Rank `from` proposes. InvalidArgument if the rank breaks the protocol.
  absl::Status propose(int from, const Request& request);

  // Rank `from` has executed the schedule beyond the retirement of `id`.
  absl::Status passed(int from, std::uint32_t id);

  // `id` is complete on one more node. Ids that are retired meanwhile are
  // ignored: their ranks propose anew.
  void ready(std::uint32_t id);

  // Rank `from` shuts down.
  absl::Status leave(int from);
  // Every rank has, and the schedule has said so.
  bool finished() const { return left_ == options_.ranks && queue_.empty(); }

  // Messages for every rank, in order.
  std::vector<Message> take_announcements();

  // What the schedule goes on with, in whole batches; at most kMaxAppend
  // records.
  std::vector<Record> cut(Clock::TimePoint now);

  // When cut() will have something it now holds back, if it does.
  std::optional<Clock::TimePoint> held_until() const;

 private:
  struct Proposals {
    std::vector<std::optional<Request>> by_rank;
    int count = 0;
  };
  struct Live {
    Request request;
    std::uint32_t slot = 0;
    int nodes_ready = 0;
    std::uint64_t last_run = 0;
  };
  struct Retired {
    std::uint32_t slot = 0;
    std::vector<bool> passed_by;
    int passed = 0;
  };
  struct Queued {
    Record record;
    Request request;  // Of a run.
    bool is_run() const { return record.kind == RecordKind::kRun; }
  };

  void decide(const std::string& name, const Proposals& proposals);
  std::uint32_t take_slot();
  void retire(std::uint32_t id);
  void enqueue_run(std::uint32_t id, const Request& request);
  std::size_t leading_runs() const;

  Options options_;
  absl::flat_hash_map<std::string, Proposals> proposals_;
  absl::flat_hash_map<std::uint32_t, Live> live_;
  absl::flat_hash_map<std::string, std::uint32_t> id_of_;
  absl::flat_hash_map<std::uint32_t, Retired> retired_;
  std::vector<std::uint32_t> free_slots_;
  std::uint32_t next_id_ = 0;
  std::uint64_t runs_ = 0;
  std::deque<Queued> queue_;
  std::size_t queued_bytes_ = 0;
  std::optional<Clock::TimePoint> waiting_since_;
  std::vector<Message> announcements_;
  std::vector<bool> has_left_;
  int left_ = 0;
};

}  // namespace hvd::coordinator
