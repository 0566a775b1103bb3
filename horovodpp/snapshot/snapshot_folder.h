// SPDX-License-Identifier: Apache-2.0
// A SnapshotFolder is the folder with the snapshots of a job. Ranks of all
// hosts reach it.
//
//   step-000000001000/               a snapshot: complete, and on the disk
//     part-00000-of-00003 ...        bytes of one rank, and their checksum
//     manifest
//   step-000000002000.partial-NONCE/ one that is being written, or was left
//
// Errors name the file. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/snapshot/manifest.h"

namespace hvd {
class InputFile;
}

namespace hvd::snapshot {

// A snapshot that is being written. The nonce is equal on all ranks, and new
// for each.
struct Draft {
  std::int64_t step = 0;
  std::uint64_t nonce = 0;
};

using Bytes = std::unique_ptr<std::byte[]>;

class SnapshotFolder {
 public:
  // Creates the folder.
  static absl::StatusOr<SnapshotFolder> open(const std::string& path);

  const std::string& path() const { return path_; }

  // --- Writing ---

  // Writes one of `count` parts.
  //   ResourceExhausted  the disk is full
  //   (others)           the file system's error
  absl::Status write_part(const Draft& draft, int index, int count,
                          const std::byte* bytes, std::uint64_t size) const;
  // Tells the rank that awaits the parts that this one will not come.
  void report_failure(const Draft& draft, int index,
                      const absl::Status& why) const;
  // Waits until all parts are there, whichever ranks write them, and adds their
  // sizes and checksums to the manifest.
  //   Cancelled  `is_cancelled` returned true
  //   Aborted    another rank has reported a failure
  absl::Status await_parts(const Draft& draft, int count, Manifest& manifest,
                           const std::function<bool()>& is_cancelled) const;
  // Adds the manifest; afterwards the snapshot exists.
  absl::Status publish(const Draft& draft, const Manifest& manifest) const;
  void discard(const Draft& draft) const;
  // Removes all drafts but `current`, and all but the newest `kept` snapshots.
  void clean(int kept, const Draft& current) const;

  // --- Reading ---

  // The steps of the snapshots, newest first.
  std::vector<std::int64_t> steps() const;
  //   DataLoss  the snapshot is damaged; says which file, and how
  //   (others)  the file system's error
  absl::StatusOr<Manifest> read_manifest(std::int64_t step) const;
  // The bytes of all parts, manifest.bytes() of them.
  absl::StatusOr<Bytes> read_parts(const Manifest& manifest) const;

 private:
  explicit SnapshotFolder(std::string path) : path_(std::move(path)) {}
  std::string folder_of(std::int64_t step) const;
  std::string folder_of(const Draft& draft) const;
  std::list<InputFile> open_parts(const Manifest& manifest) const;

  std::string path_;
};

}  // namespace hvd::snapshot
