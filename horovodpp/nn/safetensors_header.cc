// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/nn/safetensors_header.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::nn {
namespace {

using Json = nlohmann::json;

constexpr char kMetadata[] = "__metadata__";

constexpr std::pair<DType, const char*> kTypeNames[] = {
    {DType::kBool, "BOOL"}, {DType::kU8, "U8"},     {DType::kI8, "I8"},
    {DType::kI16, "I16"},   {DType::kI32, "I32"},   {DType::kI64, "I64"},
    {DType::kF16, "F16"},   {DType::kBF16, "BF16"}, {DType::kF32, "F32"},
    {DType::kF64, "F64"}};

// Types of the format without a DType.
constexpr const char* kForeignTypes[] = {
    "U16",         "U32",         "U64",     "C64", "F8_E4M3", "F8_E5M2",
    "F8_E4M3FNUZ", "F8_E5M2FNUZ", "F8_E8M0", "F4",  "F6_E2M3", "F6_E3M2"};

std::optional<DType> find_dtype(const std::string& name) {
  for (const auto& [dtype, known] : kTypeNames) {
    if (name == known) return dtype;
  }
  return std::nullopt;
}

const char* type_name(DType wanted) {
  for (const auto& [dtype, name] : kTypeNames) {
    if (dtype == wanted) return name;
  }
  return "";
}

template <typename... Parts>
absl::Status damaged(const Parts&... parts) {
  return absl::DataLossError(absl::StrCat(parts...));
}

// A parser callback that detects repeated keys, which the result would hide.
class Watch {
 public:
  bool operator()(int, Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::object_start) {
      keys_.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      keys_.pop_back();
    } else if (event == Json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys_.back().insert(key).second && !twice_) twice_ = key;
    }
    return true;
  }
  const std::optional<std::string>& twice() const { return twice_; }

 private:
  std::vector<std::set<std::string>> keys_;
  std::optional<std::string> twice_;
};

absl::StatusOr<Json> parse_object(std::string_view text) {
  Watch watch;
  Json json;
  try {
    json = Json::parse(text,
                       [&](int depth, Json::parse_event_t event, Json& parsed) {
                         return watch(depth, event, parsed);
                       });
  } catch (const Json::exception& error) {
    return damaged("its header is no JSON: ", error.what());
  }
  if (!json.is_object()) return damaged("its header is no JSON object");
  if (watch.twice()) {
    return damaged("its header has the key '", *watch.twice(), "' twice");
  }
  return json;
}

// A list of nonnegative 63-bit numbers.
std::optional<std::vector<std::int64_t>> sizes_of(const Json& json) {
  if (!json.is_array()) return std::nullopt;
  std::vector<std::int64_t> result;
  for (const Json& value : json) {
    if (!value.is_number_unsigned()) return std::nullopt;
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
    result.push_back(static_cast<std::int64_t>(number));
  }
  return result;
}

absl::StatusOr<DType> parse_dtype(const Json& json) {
  if (!json.is_string()) return damaged("its dtype is no text");
  const auto& name = json.get_ref<const std::string&>();
  if (const auto dtype = find_dtype(name)) return *dtype;
  if (std::find(std::begin(kForeignTypes), std::end(kForeignTypes), name) !=
      std::end(kForeignTypes)) {
    return absl::UnimplementedError(absl::StrCat(
        "elements of type ", name, " cannot be read; convert them"));
  }
  return damaged("there is no dtype '", name, "'");
}

absl::StatusOr<SafetensorsEntry> parse_entry(const std::string& name,
                                             const Json& json) {
  if (!json.is_object() || json.size() != 3 || !json.contains("dtype") ||
      !json.contains("shape") || !json.contains("data_offsets")) {
    return damaged("it has not just a dtype, a shape and data_offsets");
  }
  SafetensorsEntry entry;
  entry.name = name;
  HVD_ASSIGN_OR_RETURN(entry.dtype, parse_dtype(json["dtype"]));
  const auto sizes = sizes_of(json["shape"]);
  if (!sizes) return damaged("its shape is no list of sizes");
  entry.shape = Shape(std::span<const std::int64_t>(*sizes));
  if (const auto status = entry.shape.checked(size_of(entry.dtype));
      !status.ok()) {
    return damaged("its shape is absurd: ", std::string(status.message()));
  }
  const auto places = sizes_of(json["data_offsets"]);
  if (!places || places->size() != 2) {
    return damaged("its data_offsets are no pair of places");
  }
  entry.begin = static_cast<std::uint64_t>((*places)[0]);
  entry.end = static_cast<std::uint64_t>((*places)[1]);
  return entry;
}

