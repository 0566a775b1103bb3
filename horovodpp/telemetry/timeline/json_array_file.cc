// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/timeline/json_array_file.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "horovodpp/core/printable.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/system/file_error.h"

namespace hvd::telemetry {

std::string json_string(std::string_view text) {
  std::string result = "\"";
  for (const char c : printable(text)) {
    if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    }
  }
  result += '"';
  return result;
}

absl::StatusOr<std::unique_ptr<JsonArrayFile>> JsonArrayFile::create(
    const std::string& path) {
  const int fd =
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return file_error(errno, path);
  std::unique_ptr<JsonArrayFile> file(new JsonArrayFile(path, fd));
  HVD_RETURN_IF_ERROR(file->write({"[\n]\n"}));
  file->end_ = 2;
  return file;
}

JsonArrayFile::~JsonArrayFile() { ::close(fd_); }

absl::Status JsonArrayFile::append(std::string_view elements) {
  if (elements.empty()) return absl::OkStatus();
  const std::string_view separator = is_empty_ ? "" : ",\n";
  const absl::Status written = write({separator, elements, "\n]\n"});
  if (!written.ok()) {
    // Needs no space: these bytes were there before.
    const off_t size = end_ + (is_empty_ ? 2 : 3);
    if (::ftruncate(fd_, size) == 0) write({closing()}).IgnoreError();
    return written;
  }
  end_ += static_cast<off_t>(separator.size() + elements.size());
  is_empty_ = false;
  return absl::OkStatus();
}

absl::Status JsonArrayFile::write(std::array<std::string_view, 3> texts) {
  const FileSizeSignal as_error;
  off_t at = end_;
  std::array<iovec, 3> rest = {};
  for (;;) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      rest[i] = {const_cast<char*>(texts[i].data()), texts[i].size()};
      bytes += texts[i].size();
    }
    if (bytes == 0) return absl::OkStatus();
    const ssize_t wrote =
        ::pwritev(fd_, rest.data(), static_cast<int>(rest.size()), at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return file_error(errno, path_);
    at += wrote;
    auto done = static_cast<std::size_t>(wrote);
    for (std::string_view& text : texts) {
      const std::size_t part = std::min(done, text.size());
      text.remove_prefix(part);
      done -= part;
    }
  }
}

}  // namespace hvd::telemetry
