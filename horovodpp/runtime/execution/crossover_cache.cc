// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/execution/crossover_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "horovodpp/core/system/file_error.h"
#include "horovodpp/core/thread/threads.h"

namespace hvd::runtime {
namespace {

// Change this number when the measured values or the method change.
constexpr int kFormat = 1;

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const auto colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown";
}

// FNV-1a: the same hash in all builds.
std::uint64_t hash(const std::string& text) {
  std::uint64_t value = 0xcbf29ce484222325;
  for (const char c : text) {
    value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return value;
}

// The content of a file of up to kMost bytes; "" for any other. Only regular
// files are read: a FIFO could block.
std::string content_of(const std::string& path) {
  constexpr std::size_t kMost = 4096;
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return "";
  std::string text(kMost, '\0');
  struct stat about {};
  const bool is_file = ::fstat(file, &about) == 0 && S_ISREG(about.st_mode);
  const ssize_t count = is_file ? ::read(file, text.data(), kMost) : 0;
  ::close(file);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return text;
}

}  // namespace

CrossoverCache::CrossoverCache(std::string directory, const Place& place)
    : directory_(std::move(directory)) {
  if (directory_.empty()) return;
  key_ = absl::StrCat("format ", kFormat, ", ", processor(), ", ",
                      cores_for_ranks(), " cores, ", place.ranks,
                      " ranks, slots ", place.slot_bytes);
  path_ = absl::StrFormat("%s/crossovers-%016x", directory_, hash(key_));
}

// The file has two lines: the key, and the values.
std::optional<collective::ShmCrossovers> CrossoverCache::load() const {
  if (path_.empty()) return std::nullopt;
  std::istringstream file(content_of(path_));
  std::string key;
  collective::ShmCrossovers values;
  std::string end;
  if (!std::getline(file, key) || key != key_) return std::nullopt;
  if (!(file >> values.small_bytes >> values.step_bytes >> end)) {
    return std::nullopt;
  }
  return end == "." ? std::optional(values) : std::nullopt;
}

absl::Status CrossoverCache::store(
    const collective::ShmCrossovers& values) const {
  if (path_.empty()) return absl::OkStatus();
  const auto failed = [&](const std::string& why) {
    return absl::UnavailableError(absl::StrCat(
        "cannot write '", path_, "' (", why,
        "): each job measures this machine again; HOROVODPP_CACHE_DIR names "
        "another directory"));
  };
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  if (error) return failed(error.message());
  // Each rank writes a draft of its own, also where hosts share a home
  // directory.
  const std::string draft =
      absl::StrCat(path_, ".", ::getpid(), ".", std::random_device()());
  const FileSizeSignal as_error;
  errno = 0;
  std::ofstream file(draft);
  file << key_ << "\n"
       << values.small_bytes << " " << values.step_bytes << " .\n";
  file.close();
  if (!file) {
    const std::string why = std::strerror(errno);
    std::filesystem::remove(draft, error);
    return failed(why);
  }
  std::filesystem::rename(draft, path_, error);
  return error ? failed(error.message()) : absl::OkStatus();
}

}  // namespace hvd::runtime
