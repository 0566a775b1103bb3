// SPDX-License-Identifier: Apache-2.0
// The records of a ZIP archive: their names and places. (PKWARE's APPNOTE.TXT, 4.3 and 4.5.3)
//
// Readers do not trust the file: for any bytes, the result fits the file, or is
// an error that describes the damage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace hvd::nn {

struct ZipRecord {
  std::string name;
  std::uint64_t header = 0;  // The place of its own header in the file.
  std::uint64_t bytes = 0;
  std::uint32_t crc = 0;  // CRC-32 of the content.
  bool is_plain = true;   // Neither compressed nor encrypted.
};

// The list of records, which is near the end of the file.
struct ZipDirectory {
  // So many bytes at the end of a file tell where the list is.
  static constexpr std::size_t kTailBytes = 22 + 20 + 56;

  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;
  std::uint64_t records = 0;
};

// `tail`: the last kTailBytes bytes of a file of `file_bytes` bytes, or the
// whole file if it is shorter.
//   DataLoss  the file is no archive or truncated, or has a comment
absl::StatusOr<ZipDirectory> find_zip_directory(std::string_view tail,
                                                std::uint64_t file_bytes);

// `list`: the bytes of `directory`.
//   DataLoss  the list is damaged, or a record lies outside the file
absl::StatusOr<std::vector<ZipRecord>> parse_zip_directory(
    std::string_view list, const ZipDirectory& directory,
    std::uint64_t file_bytes);

inline constexpr std::size_t kZipHeaderBytes = 30;

// The place of a record's content. `header`: kZipHeaderBytes bytes at
// `record.header`.
//   DataLoss  the header is damaged, or the content is outside the file
absl::StatusOr<std::uint64_t> zip_content(std::string_view header,
                                          const ZipRecord& record,
                                          std::uint64_t file_bytes);

}  // namespace hvd::nn
