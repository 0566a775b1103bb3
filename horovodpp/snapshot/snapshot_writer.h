// SPDX-License-Identifier: Apache-2.0
// A SnapshotWriter writes this rank's part of one snapshot, on a thread of its
// own. The writer of part 0 also completes the snapshot.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <utility>

#include "absl/status/status.h"
#include "horovodpp/runtime/membership.h"
#include "horovodpp/snapshot/manifest.h"
#include "horovodpp/snapshot/snapshot_folder.h"

namespace hvd::snapshot {

class SnapshotWriter {
 public:
  struct Work {
    Draft draft;
    int part = 0;  // Of this rank.
    int parts = 1;
    const std::byte* bytes = nullptr;  // Of the part; borrowed.
    std::uint64_t size = 0;
    Manifest manifest;
    int kept = 1;
    Membership job = {};
  };

  // `folder` outlives this object.
  SnapshotWriter(const SnapshotFolder& folder, Work work)
      : folder_(folder), work_(std::move(work)) {}
  ~SnapshotWriter() { wait(); }
  SnapshotWriter(const SnapshotWriter&) = delete;
  SnapshotWriter& operator=(const SnapshotWriter&) = delete;

  absl::Status start();
  bool is_writing() const { return is_writing_; }
  // Part 0 no longer waits for the other parts.
  void cancel() { is_cancelled_ = true; }
  void wait() {
    if (thread_.joinable()) thread_.join();
  }

  // --- After wait() ---
  const absl::Status& outcome() const { return outcome_; }
  double seconds() const { return seconds_; }
  std::uint64_t size() const { return work_.size; }

 private:
  absl::Status write();
  bool is_cancelled() const;

  const SnapshotFolder& folder_;
  Work work_;
  std::thread thread_;
  std::atomic<bool> is_writing_ = true;
  std::atomic<bool> is_cancelled_ = false;
  absl::Status outcome_;
  double seconds_ = 0;
};

}  // namespace hvd::snapshot
