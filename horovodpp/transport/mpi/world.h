// SPDX-License-Identifier: Apache-2.0
// MpiWorld is the MPI of this process, started or adopted once. Every
// MpiCommunicator in turn uses one duplicated MPI communicator; each turn is a
// generation. MpiWorld also decides how MPI ends. It finalizes an MPI that it
// started at process exit, unless a job broke or a rank is lost. MPI_Finalize
// would then wait for lost ranks.
//
// Thread-safe where noted; the rest belongs to the thread that drives the
// current MpiCommunicator.
#pragma once

#include <mpi.h>
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/transport/mpi/calls.h"
#include "horovodpp/transport/mpi/tags.h"
#include "horovodpp/transport/system/datagram_beats.h"
#include "horovodpp/transport/system/peer_watch.h"

namespace hvd::transport {

class MpiWorld {
 public:
  // Identity of a rank, as exchanged. Plain bytes.
  struct Member {
    std::int64_t pid;
    char host[128];
    // Processes with equal `machine` see each other in /proc.
    char machine[256];
    DatagramBeats::Contact contact;
  };

  // Lives as long as the process.
  static MpiWorld& instance();

  // Begins a generation, in a world of `expected_size` ranks (0: any size).
  // Returns the errors of join_mpi_world(). Thread-safe.
  absl::Status enter(int expected_size,
                     std::chrono::steady_clock::time_point deadline);
  // Ends the generation. Requests that MPI still holds are kept forever.
  // Thread-safe.
  void leave(MpiMessages leftovers);

  MPI_Comm comm() const { return comm_; }
  int rank() const { return rank_; }
  int size() const { return size_; }
  MpiTags tags() const { return MpiTags(tag_upper_bound_); }
  std::uint32_t generation() const { return generation_; }
  const std::vector<Member>& members() const { return members_; }
  PeerWatch& watch() { return *watch_; }
  void send_beat(int to) const;
  std::vector<int> receive_beats() const;

  // A peer is or may be lost, or MPI failed: do not finalize MPI. Thread-safe.
  void distrust() { distrusted_ = true; }

 private:
  MpiWorld() = default;
  absl::Status start_or_adopt() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status check_size(int expected_size) const;
  absl::Status join(std::chrono::steady_clock::time_point deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status meet_members(std::chrono::steady_clock::time_point deadline)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status await_duplicate(MPI_Request& request,
                               std::chrono::steady_clock::time_point deadline);
  void at_exit();
  void finalize() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  [[noreturn]] void exit_without_finalize();
  bool may_finalize() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<int> one_of_each_other_machine() const;

  Mutex mutex_;
  bool in_use_ ABSL_GUARDED_BY(mutex_) = false;
  bool exiting_ ABSL_GUARDED_BY(mutex_) = false;
  pid_t started_by_ ABSL_GUARDED_BY(mutex_) = 0;  // 0: the program started MPI.
  std::optional<absl::Status> joined_ ABSL_GUARDED_BY(mutex_);
  MpiMessages leftovers_ ABSL_GUARDED_BY(mutex_);
  std::atomic<bool> distrusted_ = false;

  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 0;
  int tag_upper_bound_ = 32767;
  std::uint32_t generation_ = 0;
  Member self_ = {};
  std::vector<Member> members_;
  std::unique_ptr<PeerWatch> watch_;
  std::optional<DatagramBeats> beats_;  // Set if there are several machines.
};

}  // namespace hvd::transport
