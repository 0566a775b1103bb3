// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/shapes/einsum_equation.h"

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "horovodpp/core/error.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::autograd {
namespace {

constexpr char kDots[] = "...";
constexpr std::size_t kDotsSize = 3;

[[noreturn]] void refuse(const std::string& equation,
                         const std::string& reason) {
  throw InvalidArgument(absl::StrCat("einsum: \"", equation, "\": ", reason));
}

void check_letters(const std::string& equation, const std::string& letters) {
  for (const char c : letters) {
    if (absl::ascii_isalpha(static_cast<unsigned char>(c))) continue;
    refuse(equation, absl::StrCat("\"", letters,
                                  "\" has more than letters and one \"...\""));
  }
}

void append(Labels& labels, const std::string& letters) {
  for (const char c : letters) labels.push_back(static_cast<Label>(c));
}

// The labels of `subscripts`, in which "..." stands for `hidden` dimensions.
Labels labels_of(const std::string& equation, const std::string& subscripts,
                 std::size_t hidden) {
  const std::size_t dots = subscripts.find(kDots);
  const std::string before = subscripts.substr(0, dots);
  check_letters(equation, before);
  Labels labels;
  append(labels, before);
  if (dots == std::string::npos) return labels;
  const std::string after = subscripts.substr(dots + kDotsSize);
  check_letters(equation, after);
  for (std::size_t i = hidden; i-- > 0;) {
    labels.push_back(kEllipsisLabel + static_cast<Label>(i));
  }
  append(labels, after);
  return labels;
}

// The number of dimensions of x that "..." stands for.
std::size_t hidden_dims(const std::string& equation,
                        const std::string& subscripts, const Tensor& x) {
  const bool has_dots = subscripts.find(kDots) != std::string::npos;
  const std::size_t named = subscripts.size() - (has_dots ? kDotsSize : 0);
  const std::size_t rank = x.shape().size();
  if (has_dots ? named <= rank : named == rank) return rank - named;
  refuse(equation,
         absl::StrCat("\"", subscripts, "\" does not name the ", rank,
                      " dimensions of shape ", x.shape().to_string()));
}

// "..." and the letters that occur once.
Labels implied_result(const std::vector<Labels>& operands, std::size_t hidden) {
  std::map<Label, int> uses;
  for (const Labels& labels : operands) {
    for (const Label label : labels) ++uses[label];
  }
  Labels result;
  for (std::size_t i = hidden; i-- > 0;) {
    result.push_back(kEllipsisLabel + static_cast<Label>(i));
  }
  for (const auto& [label, count] : uses) {
    if (label < kEllipsisLabel && count == 1) result.push_back(label);
  }
  return result;
}

void check_result(const std::string& equation, const EinsumEquation& parsed) {
  const auto is_known = [&](Label label) {
    return std::any_of(parsed.operands.begin(), parsed.operands.end(),
                       [&](const Labels& labels) {
                         return std::ranges::count(labels, label) != 0;
                       });
  };
  for (const Label label : parsed.result) {
    if (std::ranges::count(parsed.result, label) > 1) {
      refuse(equation, "the result has a letter twice");
    }
    if (!is_known(label)) {
      refuse(equation, "the result has a letter that no operand has");
    }
  }
}

}  // namespace

EinsumEquation parse_einsum(const std::string& equation,
                            const std::vector<Tensor>& operands) {
  std::string text = equation;
  std::erase(text, ' ');
  const std::size_t arrow = text.find("->");
  const std::vector<std::string> subscripts =
      absl::StrSplit(text.substr(0, arrow), ',');
  if (operands.empty() || subscripts.size() != operands.size()) {
    refuse(equation, absl::StrCat("names ", subscripts.size(),
                                  " operands, not ", operands.size()));
  }
  EinsumEquation parsed;
  std::size_t most_hidden = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    check_defined(operands[i], "einsum");
    const std::size_t hidden =
        hidden_dims(equation, subscripts[i], operands[i]);
    most_hidden = std::max(most_hidden, hidden);
    parsed.operands.push_back(labels_of(equation, subscripts[i], hidden));
  }
  parsed.result =
      arrow == std::string::npos
          ? implied_result(parsed.operands, most_hidden)
          : labels_of(equation, text.substr(arrow + 2), most_hidden);
  check_result(equation, parsed);
  return parsed;
}

}  // namespace hvd::autograd
