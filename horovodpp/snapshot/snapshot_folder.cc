// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/snapshot/snapshot_folder.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <list>
#include <new>
#include <optional>
#include <sstream>
#include <system_error>
#include <thread>

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
#include "horovodpp/core/system/folder_sync.h"
#include "horovodpp/core/system/input_file.h"

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

PartHeader read_header(InputFile& file) {
  PartHeader header;
  const PartHeader expected;
  if (file.bytes() < sizeof(header)) {
    file.fail(absl::DataLossError("it is no whole part of a snapshot"));
  }
  file.read(&header, sizeof(header));
  if (header.magic != expected.magic ||
      header.bytes != file.bytes() - sizeof(header)) {
    file.fail(absl::DataLossError("it is no whole part of a snapshot"));
  }
  return header;
}

std::string text_of_file(const std::string& path) {
  InputFile file(path);
  if (file.bytes() > kLongestManifest) {
    file.fail(absl::DataLossError("it is too long"));
  }
  std::string text(file.bytes(), '\0');
  file.read(text.data(), text.size());
  return text;
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
    HVD_RETURN_IF_ERROR(status_of([&] {
      InputFile file(path);
      const PartHeader header = read_header(file);
      if (header.nonce != draft.nonce) {
        file.fail(absl::DataLossError("it is of another snapshot"));
      }
      manifest.parts.push_back(
          {.bytes = header.bytes, .checksum = header.checksum});
    }));
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
  if (const int error = FolderSync(path_).sync(); error != 0) {
    return file_error(error,
                      absl::StrCat("'", path_, "' cannot be brought to disk"));
  }
  return absl::OkStatus();
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
  std::string text;
  HVD_RETURN_IF_ERROR(status_of([&] { text = text_of_file(path); }));
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
  Bytes bytes;
  HVD_RETURN_IF_ERROR(status_of([&] {
    std::list<InputFile> files = open_parts(manifest);
    // Memory is allocated for bytes that exist.
    bytes.reset(new (std::nothrow) std::byte[manifest.bytes()]);
    if (bytes == nullptr) {
      throw Error(absl::ResourceExhaustedError(
          absl::StrCat("no memory for the ", manifest.bytes(),
                       " bytes of the snapshot of step ", manifest.step)));
    }
    std::byte* next = bytes.get();
    auto part = manifest.parts.begin();
    for (InputFile& file : files) {
      file.read(next, part->bytes);
      if (checksum(next, part->bytes) != part->checksum) {
        file.fail(absl::DataLossError("it does not have its checksum"));
      }
      next += part->bytes;
      ++part;
    }
  }));
  return bytes;
}

// The parts in order, behind their headers.
std::list<InputFile> SnapshotFolder::open_parts(
    const Manifest& manifest) const {
  const int count = static_cast<int>(manifest.parts.size());
  std::list<InputFile> files;
  for (int index = 0; index < count; ++index) {
    const ManifestPart& part = manifest.parts[static_cast<std::size_t>(index)];
    InputFile& file = files.emplace_back(
        absl::StrCat(folder_of(manifest.step), "/", part_name(index, count)));
    const PartHeader header = read_header(file);
    if (header.bytes != part.bytes || header.checksum != part.checksum) {
      file.fail(absl::DataLossError("it is not the part of this snapshot"));
    }
  }
  return files;
}

}  // namespace hvd::snapshot
