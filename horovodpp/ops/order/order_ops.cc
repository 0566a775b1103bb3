// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/order/order_ops.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/parallel.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/indices/index_ops.h"
#include "horovodpp/ops/order/along.h"
#include "horovodpp/ops/order/sorted_rows.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

// The wanted part of a row in order: elements first, first + 1, … below end.
struct Ranks {
  std::int64_t first = 0;
  std::int64_t end = 0;
  bool descending = false;
};

// The first items of a row in order. A heap holds the best ones so far, with the
// last of them on top; of equal elements the first precedes.
template <typename T>
void select_first(const T* row, std::int64_t n, const Ranks& ranks,
                  std::vector<Item<KeyOf<T>>>& items) {
  items.resize(static_cast<std::size_t>(ranks.end));
  load_row(row, ranks.descending, items);
  std::make_heap(items.begin(), items.end());
  for (std::int64_t i = ranks.end; i < n; ++i) {
    const KeyOf<T> key = key_in_order(row[i], ranks.descending);
    if (key >= items.front().key) continue;
    std::pop_heap(items.begin(), items.end());
    items.back() = {key, i};
    std::push_heap(items.begin(), items.end());
  }
  std::sort_heap(items.begin(), items.end());
}

// Moves the items of these ranks to their places.
template <typename Key>
void arrange(std::vector<Item<Key>>& items, std::vector<Item<Key>>& spare,
             const Ranks& ranks) {
  const auto n = static_cast<std::int64_t>(items.size());
  if (ranks.first == 0 && ranks.end == n) return sort_items(items, spare);
  const auto first = items.begin() + ranks.first;
  const auto end = items.begin() + ranks.end;
  std::nth_element(items.begin(), first, items.end());
  if (end - first < 2) return;
  if (end != items.end()) std::nth_element(first, end, items.end());
  std::sort(first, end);
}

// The indices of the elements of these ranks in rows of `in` [..., n].
Tensor ranked_rows(const Tensor& in, const Ranks& ranks) {
  const std::int64_t n = in.size(-1);
  const std::int64_t count = ranks.end - ranks.first;
  Dims shape = in.shape();
  shape[shape.size() - 1] = count;
  const Tensor out = empty(shape, {.dtype = DType::kI64});
  if (out.num_elements() == 0) return out;
  constexpr std::int64_t kFewOf = 16;
  const bool are_few = ranks.first == 0 && count * kFewOf <= n;
  auto* places = out.data<std::int64_t>();
  visit(in.dtype(), [&]<typename T>(TypeTag<T>) {
    const T* rows = in.data<T>();
    parallel_for(
        {.count = in.num_elements() / n, .cost = 8 * n},
        [&](std::int64_t begin, std::int64_t end) {
          std::vector<Item<KeyOf<T>>> items, spare;
          for (std::int64_t r = begin; r < end; ++r) {
            if (are_few) {
              select_first(rows + r * n, n, ranks, items);
            } else {
              items.resize(static_cast<std::size_t>(n));
              load_row(rows + r * n, ranks.descending, items);
              arrange(items, spare, ranks);
            }
            for (std::int64_t i = 0; i < count; ++i) {
              places[r * count + i] =
                  items[static_cast<std::size_t>(ranks.first + i)].index;
            }
          }
        });
  });
  return out;
}

// The same along a dimension of x, which has at least one.
Tensor ranked(const Tensor& x, std::size_t dim, const Ranks& ranks,
              OperationName operation) {
  const auto along = static_cast<std::int64_t>(dim);
  Tensor out = result_of(operation, [&] {
    NoGrad no_grad;
    const Tensor in = transpose(x.detach(), along, -1).contiguous();
    return transpose(ranked_rows(in, ranks), along, -1).contiguous();
  });
  return out;
}

// The values of these ranks, recorded, and their indices.
SortResult chosen(const Tensor& x, std::size_t dim, const Ranks& ranks,
                  OperationName operation) {
  const Tensor indices = ranked(x, dim, ranks, operation);
  return {gather(x, static_cast<std::int64_t>(dim), indices), indices};
}

[[noreturn]] void throw_missing(const Along& along, std::int64_t k,
                                const char* operation) {
  throw InvalidArgument(absl::StrCat(
      operation, ": k is ", k, ", but dimension ", along.dim, " of ",
      along.x.describe(), " has ", along.size(), " elements"));
}

}  // namespace
}  // namespace autograd

SortResult sort(const Tensor& x, const SortOptions& options) {
  const autograd::Along along(x, options.dim, "sort");
  return along.finish(autograd::chosen(
      along.x, along.dim,
      {.end = along.size(), .descending = options.descending}, "sort"));
}

Tensor argsort(const Tensor& x, const SortOptions& options) {
  const autograd::Along along(x, options.dim, "argsort");
  autograd::report_reads(x);
  const Tensor indices = autograd::ranked(
      along.x.detach(), along.dim,
      {.end = along.size(), .descending = options.descending}, "sort");
  return along.is_scalar ? reshape(indices, {}) : indices;
}

SortResult topk(const Tensor& x, std::int64_t k, const TopkOptions& options) {
  const autograd::Along along(x, options.dim, "topk");
  if (k < 0 || k > along.size()) autograd::throw_missing(along, k, "topk");
  SortResult result = autograd::chosen(
      along.x, along.dim, {.end = k, .descending = options.largest}, "topk");
  return k == 0 ? result : along.finish(result);
}

SortResult kthvalue(const Tensor& x, std::int64_t k,
                    const KthOptions& options) {
  const autograd::Along along(x, options.dim, "kthvalue");
  if (k < 1 || k > along.size()) autograd::throw_missing(along, k, "kthvalue");
  const SortResult found = autograd::chosen(
      along.x, along.dim, {.first = k - 1, .end = k}, "kthvalue");
  return along.finish_reduced(found, options.keepdim);
}

}  // namespace hvd
