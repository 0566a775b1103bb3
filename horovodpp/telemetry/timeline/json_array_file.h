// SPDX-License-Identifier: Apache-2.0
// A JsonArrayFile holds a valid JSON array after every write, so that a file
// can be read while it grows, and after its writer was killed. The closing
// bracket is overwritten.
#pragma once

#include <sys/types.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace hvd::telemetry {

// `text` as a JSON string, with the quotes.
std::string json_string(std::string_view text);

class JsonArrayFile {
 public:
  // Creates the file, or empties it.
  //   (errors)  as file_error(); names the file
  static absl::StatusOr<std::unique_ptr<JsonArrayFile>> create(
      const std::string& path);
  ~JsonArrayFile();
  JsonArrayFile(const JsonArrayFile&) = delete;
  JsonArrayFile& operator=(const JsonArrayFile&) = delete;

  // Appends `elements`, which are separated by commas, in one write.
  //   (errors)  as create(): the file then holds what it held before
  absl::Status append(std::string_view elements);

 private:
  JsonArrayFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  // Writes the texts at end_, one after the other.
  absl::Status write(std::array<std::string_view, 3> texts);
  const char* closing() const { return is_empty_ ? "]\n" : "\n]\n"; }

  const std::string path_;
  const int fd_;
  off_t end_ = 0;  // Of the last element.
  bool is_empty_ = true;
};

}  // namespace hvd::telemetry
