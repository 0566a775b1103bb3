// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/telemetry/timeline/json_array_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
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
  HVD_RETURN_IF_ERROR(file->write("[\n]\n"));
  file->end_ = 2;
  return file;
}

JsonArrayFile::~JsonArrayFile() { ::close(fd_); }

absl::Status JsonArrayFile::append(std::string_view elements) {
  if (elements.empty()) return absl::OkStatus();
  std::string text = is_empty_ ? "" : ",\n";
  text += elements;
  const off_t end = end_ + static_cast<off_t>(text.size());
  text += "\n]\n";
  const absl::Status written = write(text);
  if (!written.ok()) {
    // Needs no space: these bytes were there before.
    const off_t size = end_ + (is_empty_ ? 2 : 3);
    if (::ftruncate(fd_, size) == 0) write(closing()).IgnoreError();
    return written;
  }
  end_ = end;
  is_empty_ = false;
  return absl::OkStatus();
}

absl::Status JsonArrayFile::write(std::string_view text) {
  const FileSizeSignal as_error;
  off_t at = end_;
  while (!text.empty()) {
    const ssize_t wrote = ::pwrite(fd_, text.data(), text.size(), at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return file_error(errno, path_);
    text.remove_prefix(static_cast<std::size_t>(wrote));
    at += wrote;
  }
  return absl::OkStatus();
}

}  // namespace hvd::telemetry
