// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/tcp/meeting_file.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/system/file_error.h"
#include "horovodpp/transport/system/owned_descriptor.h"
#include "horovodpp/transport/tcp/introductions.h"

namespace hvd::transport {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr char kFirstLine[] = "horovodpp meeting 1";
constexpr milliseconds kBetweenReads(50);
constexpr milliseconds kServerAnswerTimeout(2000);
constexpr mode_t kOthers = S_IRWXG | S_IRWXO;

absl::Status file_failed(const std::string& path, const char* what) {
  return file_error(errno, absl::StrCat(what, " the meeting file ", path));
}

absl::Status write_all(int file, const std::string& text,
                       const std::string& path) {
  if (::write(file, text.data(), text.size()) !=
      static_cast<ssize_t>(text.size())) {
    return file_failed(path, "cannot write");
  }
  if (::fsync(file) != 0) return file_failed(path, "cannot write");
  return absl::OkStatus();
}

//   NotFound         there is no file, or no whole one
absl::StatusOr<MeetingPlace> read_place(const std::string& path) {
  const OwnedDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) {
    return absl::NotFoundError(file_failed(path, "cannot read").message());
  }
  struct stat facts = {};
  if (::fstat(file.number(), &facts) != 0) {
    return absl::NotFoundError(file_failed(path, "cannot read").message());
  }
  if (facts.st_uid != ::geteuid() || (facts.st_mode & kOthers) != 0) {
    return absl::PermissionDeniedError(absl::StrCat(
        "the meeting file ", path,
        " is another user's, or others may read it; name a file that does not "
        "exist yet"));
  }
  std::array<char, 8192> bytes;
  const ssize_t size = ::read(file.number(), bytes.data(), bytes.size());
  const std::vector<std::string> lines = absl::StrSplit(
      absl::string_view(bytes.data(),
                        static_cast<std::size_t>(std::max<ssize_t>(size, 0))),
      '\n');
  if (lines.size() != 4 || lines[0] != kFirstLine) {
    return absl::NotFoundError(
        absl::StrCat(path, " is no meeting file of this version"));
  }
  MeetingPlace place;
  HVD_ASSIGN_OR_RETURN(place.key, JobKey::from_hex(lines[1]));
  HVD_ASSIGN_OR_RETURN(place.server, parse_endpoints(lines[2]));
  return place;
}

// Whether a server with this key is there.
bool answers(const MeetingPlace& place) {
  Introductions introductions(place.key);
  std::size_t open = 0;
  for (const Endpoint& endpoint : place.server) {
    auto socket = begin_to_connect(endpoint);
    if (socket.ok() &&
        introductions
            .add(*std::move(socket), Handshake::Side::kCaller, {.rank = 0}, 0)
            .ok()) {
      ++open;
    }
  }
  const auto until = steady_clock::now() + kServerAnswerTimeout;
  while (open > 0 && steady_clock::now() < until) {
    pollfd ready = {introductions.descriptor(), POLLIN, 0};
    ::poll(&ready, 1, static_cast<int>(kBetweenReads.count()));
    for (const Introductions::Outcome& outcome : introductions.proceed()) {
      if (outcome.status.ok() && outcome.other.rank == Caller::kServer) {
        return true;
      }
      --open;
    }
  }
  return false;
}

}  // namespace

MeetingFile::MeetingFile(MeetingFile&& other) noexcept
    : path_(std::exchange(other.path_, "")) {}

MeetingFile::~MeetingFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

absl::StatusOr<MeetingFile> MeetingFile::write(const std::string& path,
                                               const JobKey& key,
                                               const std::string& endpoints) {
  std::string unfinished = absl::StrCat(path, ".XXXXXX");
  const OwnedDescriptor file(::mkostemp(unfinished.data(), O_CLOEXEC));
  if (!file.is_open()) return file_failed(path, "cannot make");
  absl::Status written = write_all(
      file.number(),
      absl::StrCat(kFirstLine, "\n", key.to_hex(), "\n", endpoints, "\n"),
      path);
  if (written.ok() && ::rename(unfinished.c_str(), path.c_str()) != 0) {
    written = file_failed(path, "cannot make");
  }
  if (!written.ok()) {
    ::unlink(unfinished.c_str());
    return written;
  }
  MeetingFile made;
  made.path_ = path;
  return made;
}

absl::StatusOr<MeetingPlace> find_meeting(const std::string& path,
                                          steady_clock::time_point deadline) {
  while (true) {
    auto place = read_place(path);
    if (place.ok() && answers(*place)) return place;
    if (absl::IsPermissionDenied(place.status())) return place;
    if (steady_clock::now() + kBetweenReads > deadline) {
      return absl::DeadlineExceededError(absl::StrCat(
          "rank 0 did not come in time: ",
          place.ok()
              ? absl::StrCat("the server that ", path, " names does not answer")
              : std::string(place.status().message())));
    }
    std::this_thread::sleep_for(kBetweenReads);
  }
}

}  // namespace hvd::transport
