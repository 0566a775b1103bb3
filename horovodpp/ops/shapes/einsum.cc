// SPDX-License-Identifier: Apache-2.0
// einsum() as products of two operands, from left to right. A dimension of both
// operands is either kept, as a batch of the product, or summed: then no later
// operand and no result has it. A label whose sizes are 1 and n broadcasts: the
// dimension of size 1 is dropped.
#include <algorithm>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/ops/shapes/contractions.h"
#include "horovodpp/ops/shapes/einsum_equation.h"
#include "horovodpp/ops/shapes/views.h"

namespace hvd {

using autograd::Dims;
using autograd::Label;
using autograd::Labels;

namespace {

// A tensor whose dimension i has label labels[i]; the labels are distinct.
struct Labeled {
  Tensor tensor;
  Labels labels;
};

bool contains(const Labels& labels, Label label) {
  return std::ranges::find(labels, label) != labels.end();
}

std::int64_t place_of(const Labels& labels, Label label) {
  return std::ranges::find(labels, label) - labels.begin();
}

std::int64_t size_of_label(const Labeled& x, Label label) {
  return x.tensor.size(place_of(x.labels, label));
}

// Takes the diagonal of dimensions with the same label.
Labeled with_distinct_labels(Labeled x) {
  for (std::size_t i = 0; i < x.labels.size();) {
    const auto rest = std::find(x.labels.begin() + static_cast<long>(i) + 1,
                                x.labels.end(), x.labels[i]);
    if (rest == x.labels.end()) {
      ++i;
      continue;
    }
    const std::int64_t first = static_cast<std::int64_t>(i);
    const std::int64_t second = rest - x.labels.begin();
    if (x.tensor.size(first) != x.tensor.size(second)) {
      throw InvalidArgument(
          absl::StrCat("einsum: dimensions ", first, " and ", second,
                       " of shape ", x.tensor.shape().to_string(),
                       " have one letter, but different sizes"));
    }
    x.tensor = diagonal(x.tensor, 0, first, second);
    const Label label = x.labels[i];
    x.labels.erase(rest);
    x.labels.erase(x.labels.begin() + first);
    x.labels.push_back(label);
  }
  return x;
}

// Sums over the dimensions whose label is not kept.
Labeled summed(const Labeled& x, const std::function<bool(Label)>& is_kept) {
  Labeled result{x.tensor, {}};
  Dims dims;
  for (std::size_t d = 0; d < x.labels.size(); ++d) {
    if (is_kept(x.labels[d])) {
      result.labels.push_back(x.labels[d]);
    } else {
      dims.push_back(static_cast<std::int64_t>(d));
    }
  }
  if (!dims.empty()) result.tensor = sum(x.tensor, dims);
  return result;
}

// Drops dimensions of size 1 that the other operand has in a larger size.
Labeled without_ones(const Labeled& x, const Labeled& other) {
  Labeled result{x.tensor, {}};
  for (const Label label : x.labels) {
    const std::int64_t own = size_of_label(x, label);
    const std::int64_t others =
        contains(other.labels, label) ? size_of_label(other, label) : own;
    if (own == others || others == 1) {
      result.labels.push_back(label);
    } else if (own == 1) {
      result.tensor = squeeze(result.tensor,
                              static_cast<std::int64_t>(result.labels.size()));
    } else {
      throw InvalidArgument(absl::StrCat("einsum: a letter has sizes ", own,
                                         " and ", others, ", in shapes ",
                                         x.tensor.shape().to_string(), " and ",
                                         other.tensor.shape().to_string()));
    }
  }
  return result;
}

Tensor ordered(const Labeled& x, const Labels& order) {
  Dims dims;
  for (const Label label : order) dims.push_back(place_of(x.labels, label));
  return permute(x.tensor, dims);
}

// The parts of the labels of two operands.
struct Parts {
  Labels batch;   // Of both, kept.
  Labels summed;  // Of both, not kept.
  Labels left;    // Of the left one alone.
  Labels right;
};

Parts parts_of(const Labeled& a, const Labeled& b,
               const std::function<bool(Label)>& is_kept) {
  Parts parts;
  for (const Label label : a.labels) {
    (!contains(b.labels, label) ? parts.left
     : is_kept(label)           ? parts.batch
                                : parts.summed)
        .push_back(label);
  }
  for (const Label label : b.labels) {
    if (!contains(a.labels, label)) parts.right.push_back(label);
  }
  return parts;
}

Labels together(const Labels& a, const Labels& b, const Labels& c = {}) {
  Labels result = a;
  result.insert(result.end(), b.begin(), b.end());
  result.insert(result.end(), c.begin(), c.end());
  return result;
}

std::int64_t product_of(const Labeled& x, const Labels& labels) {
  std::int64_t product = 1;
  for (const Label label : labels) product *= size_of_label(x, label);
  return product;
}

// Dimensions [batch, left, right], of which x has its own, and 1 for others.
Tensor spread(const Labeled& x, const Parts& parts) {
  Labels own;
  Dims shape;
  for (const Label label : together(parts.batch, parts.left, parts.right)) {
    const bool has = contains(x.labels, label);
    if (has) own.push_back(label);
    shape.push_back(has ? size_of_label(x, label) : 1);
  }
  return reshape(ordered(x, own), shape);
}

// The product of a and b, summed over what is not kept.
Labeled multiplied(const Labeled& left, const Labeled& right,
                   const std::function<bool(Label)>& is_kept) {
  const Labeled narrow_left = without_ones(left, right);
  const Labeled narrow_right = without_ones(right, left);
  const auto in = [](const Labeled& x) {
    return [&x](Label label) { return contains(x.labels, label); };
  };
  const Labeled a = summed(narrow_left, [&](Label label) {
    return is_kept(label) || in(narrow_right)(label);
  });
  const Labeled b = summed(narrow_right, [&](Label label) {
    return is_kept(label) || in(narrow_left)(label);
  });
  const Parts parts = parts_of(a, b, is_kept);
  const Labels labels = together(parts.batch, parts.left, parts.right);
  if (parts.summed.empty()) {
    return {mul(spread(a, parts), spread(b, parts)), labels};
  }
  const std::int64_t batch = product_of(a, parts.batch);
  const std::int64_t inner = product_of(a, parts.summed);
  const Tensor rows =
      reshape(ordered(a, together(parts.batch, parts.left, parts.summed)),
              {batch, product_of(a, parts.left), inner});
  const Tensor columns =
      reshape(ordered(b, together(parts.batch, parts.summed, parts.right)),
              {batch, inner, product_of(b, parts.right)});
  Dims shape;
  for (const Label label : labels) {
    shape.push_back(size_of_label(contains(a.labels, label) ? a : b, label));
  }
  return {autograd::resized(bmm(rows, columns), shape), labels};
}

}  // namespace

Tensor einsum(std::string_view text, const std::vector<Tensor>& operands) {
  const auto equation = autograd::parse_einsum(std::string(text), operands);
  std::size_t next = 1;
  const auto is_kept = [&](Label label) {
    return contains(equation.result, label) ||
           std::any_of(equation.operands.begin() + static_cast<long>(next),
                       equation.operands.end(), [&](const Labels& labels) {
                         return contains(labels, label);
                       });
  };
  Labeled product = with_distinct_labels({operands[0], equation.operands[0]});
  while (next < operands.size()) {
    const Labeled factor =
        with_distinct_labels({operands[next], equation.operands[next]});
    ++next;
    product = multiplied(product, factor, is_kept);
  }
  product = summed(product, is_kept);
  return ordered(product, equation.result);
}

}  // namespace hvd
