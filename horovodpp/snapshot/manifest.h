// SPDX-License-Identifier: Apache-2.0
// A Manifest tells what a snapshot consists of: the names and sizes of its
// values, whose bytes follow one another, and the parts into which these bytes
// are cut.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace hvd::snapshot {

struct ManifestValue {
  std::string name;
  std::uint64_t bytes = 0;
};

struct ManifestPart {
  std::uint64_t bytes = 0;
  std::uint64_t checksum = 0;
};

struct Manifest {
  std::int64_t step = 0;
  std::string note;  // The program's own.
  std::vector<ManifestValue> values = {};
  std::vector<ManifestPart> parts = {};

  std::uint64_t bytes() const;  // Of all values.
};

// Ends with a checksum.
std::string encode(const Manifest& manifest);
//   DataLoss  it is damaged, or no manifest; says why
absl::StatusOr<Manifest> decode_manifest(const std::string& bytes);

// The bytes [begin, end) of part `index` of `count`, of `bytes` in all. Parts
// begin at multiples of 64.
struct ByteRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  std::uint64_t size() const { return end - begin; }
};
ByteRange part_range(std::uint64_t bytes, int index, int count);

}  // namespace hvd::snapshot
