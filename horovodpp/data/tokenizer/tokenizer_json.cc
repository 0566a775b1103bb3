// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/tokenizer/tokenizer_json.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"

namespace hvd::data {
namespace {

using Json = nlohmann::json;

template <typename... Parts>
absl::Status malformed(const Parts&... parts) {
  return absl::DataLossError(absl::StrCat(parts...));
}

template <typename... Parts>
absl::Status unsupported(const Parts&... parts) {
  return absl::UnimplementedError(
      absl::StrCat(parts...,
                   "; supported are byte-level BPE tokenizers of the kind of "
                   "GPT-2, Llama 3 and Qwen 2"));
}

absl::StatusOr<Json> parse_object(std::string_view text) {
  try {
    Json json = Json::parse(text);
    if (json.is_object()) return json;
    return malformed("is no JSON object");
  } catch (const Json::exception& error) {
    return malformed("is no JSON: ", error.what());
  }
}

// The member of an object, or null.
const Json& member(const Json& object, const char* key) {
  static const Json null;
  const auto found = object.find(key);
  return found == object.end() ? null : *found;
}

bool is_set(const Json& object, const char* key) {
  const Json& value = member(object, key);
  return value.is_boolean() && value.get<bool>();
}

bool is_named(const Json& object, const char* type) {
  const Json& value = member(object, "type");
  return value.is_string() && value.get_ref<const std::string&>() == type;
}

// The type of a part, for messages.
std::string type_of(const Json& part) {
  const Json& type = part.is_object() ? member(part, "type") : part;
  return type.is_string() ? type.get<std::string>() : "no type";
}

std::optional<std::int64_t> id_of(const Json& json) {
  if (!json.is_number_unsigned()) return std::nullopt;
  const auto id = json.get<std::uint64_t>();
  if (id > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  return static_cast<std::int64_t>(id);
}

absl::StatusOr<Vocabulary> vocabulary_of(const Json& json,
                                         const std::string& place) {
  if (!json.is_object()) return malformed(place, " is no object");
  Vocabulary vocabulary;
  for (const auto& [token, value] : json.items()) {
    const auto id = id_of(value);
    if (!id) {
      return malformed(place, ": the token '", token,
                       "' has no id from 0 to 2^31 - 1");
    }
    vocabulary.emplace_back(token, *id);
  }
  if (vocabulary.empty()) return malformed(place, " has no tokens");
  return vocabulary;
}

// "a b".
std::optional<std::pair<std::string, std::string>> merge_of(
    std::string_view line) {
  const auto space = line.find(' ');
  if (space == 0 || space == std::string_view::npos ||
      space + 1 == line.size() ||
      line.find(' ', space + 1) != std::string_view::npos) {
    return std::nullopt;
  }
  return std::pair(std::string(line.substr(0, space)),
                   std::string(line.substr(space + 1)));
}

// A text "a b", or a list of two texts.
std::optional<std::pair<std::string, std::string>> merge_of(const Json& json) {
  if (json.is_string()) {
    return merge_of(std::string_view(json.get_ref<const std::string&>()));
  }
  if (!json.is_array() || json.size() != 2 || !json[0].is_string() ||
      !json[1].is_string()) {
    return std::nullopt;
  }
  return std::pair(json[0].get<std::string>(), json[1].get<std::string>());
}

absl::Status read_merges(const Json& json, Merges& merges) {
  if (!json.is_array()) return malformed("model.merges is no list");
  for (const Json& each : json) {
    auto merge = merge_of(each);
    if (!merge) {
      return malformed("model.merges[", merges.size(),
                       "] is neither \"a b\" nor [\"a\", \"b\"]");
    }
    merges.push_back(*std::move(merge));
  }
  return absl::OkStatus();
}

absl::Status read_model(const Json& model, TokenizerDescription& result) {
  if (!model.is_object()) return malformed("has no object 'model'");
  const bool named = model.contains("type");  // Old files do not name BPE.
  if (named && !is_named(model, "BPE")) {
    return unsupported("its model is ", type_of(model));
  }
  for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const Json& affix = member(model, key);
    if (affix.is_string() && !affix.get_ref<const std::string&>().empty()) {
      return unsupported("its model has a ", key);
    }
  }
  if (is_set(model, "byte_fallback")) {
    return unsupported("its model has byte_fallback");
  }
  if (const Json& dropout = member(model, "dropout");
      dropout.is_number() && dropout.get<double>() != 0) {
    return unsupported("its model has a dropout");
  }
  result.ignore_merges = is_set(model, "ignore_merges");
  HVD_ASSIGN_OR_RETURN(result.vocabulary,
                       vocabulary_of(member(model, "vocab"), "model.vocab"));
  return read_merges(member(model, "merges"), result.merges);
}

absl::Status read_added(const Json& json, TokenizerDescription& result) {
  if (json.is_null()) return absl::OkStatus();
  if (!json.is_array()) return malformed("added_tokens is no list");
  for (const Json& each : json) {
    const std::string place =
        absl::StrCat("added_tokens[", result.added.size(), "]");
    if (!each.is_object()) return malformed(place, " is no object");
    const Json& content = member(each, "content");
    const auto id = id_of(member(each, "id"));
    if (!content.is_string() || content.get_ref<const std::string&>().empty() ||
        !id) {
      return malformed(place, " lacks a content or an id");
    }
    for (const char* key : {"lstrip", "rstrip", "single_word"}) {
      if (is_set(each, key)) return unsupported(place, " has ", key);
    }
    result.added.push_back({.content = content.get<std::string>(),
                            .id = *id,
                            .special = is_set(each, "special"),
                            .normalized = is_set(each, "normalized")});
  }
  return absl::OkStatus();
}

absl::Status check_byte_level(const Json& part) {
  if (!part.is_object() || !is_named(part, "ByteLevel")) {
    return unsupported("its pre_tokenizer is ", type_of(part));
  }
  if (is_set(part, "add_prefix_space")) {
    return unsupported("its pre_tokenizer has add_prefix_space");
  }
  return absl::OkStatus();
}

absl::StatusOr<SplitPattern> pattern_of_split(const Json& part) {
  const Json& behavior = part.is_object() ? member(part, "behavior") : part;
  if (!part.is_object() || !is_named(part, "Split") || is_set(part, "invert") ||
      behavior != "Isolated") {
    return unsupported("its pre_tokenizer is no split into isolated words");
  }
  const Json& pattern = member(part, "pattern");
  const Json& regex = pattern.is_object() ? member(pattern, "Regex") : pattern;
  if (!regex.is_string()) return malformed("pre_tokenizer has no Regex");
  const auto& spelled = regex.get_ref<const std::string&>();
  const auto found = find_split_pattern(spelled);
  if (!found) return unsupported("its pre_tokenizer splits by '", spelled, "'");
  return *found;
}

// Either ByteLevel, which splits as GPT-2, or a Sequence of Split and a
// ByteLevel that does not split.
absl::StatusOr<SplitPattern> pattern_of(const Json& part) {
  if (!part.is_object() || !is_named(part, "Sequence")) {
    HVD_RETURN_IF_ERROR(check_byte_level(part));
    const Json& splits = member(part, "use_regex");
    if (splits.is_boolean() && !splits.get<bool>()) {
      return unsupported("its pre_tokenizer does not split");
    }
    return SplitPattern::kGpt2;
  }
  const Json& parts = member(part, "pretokenizers");
  if (!parts.is_array() || parts.size() != 2) {
    return unsupported("its pre_tokenizer is no sequence of two");
  }
  HVD_RETURN_IF_ERROR(check_byte_level(parts[1]));
  const Json& splits = member(parts[1], "use_regex");
  if (!splits.is_boolean() || splits.get<bool>()) {
    return unsupported("its pre_tokenizer splits twice");
  }
  return pattern_of_split(parts[0]);
}

// NFC, or nothing.
absl::StatusOr<bool> normalizes(const Json& normalizer) {
  if (normalizer.is_null()) return false;
  if (!normalizer.is_object() || !is_named(normalizer, "NFC")) {
    return unsupported("its normalizer is ", type_of(normalizer));
  }
  return true;
}

}  // namespace

absl::StatusOr<TokenizerDescription> parse_tokenizer_json(
    std::string_view text) {
  HVD_ASSIGN_OR_RETURN(const Json json, parse_object(text));
  TokenizerDescription result;
  HVD_RETURN_IF_ERROR(read_model(member(json, "model"), result));
  HVD_RETURN_IF_ERROR(read_added(member(json, "added_tokens"), result));
  HVD_ASSIGN_OR_RETURN(result.normalizes,
                       normalizes(member(json, "normalizer")));
  HVD_ASSIGN_OR_RETURN(result.pattern,
                       pattern_of(member(json, "pre_tokenizer")));
  return result;
}

absl::StatusOr<Vocabulary> parse_vocabulary_json(std::string_view text) {
  HVD_ASSIGN_OR_RETURN(const Json json, parse_object(text));
  return vocabulary_of(json, "the vocabulary");
}

absl::StatusOr<Merges> parse_merges_text(std::string_view text) {
  Merges merges;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with("#version")) continue;
    auto merge = merge_of(line);
    if (!merge) return malformed("line ", number, " is not \"a b\"");
    merges.push_back(*std::move(merge));
  }
  return merges;
}

}  // namespace hvd::data