absl::Status check_size(const SafetensorsEntry& entry) {
  const std::uint64_t wanted =
      static_cast<std::uint64_t>(entry.shape.num_elements()) *
      size_of(entry.dtype);
  if (entry.end < entry.begin || entry.end - entry.begin != wanted) {
    return damaged("tensor '", entry.name, "' is ", name_of(entry.dtype),
                   entry.shape.to_string(), ", which takes ", wanted,
                   " bytes, but its data_offsets are [", entry.begin, ", ",
                   entry.end, "]");
  }
  return absl::OkStatus();
}

absl::Status check_places(const std::vector<SafetensorsEntry>& entries,
                          std::optional<std::uint64_t> data_bytes) {
  std::uint64_t end = 0;
  std::string before = "the header";
  for (const SafetensorsEntry& entry : entries) {
    HVD_RETURN_IF_ERROR(check_size(entry));
    if (data_bytes && entry.end > *data_bytes) {
      return damaged("it is truncated: tensor '", entry.name, "' ends at byte ",
                     entry.end, " of the data, of which there are ",
                     *data_bytes);
    }
    if (entry.begin != end) {
      return damaged("tensor '", entry.name, "' begins at byte ", entry.begin,
                     entry.begin < end ? ", inside of " : ", with a gap after ",
                     before, ", which ends at byte ", end);
    }
    end = entry.end;
    before = absl::StrCat("'", entry.name, "'");
  }
  if (data_bytes && end != *data_bytes) {
    return damaged("it has ", *data_bytes - end, " bytes beyond its tensors");
  }
  return absl::OkStatus();
}

absl::Status parse_metadata(const Json& json,
                            std::map<std::string, std::string>& metadata) {
  if (!json.is_object()) return damaged("its __metadata__ is no JSON object");
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string()) {
      return damaged("'", key, "' of its __metadata__ is no text");
    }
    metadata[key] = value.get<std::string>();
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::uint64_t> safetensors_header_length(
    const std::array<std::uint8_t, SafetensorsHeader::kPrefixBytes>& prefix,
    std::uint64_t file_bytes) {
  std::uint64_t length = 0;
  for (std::size_t i = prefix.size(); i > 0; --i) {
    length = (length << 8) | prefix[i - 1];
  }
  if (length > SafetensorsHeader::kMaxBytes) {
    return damaged("its header claims ", length,
                   " bytes, but no header has "
                   "more than ",
                   SafetensorsHeader::kMaxBytes,
                   "; it may be no safetensors file");
  }
  if (file_bytes < prefix.size() || length > file_bytes - prefix.size()) {
    return damaged("it is truncated: its header claims ", length,
                   " bytes, and the file has ", file_bytes, " in all");
  }
  return length;
}

absl::StatusOr<SafetensorsHeader> parse_safetensors_header(
    std::string_view json, std::optional<std::uint64_t> data_bytes) {
  HVD_ASSIGN_OR_RETURN(const Json object, parse_object(json));
  SafetensorsHeader header;
  for (const auto& [name, value] : object.items()) {
    if (name == kMetadata) {
      HVD_RETURN_IF_ERROR(parse_metadata(value, header.metadata));
      continue;
    }
    auto entry = parse_entry(name, value);
    if (!entry.ok()) {
      return annotate(entry.status(), absl::StrCat("tensor '", name, "'"));
    }
    header.entries.push_back(*std::move(entry));
  }
  std::sort(header.entries.begin(), header.entries.end(),
            [](const auto& a, const auto& b) {
              return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
            });
  HVD_RETURN_IF_ERROR(check_places(header.entries, data_bytes));
  return header;
}

absl::StatusOr<std::string> format_safetensors_header(
    const SafetensorsHeader& header) {
  Json json = Json::object();
  if (!header.metadata.empty()) json[kMetadata] = header.metadata;
  for (const SafetensorsEntry& entry : header.entries) {
    if (entry.name == kMetadata) {
      return absl::InvalidArgumentError(
          "a tensor cannot be named '__metadata__' in a safetensors file");
    }
    if (json.contains(entry.name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("two tensors are named '", entry.name,
                       "'; give each a name of its own"));
    }
    const auto dims = entry.shape.dims();
    json[entry.name] = {
        {"dtype", type_name(entry.dtype)},
        {"shape", std::vector<std::int64_t>(dims.begin(), dims.end())},
        {"data_offsets", {entry.begin, entry.end}}};
  }
  std::string text;
  try {
    text = json.dump();
  } catch (const Json::exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("a name or a text is not UTF-8: ", error.what()));
  }
  while (text.size() % 8 != 0) text += ' ';
  if (text.size() > SafetensorsHeader::kMaxBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("names and metadata take ", text.size(),
                     " bytes, more than a safetensors file has room for"));
  }
  std::string result;
  for (std::size_t i = 0; i < SafetensorsHeader::kPrefixBytes; ++i) {
    result += static_cast<char>((text.size() >> (8 * i)) & 0xff);
  }
  return result + text;
}

}  // namespace hvd::nn
