// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/snapshot/manifest.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/memory/checksum.h"
#include "horovodpp/core/status.h"
#include "horovodpp/replica/value.h"

namespace hvd::snapshot {
namespace {

constexpr char kFormat[] = "horovodpp snapshot 1";
constexpr std::uint64_t kAlignment = 64;

absl::Status damaged(const std::string& why) {
  return absl::DataLossError(absl::StrCat("its manifest ", why));
}

std::uint64_t unsigned_of(const Value& value) {
  const std::int64_t number = value.as_int();
  if (number < 0) throw InvalidArgument("a size is negative");
  return static_cast<std::uint64_t>(number);
}

// Adds without overflow.
void add(std::uint64_t& sum, std::uint64_t bytes) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (bytes > kMost - sum) throw InvalidArgument("its sizes are too large");
  sum += bytes;
}

Manifest manifest_of(const Value& value) {
  if (value.at("format").as_string() != kFormat) {
    throw InvalidArgument("has another format");
  }
  Manifest manifest = {.step = value.at("step").as_int(),
                       .note = value.at("note").as_bytes()};
  std::uint64_t of_values = 0;
  for (const Value& entry : value.at("values").as_array()) {
    manifest.values.push_back(
        {entry.at("name").as_bytes(), unsigned_of(entry.at("bytes"))});
    add(of_values, manifest.values.back().bytes);
  }
  std::uint64_t of_parts = 0;
  for (const Value& entry : value.at("parts").as_array()) {
    manifest.parts.push_back(
        {unsigned_of(entry.at("bytes")),
         static_cast<std::uint64_t>(entry.at("checksum").as_int())});
    add(of_parts, manifest.parts.back().bytes);
  }
  if (of_values != of_parts) {
    throw InvalidArgument("has parts that do not make up its values");
  }
  return manifest;
}

}  // namespace

std::uint64_t Manifest::bytes() const {
  std::uint64_t sum = 0;
  for (const ManifestValue& value : values) sum += value.bytes;
  return sum;
}

// Field by field: GCC 12 takes a list of pairs for uninitialized.
std::string encode(const Manifest& manifest) {
  Value::Array values;
  for (const auto& [name, bytes] : manifest.values) {
    Value::Object value;
    value["name"] = Value::Bytes{name};
    value["bytes"] = static_cast<std::int64_t>(bytes);
    values.emplace_back(std::move(value));
  }
  Value::Array parts;
  for (const auto& [bytes, sum] : manifest.parts) {
    Value::Object part;
    part["bytes"] = static_cast<std::int64_t>(bytes);
    part["checksum"] = static_cast<std::int64_t>(sum);
    parts.emplace_back(std::move(part));
  }
  Value::Object all;
  all["format"] = kFormat;
  all["step"] = manifest.step;
  all["note"] = Value::Bytes{manifest.note};
  all["values"] = std::move(values);
  all["parts"] = std::move(parts);
  std::string text = replica::encoded(all);
  const std::uint64_t sum = checksum(text.data(), text.size());
  text.append(reinterpret_cast<const char*>(&sum), sizeof(sum));
  return text;
}

absl::StatusOr<Manifest> decode_manifest(const std::string& bytes) {
  std::uint64_t sum = 0;
  if (bytes.size() < sizeof(sum)) return damaged("is too short");
  const std::size_t length = bytes.size() - sizeof(sum);
  std::memcpy(&sum, bytes.data() + length, sizeof(sum));
  if (sum != checksum(bytes.data(), length)) {
    return damaged("does not have its checksum");
  }
  try {
    return manifest_of(replica::decoded(bytes.substr(0, length)));
  } catch (const Error& error) {
    return damaged(std::string(error.status().message()));
  }
}

ByteRange part_range(std::uint64_t bytes, int index, int count) {
  const std::uint64_t lines = (bytes + kAlignment - 1) / kAlignment;
  const auto boundary = [&](int i) {
    const auto n = static_cast<std::uint64_t>(count);
    const auto at = static_cast<std::uint64_t>(i);
    // lines * i / n, without overflow.
    const std::uint64_t line = lines / n * at + lines % n * at / n;
    return std::min(line * kAlignment, bytes);
  };
  return {boundary(index), boundary(index + 1)};
}

}  // namespace hvd::snapshot
