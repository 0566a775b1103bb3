// SPDX-License-Identifier: Apache-2.0
// Small files in which jobs keep measurements of a machine for later jobs. The
// first line is a key, which tells what the file is about; the name has a hash
// of the key. Several processes may use one directory.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace hvd::runtime {

// "AMD EPYC, 2 cores": the processor, and the cores for ranks.
std::string machine_key();

class CacheFile {
 public:
  // `key` has no line end. `directory` is created when content is stored; "":
  // nothing is remembered.
  CacheFile(std::string directory, std::string_view name, std::string key);

  // The content stored last, unless it is longer than `most`; nullopt if there
  // is none, or the file cannot be read or has another key.
  std::optional<std::string> load(std::size_t most) const;

  // Replaces the content atomically.
  //   Unavailable  the file cannot be written; names the file and the reason
  absl::Status store(std::string_view content) const;

  // "": nothing is remembered.
  const std::string& path() const { return path_; }

 private:
  const std::string directory_;
  const std::string key_;
  std::string path_;
};

}  // namespace hvd::runtime
