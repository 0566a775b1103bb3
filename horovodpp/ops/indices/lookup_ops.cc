// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/indices/index_ops.h"

#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/sparse_gradient.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/loops/rows.h"
#include "horovodpp/kernel/parallel.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

// The choice of rows of a dimension. Row `skipped`, if any, reads as 0 and
// receives no gradient.
struct Choice {
  std::size_t dim = 0;
  std::int64_t size = 0;  // Of the dimension.
  std::int64_t skipped = -1;
  bool sparse = false;  // The gradient is sparse.
  OperationName operation = "index_select";
};

[[noreturn]] void throw_out_of_range(std::int64_t index, std::int64_t size,
                                     const char* operation) {
  throw InvalidArgument(absl::StrCat(operation, ": index ", index,
                                     " is not within the ", size,
                                     " elements of the dimension"));
}

std::vector<std::int64_t> numbers(const Tensor& indices,
                                  const char* operation) {
  return as_int64(indices, operation).to_vector<std::int64_t>();
}

std::vector<std::int64_t> checked_indices(const Tensor& indices,
                                          std::int64_t size,
                                          const char* operation) {
  std::vector<std::int64_t> all = numbers(indices, operation);
  for (std::int64_t index : all) {
    if (index < 0 || index >= size) throw_out_of_range(index, size, operation);
  }
  return all;
}

// The sizes of a tensor as [outer, size of dim, inner].
struct Blocks {
  Blocks(const Dims& shape, std::size_t dim) {
    for (std::size_t d = 0; d < dim; ++d) outer *= shape[d];
    for (std::size_t d = dim + 1; d < shape.size(); ++d) inner *= shape[d];
  }
  std::int64_t outer = 1;
  std::int64_t inner = 1;
};

// The chosen elements of each of `outer` rows.
template <typename T>
void take_elements(const T* x, T* out, std::int64_t outer,
                   const std::vector<std::int64_t>& chosen,
                   const Choice& choice) {
  const auto n = static_cast<std::int64_t>(chosen.size());
  const std::int64_t* places = chosen.data();
  parallel_for({.count = outer, .cost = n},
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t o = begin; o < end; ++o) {
                   const T* from = x + o * choice.size;
                   T* to = out + o * n;
                   for (std::int64_t i = 0; i < n; ++i) to[i] = from[places[i]];
                   if (choice.skipped < 0) continue;
                   for (std::int64_t i = 0; i < n; ++i) {
                     if (places[i] == choice.skipped) to[i] = T(0);
                   }
                 }
               });
}

Tensor taken(const Tensor& x, const Tensor& indices, const Choice& choice) {
  const Tensor in = x.detach().contiguous();
  const auto chosen =
      checked_indices(indices, choice.size, choice.operation.text());
  Dims shape = x.shape();
  shape[choice.dim] = static_cast<std::int64_t>(chosen.size());
  Tensor out = empty(shape, {.dtype = x.dtype()});
  const Blocks blocks(shape, choice.dim);
  const auto row = static_cast<std::size_t>(blocks.inner) * size_of(x.dtype());
  if (row == 0) return out;
  const auto* from = static_cast<const std::byte*>(in.raw_data());
  auto* to = static_cast<std::byte*>(out.raw_data());
  if (blocks.inner == 1) {
    visit(x.dtype(), [&]<typename T>(TypeTag<T>) {
      take_elements(in.data<T>(), out.data<T>(), blocks.outer, chosen, choice);
    });
    return out;
  }
  const auto count = static_cast<std::int64_t>(chosen.size());
  parallel_for({.count = blocks.outer * count, .cost = blocks.inner},
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t index =
                       chosen[static_cast<std::size_t>(i % count)];
                   auto* row_out = to + static_cast<std::size_t>(i) * row;
                   if (index == choice.skipped) {
                     std::memset(row_out, 0, row);
                     continue;
                   }
                   const std::int64_t at = i / count * choice.size + index;
                   std::memcpy(row_out,
                               from + static_cast<std::size_t>(at) * row, row);
                 }
               });
  return out;
}

template <typename T>
void add_row(T* to, const T* from, std::int64_t n) {
  if constexpr (std::is_floating_point_v<T>) {
    if (n >= 8) {
      rows::apply<functors::Add>(to, from, T(0), to,
                                 static_cast<std::size_t>(n));
      return;
    }
  }
  for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(to[i] + from[i]);
}

// Adds the elements of a row to the places that `chosen` names.
template <typename T>
void add_elements(const T* from, const std::vector<std::int64_t>& chosen,
                  std::int64_t skipped, T* to) {
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (chosen[i] != skipped) to[chosen[i]] += from[i];
  }
}

