// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/snapshot/snapshot_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <list>
#include <new>
#include <optional>
#include <sstream>
#include <system_error>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/memory/checksum.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/system/atomic_file.h"
#include "horovodpp/core/system/failpoints.h"
#include "horovodpp/core/system/file_error.h"

namespace hvd::snapshot {
namespace {

namespace fs = std::filesystem;

constexpr char kManifest[] = "manifest";
constexpr char kPrefix[] = "step-";
constexpr char kPartial[] = ".partial-";
// A manifest has some dozens of bytes for each value, and the note.
constexpr std::uint64_t kLongestManifest = std::uint64_t{1} << 30;
constexpr std::chrono::milliseconds kLookEvery(5);

// The header of a part.
struct PartHeader {
  std::array<char, 8> magic = {'h', 'v', 'd', 'p', 'a', 'r', 't', '1'};
  std::uint64_t nonce = 0;
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;
};

std::string part_name(int index, int count) {
  return absl::StrFormat("part-%05d-of-%05d", index, count);
}

std::string failure_name(int index) {
  return absl::StrFormat("failed-%05d", index);
}

// Runs what throws hvd::Error.
template <typename F>
absl::Status status_of(const F& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.status();
  }
  return absl::OkStatus();
}

absl::Status missing_or(int error, const std::string& path) {
  return file_error(error, absl::StrCat("'", path, "' cannot be read"));
}

// An open file and its size.
class InputFile {
 public:
  explicit InputFile(const std::string& path)
      : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat facts {};
    if (fd_ < 0 || fstat(fd_, &facts) != 0) {
      status_ = missing_or(errno, path);
    } else {
      size_ = static_cast<std::uint64_t>(facts.st_size);
    }
  }
  ~InputFile() {
    if (fd_ >= 0) ::close(fd_);
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const absl::Status& status() const { return status_; }
  std::uint64_t size() const { return size_; }

  absl::Status read(void* data, std::uint64_t bytes) {
    auto* next = static_cast<char*>(data);
    while (bytes > 0) {
      const ssize_t got =
          ::read(fd_, next, std::min(bytes, std::uint64_t{1} << 30));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return missing_or(errno, path_);
      if (got == 0) {
        return absl::DataLossError(absl::StrCat("'", path_, "' is too short"));
      }
      next += got;
      bytes -= static_cast<std::uint64_t>(got);
    }
    return absl::OkStatus();
  }

 private:
  const std::string path_;
  const int fd_;
  std::uint64_t size_ = 0;
  absl::Status status_;
};

absl::Status bring_to_disk(const std::string& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  // Some file systems do not support fsync() on a folder.
  const bool failed = fd < 0 || (fsync(fd) != 0 && errno != EINVAL);
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (!failed) return absl::OkStatus();
  return file_error(error,
                    absl::StrCat("'", folder, "' cannot be brought to disk"));
}

std::optional<std::int64_t> step_of(absl::string_view name) {
  std::int64_t step = 0;
  if (!absl::ConsumePrefix(&name, kPrefix)) return std::nullopt;
  if (!absl::SimpleAtoi(name, &step) || step < 0) return std::nullopt;
  return step;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  return names;
}

void remove(const std::string& folder) {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

absl::StatusOr<PartHeader> read_header(InputFile& file,
                                       const std::string& path) {
  PartHeader header;
  const PartHeader expected;
  HVD_RETURN_IF_ERROR(file.status());
  HVD_RETURN_IF_ERROR(file.read(&header, sizeof(header)));
  if (header.magic != expected.magic ||
      header.bytes != file.size() - sizeof(header)) {
    return absl::DataLossError(
        absl::StrCat("'", path, "' is no whole part of a snapshot"));
  }
  return header;
}

}  // namespace

absl::StatusOr<SnapshotFolder> SnapshotFolder::open(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    return file_error(error.value(),
                      absl::StrCat("the folder of snapshots '", path, "'"));
  }
  return SnapshotFolder(path);
}

std::string SnapshotFolder::folder_of(std::int64_t step) const {
  return absl::StrFormat("%s/%s%012d", path_, kPrefix, step);
}

std::string SnapshotFolder::folder_of(const Draft& draft) const {
  return absl::StrFormat("%s%s%016x", folder_of(draft.step), kPartial,
                         draft.nonce);
}

absl::Status SnapshotFolder::write_part(const Draft& draft, int index,
                                        int count, const std::byte* bytes,
                                        std::uint64_t size) const {
  HVD_RETURN_IF_ERROR(pass_failpoint(Failpoint::kSnapshotWrite));
  const std::string folder = folder_of(draft);
  // Each rank may be the first.
  if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) {
    return file_error(errno,
                      absl::StrCat("the folder '", folder, "' of a snapshot"));
  }
  const PartHeader header = {
      .nonce = draft.nonce, .bytes = size, .checksum = checksum(bytes, size)};
  absl::Status at_failpoint;
  HVD_RETURN_IF_ERROR(status_of([&] {
    AtomicFile file(absl::StrCat(folder, "/", part_name(index, count)));
    file.write(&header, sizeof(header));
    file.write(bytes, size);
    at_failpoint = pass_failpoint(Failpoint::kSnapshotPart);
    if (at_failpoint.ok()) file.commit();
  }));
  return at_failpoint;
}

void SnapshotFolder::report_failure(const Draft& draft, int index,
                                    const absl::Status& why) const {
  std::ofstream(absl::StrCat(folder_of(draft), "/", failure_name(index)))
      << why.message();
}

