// SPDX-License-Identifier: Apache-2.0
#include "horovodrun/system/text_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>

#include "absl/status/status.h"

namespace hvd::launcher {
namespace {

// A device file may be endless.
constexpr std::size_t kMaxBytes = 64 << 20;

}  // namespace

absl::StatusOr<std::string> read_text_file(const std::string& path) {
  struct stat status = {};
  if (stat(path.c_str(), &status) != 0) {
    return absl::InvalidArgumentError(std::strerror(errno));
  }
  if (S_ISDIR(status.st_mode)) {
    return absl::InvalidArgumentError("it is a folder");
  }
  std::ifstream file(path, std::ios::binary);
  std::string text;
  std::string piece(1 << 16, '\0');
  while (file && text.size() <= kMaxBytes) {
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    text.append(piece, 0, static_cast<std::size_t>(file.gcount()));
  }
  if (!file.eof()) {
    return absl::InvalidArgumentError(file ? "it is too long"
                                           : std::strerror(errno));
  }
  return text;
}

}  // namespace hvd::launcher