Tensor added(const Tensor& grad, const Tensor& indices, const Choice& choice) {
  NoGrad no_grad;
  const Tensor in = widened(grad.detach()).contiguous();
  const auto chosen = numbers(indices, choice.operation.text());
  Dims shape = grad.shape();
  shape[choice.dim] = choice.size;
  Tensor out = zeros(shape, {.dtype = in.dtype()});
  const Blocks blocks(shape, choice.dim);
  visit_floating(in.dtype(), "index_select", [&]<typename T>(TypeTag<T>) {
    const T* from = in.data<T>();
    T* to = out.data<T>();
    const auto count = static_cast<std::int64_t>(chosen.size());
    // Columns [begin, end) of block o, in the order of the indices.
    const auto add = [&](std::int64_t o, std::int64_t begin, std::int64_t end) {
      const T* rows = from + o * count * blocks.inner + begin;
      T* sums = to + o * choice.size * blocks.inner + begin;
      if (blocks.inner == 1) {
        return add_elements(rows, chosen, choice.skipped, sums);
      }
      for (std::int64_t index : chosen) {
        if (index != choice.skipped) {
          add_row(sums + index * blocks.inner, rows, end - begin);
        }
        rows += blocks.inner;
      }
    };
    if (blocks.outer == 1) {
      parallel_for(
          {.count = blocks.inner, .cost = count, .multiple = 64},
          [&](std::int64_t begin, std::int64_t end) { add(0, begin, end); });
      return;
    }
    parallel_for({.count = blocks.outer, .cost = count * blocks.inner},
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t o = begin; o < end; ++o) {
                     add(o, 0, blocks.inner);
                   }
                 });
  });
  return hvd::to(out, grad.dtype());
}

Tensor add_rows(const Tensor& grad, const Tensor& indices,
                const Choice& choice);

// dy as sparse rows, without the skipped row.
Tensor sparse_rows(const Tensor& grad, const Tensor& indices,
                   const Choice& choice) {
  NoGrad no_grad;
  Dims shape = grad.shape();
  shape[0] = choice.size;
  const Tensor values = grad.detach().contiguous();
  const auto rows = numbers(indices, choice.operation.text());
  std::vector<std::int64_t> kept;
  std::vector<std::int64_t> places;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i] == choice.skipped) continue;
    kept.push_back(rows[i]);
    places.push_back(static_cast<std::int64_t>(i));
  }
  const auto count = static_cast<std::int64_t>(kept.size());
  const Tensor kept_values =
      kept.size() == rows.size()
          ? values
          : taken(values, from_vector(places, {count}),
                  {.size = grad.size(0), .operation = "embedding"});
  // A copy: the caller may write to its indices later.
  return as_gradient({from_vector(kept, {count}), kept_values, shape});
}

// Rows of x; the skipped row reads as 0 only with `zero_skipped`.
Tensor take_rows(const Tensor& x, const Tensor& indices, const Choice& choice,
                 bool zero_skipped) {
  Choice forward = choice;
  if (!zero_skipped) forward.skipped = -1;
  Tensor out =
      result_of(choice.operation, [&] { return taken(x, indices, forward); });
  report_reads(indices);
  if (needs_grad(x)) {
    // dx = add_rows(dy), or sparse rows
    record_saving(out, "IndexSelectBackward", x, indices,
                  [choice](Tensor& dy, const Tensor& rows) {
                    return choice.sparse && !is_grad_enabled()
                               ? sparse_rows(dy, rows, choice)
                               : add_rows(dy, rows, choice);
                  });
  }
  return out;
}

Tensor add_rows(const Tensor& grad, const Tensor& indices,
                const Choice& choice) {
  Tensor out =
      result_of(choice.operation, [&] { return added(grad, indices, choice); });
  if (needs_grad(grad)) {
    record_saving(out, "IndexAddBackward", grad, indices,
                  [choice](Tensor& ddx, const Tensor& rows) {
                    return take_rows(ddx, rows, choice, true);
                  });
  }
  return out;
}

}  // namespace
}  // namespace autograd

using autograd::Dims;

Tensor embedding(const Tensor& weight, const Tensor& indices,
                 const EmbeddingOptions& options) {
  autograd::check_defined(weight, "embedding");
  autograd::check_defined(indices, "embedding");
  if (weight.dim() != 2) {
    throw InvalidArgument(absl::StrCat("embedding: weight ", weight.describe(),
                                       " is not [n, width]"));
  }
  const std::int64_t rows = weight.size(0);
  autograd::Choice choice{.dim = 0, .size = rows, .operation = "embedding"};
  if (options.padding_index) {
    choice.skipped = *options.padding_index;
    if (choice.skipped < 0) choice.skipped += rows;
    if (choice.skipped < 0 || choice.skipped >= rows) {
      autograd::throw_out_of_range(*options.padding_index, rows, "embedding");
    }
  }
  choice.sparse = options.sparse;
  if (options.sparse && autograd::needs_grad(weight) && weight.is_leaf()) {
    autograd::expect_sparse_grad(weight);
  }
  Dims shape = indices.shape();
  shape.push_back(weight.size(1));
  return autograd::resized(
      autograd::take_rows(weight, reshape(indices, {indices.num_elements()}),
                          choice, false),
      shape);
}

Tensor index_select(const Tensor& x, std::int64_t dim, const Tensor& indices) {
  autograd::check_defined(x, "index_select");
  autograd::check_defined(indices, "index_select");
  if (indices.dim() > 1 || (x.dim() == 0 && indices.num_elements() != 1)) {
    throw InvalidArgument(absl::StrCat("index_select: indices ",
                                       indices.describe(), " are not ",
                                       x.dim() == 0 ? "[1]" : "[n]"));
  }
  // A scalar counts as [1].
  if (indices.dim() == 0) return index_select(x, dim, reshape(indices, {1}));
  if (x.dim() == 0) {
    return autograd::resized(index_select(reshape(x, {1}), dim, indices), {});
  }
  const std::size_t d =
      autograd::checked_dim(dim, x.shape().size(), "index_select");
  return autograd::take_rows(x, indices, {.dim = d, .size = x.shape()[d]},
                             false);
}

}  // namespace hvd
