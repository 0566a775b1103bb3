// SPDX-License-Identifier: Apache-2.0
// A meeting file tells the ranks of a job where they meet, and the key of the
// meeting, where nothing but a file system connects their hosts. Rank 0 writes
// it and removes it after the meeting. Only its owner can read it.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/transport/tcp/endpoint.h"
#include "horovodpp/transport/tcp/job_key.h"

namespace hvd::transport {

struct MeetingPlace {
  JobKey key{};
  std::vector<Endpoint> server{};
};

// Writes the file in place of an old one. The destructor removes it.
class MeetingFile {
 public:
  MeetingFile() = default;
  ~MeetingFile();
  MeetingFile(MeetingFile&& other) noexcept;
  MeetingFile& operator=(MeetingFile&&) = delete;

  // `endpoints` as from MeetingServer.
  //   (file errors)  name the file
  static absl::StatusOr<MeetingFile> write(const std::string& path,
                                           const JobKey& key,
                                           const std::string& endpoints);

 private:
  std::string path_;
};

// Waits for a file whose server answers; an older file may be there before.
//   DeadlineExceeded    there was none before the deadline; says why
//   PermissionDenied    other users may read or write the file
absl::StatusOr<MeetingPlace> find_meeting(
    const std::string& path, std::chrono::steady_clock::time_point deadline);

}  // namespace hvd::transport