absl::Status SnapshotFolder::await_parts(
    const Draft& draft, int count, Manifest& manifest,
    const std::function<bool()>& is_cancelled) const {
  const std::string folder = folder_of(draft);
  for (int index = 0; index < count; ++index) {
    const std::string path = absl::StrCat(folder, "/", part_name(index, count));
    const std::string failure = absl::StrCat(folder, "/", failure_name(index));
    std::error_code ignored;
    while (!fs::exists(path, ignored)) {
      if (fs::exists(failure, ignored)) {
        std::ostringstream why;
        why << std::ifstream(failure).rdbuf();
        return absl::AbortedError(
            absl::StrCat("rank ", index, " could not write: ", why.str()));
      }
      if (is_cancelled()) {
        return absl::CancelledError(absl::StrCat(
            "the part of rank ", index, " of the snapshot is missing"));
      }
      std::this_thread::sleep_for(kLookEvery);
    }
    InputFile file(path);
    HVD_ASSIGN_OR_RETURN(const PartHeader header, read_header(file, path));
    if (header.nonce != draft.nonce) {
      return absl::DataLossError(
          absl::StrCat("'", path, "' is of another snapshot"));
    }
    manifest.parts.push_back(
        {.bytes = header.bytes, .checksum = header.checksum});
  }
  return absl::OkStatus();
}

absl::Status SnapshotFolder::publish(const Draft& draft,
                                     const Manifest& manifest) const {
  HVD_RETURN_IF_ERROR(pass_failpoint(Failpoint::kSnapshotManifest));
  const std::string folder = folder_of(draft);
  const std::string text = encode(manifest);
  HVD_RETURN_IF_ERROR(status_of([&] {
    AtomicFile file(absl::StrCat(folder, "/", kManifest));
    file.write(text.data(), text.size());
    file.commit();
  }));
  HVD_RETURN_IF_ERROR(pass_failpoint(Failpoint::kSnapshotRename));
  const std::string place = folder_of(draft.step);
  if (std::rename(folder.c_str(), place.c_str()) != 0) {
    // A training that went back has reached this step again.
    if (errno == ENOTEMPTY || errno == EEXIST) {
      discard(draft);
      return absl::OkStatus();
    }
    return file_error(errno, absl::StrCat("the snapshot '", folder,
                                          "' cannot take its name"));
  }
  return bring_to_disk(path_);
}

void SnapshotFolder::discard(const Draft& draft) const {
  remove(folder_of(draft));
}

void SnapshotFolder::clean(int kept, const Draft& current) const {
  if (!pass_failpoint(Failpoint::kSnapshotClean).ok()) return;
  for (const std::string& name : names_in(path_)) {
    const std::size_t mark = name.find(kPartial);
    if (mark == std::string::npos || !step_of(name.substr(0, mark))) continue;
    const std::string folder = absl::StrCat(path_, "/", name);
    if (folder != folder_of(current)) remove(folder);
  }
  std::vector<std::int64_t> all = steps();
  for (std::size_t i = static_cast<std::size_t>(kept); i < all.size(); ++i) {
    // Without its name it is no snapshot, even if a crash leaves a half.
    const std::string place = folder_of(all[i]);
    const std::string aside = folder_of(Draft{.step = all[i]});
    if (std::rename(place.c_str(), aside.c_str()) == 0) remove(aside);
  }
}

std::vector<std::int64_t> SnapshotFolder::steps() const {
  std::vector<std::int64_t> steps;
  for (const std::string& name : names_in(path_)) {
    if (const auto step = step_of(name)) steps.push_back(*step);
  }
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

absl::StatusOr<Manifest> SnapshotFolder::read_manifest(
    std::int64_t step) const {
  const std::string path = absl::StrCat(folder_of(step), "/", kManifest);
  InputFile file(path);
  HVD_RETURN_IF_ERROR(file.status());
  if (file.size() > kLongestManifest) {
    return absl::DataLossError(absl::StrCat("'", path, "' is too long"));
  }
  std::string text(file.size(), '\0');
  HVD_RETURN_IF_ERROR(file.read(text.data(), text.size()));
  absl::StatusOr<Manifest> manifest = decode_manifest(text);
  if (!manifest.ok()) {
    return annotate(manifest.status(), absl::StrCat("'", path, "'"));
  }
  if (manifest->step != step) {
    return absl::DataLossError(
        absl::StrCat("'", path, "' is of step ", manifest->step));
  }
  return manifest;
}

absl::StatusOr<Bytes> SnapshotFolder::read_parts(
    const Manifest& manifest) const {
  const int count = static_cast<int>(manifest.parts.size());
  // Memory is allocated for bytes that exist.
  std::list<InputFile> files;
  std::vector<std::string> paths;
  for (int index = 0; index < count; ++index) {
    const ManifestPart& part = manifest.parts[static_cast<std::size_t>(index)];
    const std::string& path = paths.emplace_back(
        absl::StrCat(folder_of(manifest.step), "/", part_name(index, count)));
    InputFile& file = files.emplace_back(path);
    HVD_ASSIGN_OR_RETURN(const PartHeader header, read_header(file, path));
    if (header.bytes != part.bytes || header.checksum != part.checksum) {
      return absl::DataLossError(
          absl::StrCat("'", path, "' is not the part of this snapshot"));
    }
  }
  Bytes bytes(new (std::nothrow) std::byte[manifest.bytes()]);
  if (bytes == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for the ", manifest.bytes(),
                     " bytes of the snapshot of step ", manifest.step));
  }
  std::byte* next = bytes.get();
  auto path = paths.begin();
  auto part = manifest.parts.begin();
  for (InputFile& file : files) {
    HVD_RETURN_IF_ERROR(file.read(next, part->bytes));
    if (checksum(next, part->bytes) != part->checksum) {
      return absl::DataLossError(
          absl::StrCat("'", *path, "' does not have its checksum"));
    }
    next += part->bytes;
    ++part;
    ++path;
  }
  return bytes;
}

}  // namespace hvd::snapshot
