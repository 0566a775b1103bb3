// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/torch_file/zip_records.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::nn {
namespace {

constexpr std::uint32_t kEnd = 0x06054b50;
constexpr std::uint32_t kEnd64 = 0x06064b50;
constexpr std::uint32_t kEnd64Place = 0x07064b50;
constexpr std::uint32_t kListed = 0x02014b50;
constexpr std::uint32_t kHeader = 0x04034b50;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kEnd64PlaceBytes = 20;
constexpr std::size_t kEnd64Bytes = 56;
constexpr std::size_t kListedBytes = 46;
constexpr std::uint16_t kExtra64 = 1;
constexpr std::uint32_t kIn64 = 0xffffffff;
constexpr std::uint16_t kEncrypted = 1;

// A little-endian number at `at`, which lies within `bytes`.
std::uint64_t number_at(std::string_view bytes, std::size_t at,
                        std::size_t size) {
  std::uint64_t number = 0;
  for (std::size_t i = size; i > 0; --i) {
    number = (number << 8) | static_cast<std::uint8_t>(bytes[at + i - 1]);
  }
  return number;
}

std::uint16_t u16(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint16_t>(number_at(bytes, at, 2));
}
std::uint32_t u32(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint32_t>(number_at(bytes, at, 4));
}
std::uint64_t u64(std::string_view bytes, std::size_t at) {
  return number_at(bytes, at, 8);
}

absl::Status truncated(std::string_view what) {
  return absl::DataLossError(
      absl::StrCat("it is truncated or damaged: ", std::string(what)));
}

// Replaces sizes and places that do not fit into 32 bits by those of the extra
// field.
absl::Status read_extra(std::string_view extra, ZipRecord& record) {
  while (extra.size() >= 4) {
    const std::size_t size = u16(extra, 2);
    if (size > extra.size() - 4) break;
    if (u16(extra, 0) != kExtra64) {
      extra.remove_prefix(4 + size);
      continue;
    }
    std::string_view field = extra.substr(4, size);
    const auto take = [&field](std::uint64_t& value) {
      if (field.size() < 8) return false;
      value = u64(field, 0);
      field.remove_prefix(8);
      return true;
    };
    // The size is there twice: compressed or not.
    std::uint64_t whole = record.bytes;
    if (record.bytes == kIn64 && (!take(whole) || !take(record.bytes))) break;
    record.is_plain = record.is_plain && whole == record.bytes;
    if (record.header == kIn64 && !take(record.header)) break;
    return absl::OkStatus();
  }
  if (record.bytes != kIn64 && record.header != kIn64) return absl::OkStatus();
  return truncated("a record has no size");
}

struct Listed {
  ZipRecord record;
  std::size_t bytes = 0;  // In the list.
};

absl::StatusOr<Listed> read_listed(std::string_view list) {
  if (list.size() < kListedBytes || u32(list, 0) != kListed) {
    return truncated("its list of records ends early");
  }
  Listed found;
  const std::size_t name = u16(list, 28);
  const std::size_t extra = u16(list, 30);
  found.bytes = kListedBytes + name + extra + u16(list, 32);
  if (found.bytes > list.size()) {
    return truncated("its list of records ends early");
  }
  ZipRecord& record = found.record;
  record.name = std::string(list.substr(kListedBytes, name));
  record.crc = u32(list, 16);
  record.header = u32(list, 42);
  record.bytes = u32(list, 20);
  record.is_plain = u16(list, 10) == 0 && u32(list, 24) == record.bytes &&
                    (u16(list, 8) & kEncrypted) == 0;
  HVD_RETURN_IF_ERROR(
      read_extra(list.substr(kListedBytes + name, extra), record));
  return found;
}

}  // namespace

absl::StatusOr<ZipDirectory> find_zip_directory(std::string_view tail,
                                                std::uint64_t file_bytes) {
  if (tail.size() < kEndBytes || u32(tail, tail.size() - kEndBytes) != kEnd) {
    return truncated("it does not end as a ZIP archive");
  }
  const std::string_view end = tail.substr(tail.size() - kEndBytes);
  ZipDirectory directory = {
      .begin = u32(end, 16), .bytes = u32(end, 12), .records = u16(end, 10)};
  const std::string_view before = tail.substr(0, tail.size() - kEndBytes);
  const bool has64 =
      before.size() == kEnd64PlaceBytes + kEnd64Bytes &&
      u32(before, before.size() - kEnd64PlaceBytes) == kEnd64Place &&
      u32(before, 0) == kEnd64;
  if (has64) {
    directory = {.begin = u64(before, 48),
                 .bytes = u64(before, 40),
                 .records = u64(before, 32)};
  }
  if (directory.begin > file_bytes ||
      directory.bytes > file_bytes - directory.begin) {
    return truncated("its list of records lies outside the file");
  }
  if (directory.records > directory.bytes / kListedBytes) {
    return truncated("its list of records is too short");
  }
  return directory;
}

absl::StatusOr<std::vector<ZipRecord>> parse_zip_directory(
    std::string_view list, const ZipDirectory& directory,
    std::uint64_t file_bytes) {
  std::vector<ZipRecord> records;
  for (std::uint64_t i = 0; i < directory.records; ++i) {
    HVD_ASSIGN_OR_RETURN(Listed listed, read_listed(list));
    list.remove_prefix(listed.bytes);
    const ZipRecord& record = listed.record;
    if (record.header > file_bytes ||
        file_bytes - record.header < kZipHeaderBytes ||
        record.bytes > file_bytes - record.header - kZipHeaderBytes) {
      return truncated(
          absl::StrCat("record '", record.name, "' lies outside the file"));
    }
    records.push_back(std::move(listed.record));
  }
  return records;
}

absl::StatusOr<std::uint64_t> zip_content(std::string_view header,
                                          const ZipRecord& record,
                                          std::uint64_t file_bytes) {
  if (header.size() < kZipHeaderBytes || u32(header, 0) != kHeader) {
    return truncated(absl::StrCat("record '", record.name, "' has no header"));
  }
  const std::uint64_t begin =
      record.header + kZipHeaderBytes + u16(header, 26) + u16(header, 28);
  if (begin > file_bytes || record.bytes > file_bytes - begin) {
    return truncated(
        absl::StrCat("record '", record.name, "' ends beyond the file"));
  }
  return begin;
}

}  // namespace hvd::nn
