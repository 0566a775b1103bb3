// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/token_layout.h"

#include <cstddef>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace hvd::data {
namespace {

struct OwnHeader {
  char name[8];
  std::uint32_t version;
  std::uint32_t id_bytes;
};
struct OwnEnd {
  std::uint64_t num_ids;
  char name[8];
};

// llm.c: 256 numbers, of which the first are a magic number, the version and
// the number of ids.
struct LlmcHeader {
  std::int32_t magic;
  std::int32_t version;
  std::int32_t num_ids;
};
constexpr std::uint64_t kLlmcHeaderBytes = 1024;
constexpr std::int32_t kLlmcGpt2 = 20240520;
constexpr std::int32_t kLlmcLlama3 = 20240801;

template <typename... Parts>
[[noreturn]] void refuse(const InputFile& file, const Parts&... parts) {
  file.fail(absl::DataLossError(absl::StrCat(parts...)));
}

template <typename T>
T part_at(InputFile& file, std::uint64_t place) {
  T part;
  file.read_at(place, &part, sizeof(part));
  return part;
}

bool holds(const char (&bytes)[8], std::string_view name) {
  return std::memcmp(bytes, name.data(), sizeof(bytes)) == 0;
}

TokenLayout raw_layout(const InputFile& file, std::int64_t raw_bytes) {
  const auto id_bytes = static_cast<std::uint64_t>(raw_bytes);
  if (file.bytes() % id_bytes != 0) {
    refuse(file, "has ", file.bytes(), " bytes, no multiple of ", id_bytes,
           ": it is truncated, or its ids have another size");
  }
  return {.num_ids = file.bytes() / id_bytes, .id_bytes = id_bytes};
}

TokenLayout own_layout(InputFile& file) {
  const auto header = part_at<OwnHeader>(file, 0);
  if (header.version != kTokenFileVersion ||
      (header.id_bytes != 2 && header.id_bytes != 4)) {
    refuse(file, "is a token file of version ", header.version, " with ids of ",
           header.id_bytes, " bytes; this library reads version ",
           kTokenFileVersion, " with 2 or 4");
  }
  const std::uint64_t around = sizeof(OwnHeader) + sizeof(OwnEnd);
  if (file.bytes() < around) refuse(file, "is truncated; write it again");
  const auto end = part_at<OwnEnd>(file, file.bytes() - sizeof(OwnEnd));
  const std::uint64_t ids = file.bytes() - around;
  if (!holds(end.name, kTokenFileEnd) || ids % header.id_bytes != 0 ||
      ids / header.id_bytes != end.num_ids) {
    refuse(file,
           "is truncated or damaged: its end does not fit; write it again");
  }
  return {.begin = sizeof(OwnHeader),
          .num_ids = end.num_ids,
          .id_bytes = header.id_bytes};
}

TokenLayout llmc_layout(const InputFile& file, const LlmcHeader& header) {
  const std::uint64_t id_bytes = header.magic == kLlmcGpt2 ? 2 : 4;
  const std::int32_t version = header.magic == kLlmcGpt2 ? 1 : 7;
  if (header.version != version) {
    refuse(file, "is a file of llm.c of version ", header.version,
           "; this library reads version ", version);
  }
  const auto num_ids = static_cast<std::uint64_t>(header.num_ids);
  if (header.num_ids < 0 ||
      file.bytes() != kLlmcHeaderBytes + num_ids * id_bytes) {
    refuse(file, "has ", file.bytes(), " bytes, but its header says ",
           header.num_ids, " ids of ", id_bytes, " bytes; it is truncated");
  }
  return {.begin = kLlmcHeaderBytes, .num_ids = num_ids, .id_bytes = id_bytes};
}

}  // namespace

TokenLayout token_layout(InputFile& file, std::int64_t raw_bytes) {
  if (raw_bytes != 0) return raw_layout(file, raw_bytes);
  if (file.bytes() >= sizeof(OwnHeader)) {
    if (holds(part_at<OwnHeader>(file, 0).name, kTokenFileBegin)) {
      return own_layout(file);
    }
    const auto header = part_at<LlmcHeader>(file, 0);
    if (header.magic == kLlmcGpt2 || header.magic == kLlmcLlama3) {
      return llmc_layout(file, header);
    }
  }
  refuse(file,
         "is no token file; if it holds ids alone, give their bytes as "
         "raw_bytes");
}

}  // namespace hvd::data
