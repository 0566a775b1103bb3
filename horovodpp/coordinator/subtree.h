// SPDX-License-Identifier: Apache-2.0
// A Subtree is a leader's record of the ranks below it in the tree: the ranks
// of its node and of its children's subtrees. It counts their messages. When
// all concerned ranks have sent a message, the Subtree passes it on once for
// all.
//
// A rank that has joined a process set counts as having sent everything about
// that set. This is safe because a rank's Joined follows all its proposals on
// the same path.
//
// A pure state machine: no thread, no clock, no I/O.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "horovodpp/coordinator/protocol/message.h"
#include "horovodpp/coordinator/protocol/name_table.h"
#include "horovodpp/coordinator/protocol/process_sets.h"
#include "horovodpp/coordinator/protocol/tree.h"

namespace hvd::coordinator {

class Subtree {
 public:
  // For `node`. `sets`: the process sets that exist from the start.
  Subtree(std::shared_ptr<const Tree> tree, int node, const ProcessSets& sets);

  // Takes an upward `message` from rank `from`, of this node or a child's
  // leader.
  //   InvalidArgument  that rank cannot have sent this message
  absl::Status receive(int from, Message message);

  // `id` of process set `set` is complete on this node.
  absl::Status complete_here(std::uint32_t id, ProcessSetId set);

  // The schedule continues with `records`. `definitions` looks up operations.
  using Definitions = std::function<const Define*(std::uint32_t id)>;
  void scheduled(const std::vector<Record>& records,
                 const Definitions& definitions);
  // Records the process set of an id, for counting.
  void defined(const Define& definition);

  // Messages that all concerned ranks have sent, for the parent, in order.
  // Valid until the next call.
  std::vector<Message>& take_messages();
  bool has_messages() const { return !messages_.empty(); }

 private:
  // A set of reporters to this leader: local ranks and children, a bit for
  // each.
  struct Sources {
    std::uint64_t ranks = 0;
    std::uint64_t children = 0;

    bool includes(const Sources& other) const {
      return (other.ranks & ~ranks) == 0 && (other.children & ~children) == 0;
    }
    Sources operator|(const Sources& other) const {
      return {ranks | other.ranks, children | other.children};
    }
    bool overlaps(const Sources& other) const {
      return (ranks & other.ranks) != 0 || (children & other.children) != 0;
    }
    bool empty() const { return ranks == 0 && children == 0; }
    bool operator==(const Sources&) const = default;
  };

  struct Set {
    Sources members = {};
    Sources joined = {};
    int last_joined = 0;
  };
  struct Count {
    Sources from = {};
    Propose merged = {};
  };

  std::optional<Sources> source_of(int rank) const;
  Sources members_of(const std::vector<int>& ranks) const;
  Sources all_sources() const;
  void add_set(ProcessSetId id, const std::vector<int>& ranks);

  absl::Status take(const Sources& from, Propose& message);
  absl::Status take(const Sources& from, Outdated& message);
  absl::Status take(const Sources& from, Ready& message);
  absl::Status take(const Sources& from, Passed& message);
  absl::Status take(const Sources& from, Join& message);
  absl::Status take(const Sources& from, Joined& message);
  absl::Status take(const Sources& from, Leave& message);
  absl::Status take(const Sources& from, AllLeft& message);
  absl::Status take(const Sources& from, Stop& message);
  absl::Status take(const Sources& from, Halted& message);
  absl::Status take(const Sources& from, Measured& message);
  template <typename M>
  absl::Status take(const Sources& from, M& message);

  // The reporters that submit the request, and those that need not any more.
  Set concerned_by(const Request& request) const;
  absl::Status count_ready(const Sources& from, std::uint32_t id,
                           ProcessSetId set);
  void left(const Sources& from);
  void forward_if_complete(RequestMap<Count>::iterator proposal);
  void forget_set(ProcessSetId id);

  const std::shared_ptr<const Tree> tree_;
  const int node_;
  absl::flat_hash_map<ProcessSetId, Set> sets_;
  RequestMap<Count> proposals_;  // As first received.
  absl::flat_hash_map<std::uint32_t, ProcessSetId> set_of_id_;
  absl::flat_hash_map<std::uint32_t, Sources> ready_;
  absl::flat_hash_map<std::uint32_t, Sources> passed_;
  Sources left_ = {};
  bool leave_is_forwarded_ = false;
  std::optional<std::uint32_t> stopped_run_;
  Sources halted_ = {};
  Halted least_ = {};
  struct Measuring {
    Sources from = {};
    Measured latest = {};
  };
  std::map<std::uint32_t, Measuring> measuring_;  // By number.
  std::vector<Message> messages_;
  std::vector<Message> taken_;  // Kept to reuse its memory.
};

}  // namespace hvd::coordinator
