// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/coordinator/tuning/tuning_memory.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace hvd::coordinator {
namespace {

constexpr char kTitle[] = "horovodpp tuning 1";
constexpr char kEnd[] = "end";
constexpr std::size_t kMostPaths = 16;

using Words = std::vector<absl::string_view>;

std::optional<PathLine> path_from(const Words& words) {
  PathLine line;
  if (words.size() != 4 || !absl::SimpleAtod(words[1], &line.start) ||
      !absl::SimpleAtod(words[2], &line.per_tensor) ||
      !absl::SimpleAtod(words[3], &line.per_byte)) {
    return std::nullopt;
  }
  for (const double value : {line.start, line.per_tensor, line.per_byte}) {
    if (!std::isfinite(value) || value < 0) return std::nullopt;
  }
  return line;
}

// "model HASH 3 1 | 0 2 |": two batches.
std::optional<TuningMemory::Model> model_from(const Words& words) {
  TuningMemory::Model model;
  if (words.size() < 4 || !absl::SimpleHexAtoi(words[1], &model.hash)) {
    return std::nullopt;
  }
  for (std::size_t i = 2; i < words.size(); ++i) {
    std::uint32_t number = 0;
    if (words[i] == "|") {
      model.best.cuts.push_back(model.best.order.size());
    } else if (absl::SimpleAtoi(words[i], &number)) {
      model.best.order.push_back(number);
    } else {
      return std::nullopt;
    }
  }
  if (!model.best.is_of(model.best.order.size())) return std::nullopt;
  return model;
}

}  // namespace

bool Arrangement::is_of(std::size_t operations) const {
  if (order.size() != operations || cuts.empty() || cuts.back() != operations) {
    return false;
  }
  std::vector<bool> has(operations, false);
  for (const std::uint32_t one : order) {
    if (one >= operations || has[one]) return false;
    has[one] = true;
  }
  return cuts.front() > 0 &&
         std::adjacent_find(cuts.begin(), cuts.end(), std::greater_equal<>()) ==
             cuts.end();
}

void TuningMemory::remember(Model model) {
  std::erase_if(models,
                [&](const Model& other) { return other.hash == model.hash; });
  models.insert(models.begin(), std::move(model));
  if (models.size() > kMostModels) models.pop_back();
}

const TuningMemory::Model* TuningMemory::find(std::uint64_t hash) const {
  const auto found =
      std::find_if(models.begin(), models.end(),
                   [hash](const Model& model) { return model.hash == hash; });
  return found == models.end() ? nullptr : &*found;
}

std::string TuningMemory::to_text() const {
  std::string text = absl::StrCat(kTitle, "\n");
  for (const PathLine& path : paths) {
    absl::StrAppendFormat(&text, "path %.9g %.9g %.9g\n", path.start,
                          path.per_tensor, path.per_byte);
  }
  for (const Model& model : models) {
    absl::StrAppendFormat(&text, "model %016x", model.hash);
    auto cut = model.best.cuts.begin();
    for (std::size_t i = 0; i < model.best.order.size(); ++i) {
      absl::StrAppend(&text, " ", model.best.order[i]);
      if (i + 1 != *cut) continue;
      absl::StrAppend(&text, " |");
      ++cut;
    }
    absl::StrAppend(&text, "\n");
  }
  absl::StrAppend(&text, kEnd, "\n");
  return text;
}

std::optional<TuningMemory> TuningMemory::from_text(std::string_view text) {
  const std::vector<absl::string_view> lines =
      absl::StrSplit(absl::string_view(text.data(), text.size()), '\n');
  if (lines.size() < 3 || lines.front() != kTitle ||
      lines[lines.size() - 2] != kEnd || !lines.back().empty()) {
    return std::nullopt;
  }
  TuningMemory memory;
  for (std::size_t i = 1; i + 2 < lines.size(); ++i) {
    const Words words = absl::StrSplit(lines[i], ' ');
    if (words.front() == "path" && memory.paths.size() < kMostPaths) {
      const auto path = path_from(words);
      if (!path) return std::nullopt;
      memory.paths.push_back(*path);
    } else if (words.front() == "model" && memory.models.size() < kMostModels) {
      auto model = model_from(words);
      if (!model) return std::nullopt;
      memory.models.push_back(*std::move(model));
    } else {
      return std::nullopt;
    }
  }
  return memory;
}

}  // namespace hvd::coordinator
