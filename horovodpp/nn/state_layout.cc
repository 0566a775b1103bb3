// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/state_layout.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/nn/safetensors_header.h"
#include "horovodpp/tensor/factories.h"

namespace hvd::nn {
namespace {

// The header of a file of `state`: all names, types and shapes.
SafetensorsHeader header_of(const StateDict& state) {
  SafetensorsHeader header;
  std::uint64_t end = 0;
  for (const auto& [name, tensor] : state) {
    const std::uint64_t begin = std::exchange(end, end + tensor.bytes());
    header.entries.push_back(
        {name, tensor.dtype(), tensor.shape().to_shape(), begin, end});
  }
  return header;
}

}  // namespace

absl::StatusOr<std::string> layout_of(const StateDict& state) {
  return format_safetensors_header(header_of(state));
}

StateDict empty_state(const std::string& layout) {
  if (layout.size() < SafetensorsHeader::kPrefixBytes) {
    throw Error(absl::DataLossError("the layout of a state is too short"));
  }
  const std::string json = layout.substr(SafetensorsHeader::kPrefixBytes);
  StateDict state;
  const auto header =
      value_or_throw(parse_safetensors_header(json, std::nullopt));
  for (const SafetensorsEntry& entry : header.entries) {
    state.push_back({entry.name, empty(entry.shape, {.dtype = entry.dtype})});
  }
  return state;
}

}  // namespace hvd::nn
