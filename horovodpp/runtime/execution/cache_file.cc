// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/execution/cache_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "horovodpp/core/memory/fnv1a.h"
#include "horovodpp/core/system/file_error.h"
#include "horovodpp/core/thread/threads.h"

namespace hvd::runtime {
namespace {

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

std::uint64_t hash(const std::string& text) {
  Fnv1a hash;
  hash.add(text);
  return hash.value;
}

// The content of a file of up to `most` bytes; "" for any other. Only regular
// files are read: a FIFO could block.
std::string content_of(const std::string& path, std::size_t most) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return "";
  std::string text;
  struct stat about {};
  const bool is_file = ::fstat(file, &about) == 0 && S_ISREG(about.st_mode) &&
                       about.st_size <= static_cast<off_t>(most);
  if (is_file) {
    text.resize(static_cast<std::size_t>(about.st_size));
    const ssize_t count = ::read(file, text.data(), text.size());
    text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  }
  ::close(file);
  return text;
}

}  // namespace

std::string machine_key() {
  return absl::StrCat(processor(), ", ", cores_for_ranks(), " cores");
}

CacheFile::CacheFile(std::string directory, std::string_view name,
                     std::string key)
    : directory_(std::move(directory)), key_(std::move(key)) {
  if (directory_.empty()) return;
  path_ = absl::StrFormat("%s/%s-%016x", directory_, name, hash(key_));
}

std::optional<std::string> CacheFile::load(std::size_t most) const {
  if (path_.empty()) return std::nullopt;
  std::string text = content_of(path_, most);
  const std::string first = key_ + "\n";
  if (text.compare(0, first.size(), first) != 0) return std::nullopt;
  return text.substr(first.size());
}

absl::Status CacheFile::store(std::string_view content) const {
  if (path_.empty()) return absl::OkStatus();
  const auto failed = [&](const std::string& why) {
    return absl::UnavailableError(
        absl::StrCat("cannot write '", path_, "' (", why, ")"));
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
  file << key_ << "\n" << content;
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
