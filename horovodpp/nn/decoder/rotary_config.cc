// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/decoder/rotary_config.h"

#include <nlohmann/json.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"

namespace hvd::nn {
namespace {

using Json = nlohmann::json;
using Type = RotaryScaling::Type;

// Replaces `number` by the member, if that is there and not null.
template <typename T>
void read_number(const Json& object, const char* key, T& number) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return;
  if (!found->is_number() ||
      (std::is_integral_v<T> && !found->is_number_integer())) {
    throw InvalidArgument(
        absl::StrCat("parse_rotary_options: '", key, "' is not a number"));
  }
  number = found->get<T>();
}

// Older files name it "type".
Type type_of(const Json& scaling) {
  const char* key = scaling.contains("rope_type") ? "rope_type" : "type";
  const auto found = scaling.find(key);
  if (found == scaling.end()) return Type::kDefault;
  if (*found == "default") return Type::kDefault;
  if (*found == "linear") return Type::kLinear;
  if (*found == "dynamic") return Type::kDynamic;
  if (*found == "llama3") return Type::kLlama3;
  throw InvalidArgument(absl::StrCat(
      "parse_rotary_options: the scaling ", found->dump(-1, ' ', true),
      " is not \"default\", \"linear\", \"dynamic\" or \"llama3\""));
}

}  // namespace

RotaryOptions parse_rotary_options(std::string_view config_json) {
  const Json config = Json::parse(config_json, nullptr, false);
  if (!config.is_object()) {
    throw InvalidArgument("parse_rotary_options: the text is no JSON object");
  }
  RotaryOptions options;
  RotaryScaling& s = options.scaling;
  read_number(config, "rope_theta", options.base);
  read_number(config, "max_position_embeddings",
              s.original_max_position_embeddings);
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const auto found = config.find(key);
    if (found == config.end() || !found->is_object()) continue;
    s.rope_type = type_of(*found);
    read_number(*found, "rope_theta", options.base);
    read_number(*found, "factor", s.factor);
    read_number(*found, "low_freq_factor", s.low_freq_factor);
    read_number(*found, "high_freq_factor", s.high_freq_factor);
    read_number(*found, "original_max_position_embeddings",
                s.original_max_position_embeddings);
  }
  return options;
}

}  // namespace hvd::nn
