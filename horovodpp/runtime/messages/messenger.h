// SPDX-License-Identifier: Apache-2.0
// A Messenger sends and receives one rank's messages: the operations send and
// receive, which two ranks settle between them, without the coordinator. The
// sender offers a message to the receiver, which pairs it with a receive
// (match_table.h). A send ends when its message was received.
//
// Data take one of four ways:
// - Few bytes travel with the offer.
// - Bytes in the sender's arena are copied from there by a receiver of the same
//   node.
// - Other bytes for a rank of the node are copied into the sender's arena, in
//   parts if they are many.
// - Bytes for a rank of another node go in parts by mail.
//
// Each side copies between its own memory and memory that both know, so that no
// rank writes into the tensors of another. A rank in a collective goes on with
// its messages.
//
// Driven by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/collective/arena/map.h"
#include "horovodpp/coordinator/protocol/submission.h"
#include "horovodpp/coordinator/tensor_queue.h"
#include "horovodpp/core/job/topology.h"
#include "horovodpp/core/thread/clock.h"
#include "horovodpp/runtime/messages/letter.h"
#include "horovodpp/runtime/messages/match_table.h"
#include "horovodpp/transport/node/mail.h"

namespace hvd::runtime {

class Messenger {
 public:
  // The means of a rank, all of which outlive the Messenger.
  struct Means {
    const Topology& topology;   // Ranks of a node share memory.
    transport::NodeMail& near;  // Reaches every rank of the node.
    collective::ArenaMap& arenas;
    coordinator::TensorQueue& queue;
    const Clock& clock = Clock::steady();
    // How long an operation waits before it is reported, and before the job
    // fails. Zero: forever. A receive whose message has not come is
    // reported once, and never fails the job.
    Clock::Duration stall_warning{0};
    Clock::Duration stall_shutdown{0};
    // Names a rank with host and pid.
    std::function<std::string(int rank)> describe;
    // Sends mail to a rank of another node.
    std::function<absl::Status(int to, std::string bytes)> send_far;
  };
  explicit Messenger(Means means) : means_(std::move(means)) {}

  // Begins a send or a receive that the queue has given out.
  absl::Status begin(const coordinator::Submission& submission);

  // Takes in the mail of the node; returns whether there was any.
  //   InvalidArgument  the mail makes no sense
  absl::StatusOr<bool> receive_near();
  // Takes in mail of another node, for which is_letter().
  absl::Status receive(int from, std::string_view mail);

  // Sends what was posted, as far as there is room.
  void flush();
  bool may_have_unsent() const { return is_posted_ || near().has_unwritten(); }

  // Whether a send or receive of this rank is in flight.
  bool is_busy() const {
    return matches_.wanted() + outgoing_.size() + incoming_.size() + own_ > 0;
  }

  // Reports operations that have waited too long. Call when it is due.
  //   Aborted  one has waited so long that the job fails
  absl::Status report_stalls(std::vector<std::string>& warnings);
  std::optional<Clock::TimePoint> due() const;

  // The process set is removed: its operations fail.
  void removed(coordinator::ProcessSetId set);
  // Rank `rank` has left the job: all operations fail, also later ones. A send
  // fails once its receiver has confirmed that no answer is under way.
  absl::Status end(int rank);

 private:
  using SubmissionPtr = coordinator::SubmissionPtr;
  using Name = std::pair<int, std::uint32_t>;  // The other rank, and a number.

  struct Outgoing {
    SubmissionPtr submission;
    Clock::TimePoint since;
    std::size_t next = 0;   // The first byte that was not sent in a part.
    std::size_t parts = 0;  // Sent, and not yet copied.
    bool by_mail = false;   // The receiver cannot read this rank's arena.
    std::map<std::size_t, std::shared_ptr<std::byte>> staged = {};
  };
  struct Incoming {
    Wanted wanted;
    Offered offered;
    std::size_t received = 0;  // Bytes.
  };

  transport::NodeMail& near() const { return means_.near; }
  int rank() const { return means_.topology.rank(); }
  std::optional<int> local_rank(int rank) const;
  absl::Status post(int to, const Letter& letter);
  absl::Status answer(const Name& name, LetterKind kind,
                      std::uint64_t offset = 0);

  absl::Status send(const SubmissionPtr& submission);
  absl::Status send_to_self(const SubmissionPtr& submission);
  absl::Status receive(const SubmissionPtr& submission);
  absl::Status take(int from, const Letter& letter);
  absl::Status take_offer(int from, const Letter& letter);
  absl::Status take_data(const Name& name, const Letter& letter);
  absl::Status take_answer(const Name& name, const Letter& letter);

  // A message and its receive have met.
  absl::Status accept(Match match);
  absl::Status accept_own(const Wanted& wanted, const Offered& offered);
  std::optional<std::string> find_mismatch(const Wanted& wanted,
                                           const Offered& offered) const;
  absl::Status send_parts(int to, std::uint32_t number, Outgoing& outgoing);
  absl::Status send_part(int to, std::uint32_t number, Outgoing& outgoing,
                         std::size_t offset);
  // Copies a part into this rank's arena; nullopt: there is no room.
  std::optional<Arena::Place> stage(Outgoing& outgoing, std::size_t offset,
                                    const void* data, std::size_t bytes) const;
  const std::byte* find_in_arena(int from, const Arena::Place& place,
                                 std::size_t bytes);
  // Copies into the memory of a receive, if that is still in flight.
  void copy(const SubmissionPtr& receive, std::size_t offset, const void* from,
            std::size_t bytes) const;
  void received(const SubmissionPtr& receive, int from);
  // Fails the sends to rank `to`.
  void fail_sends(int to);
  // Fails the operations of a set; nullopt: all but sends to other ranks.
  void fail_all(std::optional<coordinator::ProcessSetId> set,
                const std::function<absl::Status(
                    const coordinator::Submission& submission)>& why);
  absl::Status ended(const coordinator::Submission& submission) const;

  const Means means_;
  MatchTable matches_;
  std::map<int, std::uint32_t> next_number_;  // By receiver.
  absl::flat_hash_map<Name, Outgoing> outgoing_;
  absl::flat_hash_map<Name, Incoming> incoming_;
  std::size_t own_ = 0;  // Sends of this rank to itself without a receive.
  bool is_posted_ = false;
  std::optional<int> ended_by_;
  std::optional<Clock::TimePoint> due_;
};

// "a message with tag 3 from rank 0 (host 'a', pid 4711)": what a send or a
// receive of `rank` waits for.
std::string wait_text(const coordinator::Submission& submission, int rank,
                      const std::function<std::string(int)>& describe);

}  // namespace hvd::runtime
