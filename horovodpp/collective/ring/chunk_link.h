// SPDX-License-Identifier: Apache-2.0
// A ChunkLink carries the chunks of one collective call between this rank and
// its peers. It posts receives into slots of a Staging and sends from them, a
// bounded number at a time, and waits for the posted transfers.
//
//   ChunkLink link(communicator, staging, call, waiting);
//   HVD_RETURN_IF_ERROR(link.post_receive(left, bytes));
//   HVD_ASSIGN_OR_RETURN(std::byte* slot, link.receive());
//   ...                                      // the slot is ours
//   HVD_RETURN_IF_ERROR(link.send(right, slot, bytes));
//   return link.flush();
//
// Half of the staging's slots are for receives, half for sends; a slot changes
// sides when its received data is sent on. A link that is destroyed before
// flush() abandons its transfers, and retires the slots that they may still
// use. Not thread-safe.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/collective/data_plane.h"
#include "horovodpp/collective/ring/staging.h"
#include "horovodpp/transport/communicator.h"
#include "horovodpp/transport/waiting.h"

namespace hvd::collective {

// The result of a step that never waits.
enum class Advance { kStuck, kMoved, kDone };

class ChunkLink {
 public:
  // `staging` is mapped, has an even number of slots and no other user. Waits
  // follow `waiting`. As messages ring no bell, a sleep is never longer than
  // waiting.max_sleep, or than 50 us if that is negative.
  ChunkLink(transport::Communicator& communicator, Staging& staging,
            const Call& call, const transport::WaitPolicy& waiting);
  ~ChunkLink();
  ChunkLink(const ChunkLink&) = delete;
  ChunkLink& operator=(const ChunkLink&) = delete;

  // The largest number of posted receives, and of sends under way.
  int depth() const { return staging_.slots() / 2; }
  std::size_t slot_bytes() const { return staging_.slot_bytes(); }

  // Posts the next receive. Requires fewer than depth() posted or held slots.
  absl::Status post_receive(int from, std::size_t bytes);

  // Waits for the oldest posted receive. The slot is the caller's until send()
  // or release().
  absl::StatusOr<std::byte*> receive();
  // As receive(), but returns nullptr instead of waiting.
  absl::StatusOr<std::byte*> try_receive();

  // A slot to fill and send; waits while depth() sends are under way.
  absl::StatusOr<std::byte*> take();

  // Sends the first `bytes` of a slot from take() or receive(), waiting while
  // depth() sends are under way.
  absl::Status send(int to, std::byte* slot, std::size_t bytes);

  // Sends a part of a slot that the caller keeps; for several receivers.
  struct Part {
    std::size_t offset = 0;
    std::size_t bytes = 0;
  };
  absl::Status send_part(int to, std::byte* slot, const Part& part);
  // Releases a slot of which parts may be under way.
  void release_when_sent(std::byte* slot);

  // Whether take() and send() would not wait.
  absl::StatusOr<bool> can_send();

  void release(std::byte* slot) { free_.push_back(slot); }

  // Waits until all sends are through.
  absl::Status flush();
  // Whether all sends are through.
  absl::StatusOr<bool> is_flushed();

  // Calls `advance` until it is done; waits while it is stuck.
  absl::Status drive(const std::function<absl::StatusOr<Advance>()>& advance);

 private:
  struct Posted {
    transport::TransferId id;
    int peer;
    std::byte* slot;
    bool is_part = false;  // The end of this send does not free the slot.
  };

  void give_up(const Posted& posted);
  void pop_send();
  absl::Status finish_sends(std::size_t but);
  absl::Status take_in_sends();
  absl::StatusOr<bool> test(const Posted& posted, const char* what);
  absl::Status wait(const Posted& posted, const char* what);

  transport::Communicator& communicator_;
  Staging& staging_;
  const Call call_;
  const transport::WaitPolicy waiting_;
  std::vector<std::byte*> free_;
  std::deque<Posted> receives_;
  std::deque<Posted> sends_;
};

}  // namespace hvd::collective
