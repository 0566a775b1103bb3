// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/indices/picks.h"

#include <algorithm>
#include <optional>
#include <type_traits>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/loops/rows.h"
#include "horovodpp/kernel/parallel.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/map.h"
#include "horovodpp/tensor/memory.h"
#include "horovodpp/tensor/walk.h"

namespace hvd::autograd {
namespace {

// The layout of the elements that `picks` choose, in the tensor and in the
// result. The result has the picked dimensions together, and the other
// dimensions.
struct Places {
  Dims result;            // Sizes.
  Dims picked;            // Sizes of the picks, broadcast.
  std::size_t first = 0;  // The index of `picked` in `result`.
  Dims rest;              // Sizes and strides of the other dimensions.
  Dims rest_strides;
  // For each pick, its offset from the tensor's first element.
  std::vector<std::int64_t> offsets;
};

std::int64_t checked_index(std::int64_t index, std::int64_t size,
                           std::size_t dim) {
  if (index < -size || index >= size) {
    throw InvalidArgument(absl::StrCat("index: ", index,
                                       " is not within dimension ", dim,
                                       ", which has ", size, " elements"));
  }
  return index < 0 ? index + size : index;
}

void add_offsets(std::vector<std::int64_t>& offsets, const Tensor& pick,
                 const Dims& picked, std::int64_t size, std::int64_t stride,
                 std::size_t dim) {
  const Tensor all = clone(expand(as_int64(pick.detach(), "index"), picked));
  const auto* indices = all.data<std::int64_t>();
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    offsets[i] += stride * checked_index(indices[i], size, dim);
  }
}

Places places_of(const Dims& shape, const Dims& strides, const Picks& picks) {
  Places places;
  std::optional<std::size_t> first, last;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!picks[d].defined()) {
      places.rest.push_back(shape[d]);
      places.rest_strides.push_back(strides[d]);
      continue;
    }
    places.picked = first ? broadcast(places.picked, picks[d].shape(), "index")
                          : picks[d].shape();
    if (!first) first = d;
    if (last && *last + 1 != d) first = 0;
    last = d;
  }
  places.first = *first;
  places.offsets.resize(static_cast<std::size_t>(places.picked.product()));
  // An empty selection reads no index, as in PyTorch, unless the dimension of
  // the index is empty.
  const bool is_empty = places.rest.product() == 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!picks[d].defined() || (is_empty && shape[d] != 0)) continue;
    add_offsets(places.offsets, picks[d], places.picked, shape[d], strides[d],
                d);
  }
  for (std::size_t i = 0; i <= places.rest.size(); ++i) {
    if (i == places.first) {
      for (std::int64_t size : places.picked) places.result.push_back(size);
    }
    if (i < places.rest.size()) places.result.push_back(places.rest[i]);
  }
  return places;
}

// Chosen elements that lie in rows of equal steps: one row for each pick.
struct PickedRows {
  const std::int64_t* starts;  // Offset of each pick in the tensor.
  std::int64_t picks;
  std::int64_t pick_step;  // Between the picks in the other tensor.
  std::int64_t at;         // Offset of the row behind a pick's start.
  std::int64_t other;      // Offset of the first row in the other tensor.
  std::int64_t step;       // Between the elements of a row.
  std::int64_t other_step;
  std::int64_t size;  // Elements of a row.
};

// Calls `loop` for all chosen elements; the other tensor has the result's shape
// and these strides. Threads share out the dimensions beside the picks, so that
// a loop sees one element of the tensor in the order of the picks.
void for_each_picked_rows(const Places& places, const Dims& strides,
                          absl::FunctionRef<void(const PickedRows&)> loop) {
  Dims picked_strides, rest_strides;
  for (std::size_t d = 0; d < strides.size(); ++d) {
    const bool picked =
        d >= places.first && d < places.first + places.picked.size();
    (picked ? picked_strides : rest_strides).push_back(strides[d]);
  }
  const Walk<1> outer(places.picked, {picked_strides});
  const Walk<2> inner(places.rest, {places.rest_strides, rest_strides});
  PickedRows first{};
  first.picks = outer.row_size();
  first.pick_step = outer.row_steps()[0];
  first.step = inner.row_steps()[0];
  first.other_step = inner.row_steps()[1];
  first.size = inner.row_size();
  // Rows [begin, end), or elements [begin, end) of the only row.
  const bool by_rows = inner.rows() != 1;
  const auto run = [&](std::int64_t begin, std::int64_t end) {
    PickedRows rows = first;
    rows.starts = places.offsets.data();
    const std::int64_t skipped = by_rows ? 0 : begin;
    if (!by_rows) rows.size = end - begin;
    outer.for_each_row([&](const auto& o) {
      inner.for_rows(by_rows ? begin : 0, by_rows ? end : 1,
                     [&](const auto& at) {
                       rows.at = at[0] + skipped * rows.step;
                       rows.other = o[0] + at[1] + skipped * rows.other_step;
                       loop(rows);
                     });
      rows.starts += rows.picks;
    });
  };
  const auto picks = static_cast<std::int64_t>(places.offsets.size());
  if (by_rows) {
    parallel_for({.count = inner.rows(), .cost = picks * first.size}, run);
  } else {
    parallel_for({.count = first.size, .cost = picks, .multiple = 16}, run);
  }
}

// Calls f(at, other) for each chosen element: its offsets in both tensors; or
// row(at, other, n) for elements that are adjacent in both.
template <typename F, typename Row>
void for_each_place(const Places& places, const Dims& strides, F f, Row row) {
  for_each_picked_rows(places, strides, [&](const PickedRows& rows) {
    const bool adjacent = rows.step == 1 && rows.other_step == 1;
    for (std::int64_t i = 0; i < rows.picks; ++i) {
      const std::int64_t at = rows.starts[i] + rows.at;
      const std::int64_t other = rows.other + i * rows.pick_step;
      if (adjacent) {
        row(at, other, static_cast<std::size_t>(rows.size));
        continue;
      }
      for (std::int64_t k = 0; k < rows.size; ++k) {
        f(at + k * rows.step, other + k * rows.other_step);
      }
    }
  });
}

template <typename T>
T sum_of(T a, T b) {
  if constexpr (std::is_same_v<T, bool>) {
    return a || b;
  } else {
    return stored<T>(loaded(a) + loaded(b));
  }
}

template <typename T>
void add_row(const T* from, T* to, std::size_t n) {
  if constexpr (std::is_same_v<T, float>) {
    rows::apply<functors::Add>(to, from, 0.0f, to, n);
  } else {
    for (std::size_t i = 0; i < n; ++i) to[i] = sum_of(to[i], from[i]);
  }
}

// Writes or adds `values`, which broadcast, to the chosen elements of x.
void put_at(const Places& places, const Tensor& x, const Tensor& values,
            bool accumulate) {
  visit(x.dtype(), [&]<typename T>(TypeTag<T>) {
    T* to = x.data<T>();
    const T* from = values.data<T>();
    const Dims strides = broadcast_strides(values, places.result);
    // Two loops without a branch inside.
    if (accumulate) {
      for_each_place(
          places, strides,
          [=](std::int64_t at, std::int64_t other) {
            to[at] = sum_of(to[at], from[other]);
          },
          [=](std::int64_t at, std::int64_t other, std::size_t n) {
            add_row(from + other, to + at, n);
          });
    } else {
      for_each_place(
          places, strides,
          [=](std::int64_t at, std::int64_t other) { to[at] = from[other]; },
          [=](std::int64_t at, std::int64_t other, std::size_t n) {
            std::copy_n(from + other, n, to + at);
          });
    }
  });
}

struct SavesPicks : Node {
  void save(const Picks& picks) {
    saved = std::vector<SavedTensor>(picks.size());
    for (std::size_t i = 0; i < picks.size(); ++i) {
      if (picks[i].defined()) saved[i].save(picks[i]);
    }
  }
  Picks picks() {
    Picks result;
    for (SavedTensor& pick : saved) result.push_back(pick.unpack(*this));
    return result;
  }
  void release_saved() override {
    for (SavedTensor& pick : saved) pick.release();
  }
  std::vector<SavedTensor> saved;
};

Tensor pick_backward(const Tensor& grad, const Dims& shape, const Picks& picks);

// y = x[picks]:  dx = dy summed at its indices, 0 elsewhere
struct IndexBackward : SavesPicks {
  const char* name() const override { return "IndexBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = pick_backward(grads[0], shape, picks());
  }
  Dims shape;
};

// dx = pick_backward(dy):  ddy = ddx[picks]
struct IndexBackwardBackward : SavesPicks {
  const char* name() const override { return "IndexBackwardBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override {
    results[0] = pick(grads[0], picks());
  }
};

// x[picks] = v:  dx = dx where not written (or added), else 0;  dv = dx[picks]
struct IndexPutBackward : SavesPicks {
  const char* name() const override { return "IndexPutBackward"; }
  void apply(std::span<Tensor> grads, std::span<Tensor> results) override;
  bool accumulate = false;
};

Tensor pick_backward(const Tensor& grad, const Dims& shape,
                     const Picks& picks) {
  Tensor out = zeros(shape, {.dtype = grad.dtype()});
  put_at(places_of(out.shape(), out.strides(), picks), out, grad, true);
  if (needs_grad(grad)) {
    auto node = make_node<IndexBackwardBackward>(grad);
    node->save(picks);
    set_history(out, std::move(node));
  }
  return out;
}

void IndexPutBackward::apply(std::span<Tensor> grads,
                             std::span<Tensor> results) {
  if (wants(0) && accumulate) results[0] = grads[0];
  if (accumulate && !wants(1)) return;
  // Unpacked once: a checkpointed region frees them.
  const Picks where = picks();
  if (wants(0) && !accumulate) {
    results[0] = put(grads[0], where, zeros({}, {.dtype = grads[0].dtype()}),
                     {name(), Place::kCopy});
  }
  if (wants(1)) results[1] = pick(grads[0], where);
}

}  // namespace

Tensor pick(const Tensor& x, const Picks& picks) {
  const Places places = places_of(x.shape(), x.strides(), picks);
  Tensor out = result_of("index", [&] {
    const Tensor picked = empty(places.result, {.dtype = x.dtype()});
    visit(x.dtype(), [&]<typename T>(TypeTag<T>) {
      T* to = picked.data<T>();
      const T* from = x.data<T>();
      for_each_place(
          places, picked.strides(),
          [=](std::int64_t at, std::int64_t other) { to[other] = from[at]; },
          [=](std::int64_t at, std::int64_t other, std::size_t n) {
            std::copy_n(from + at, n, to + other);
          });
    });
    return picked;
  });
  for (const Tensor& indices : picks) report_reads(indices);
  if (needs_grad(x)) {
    auto node = make_node<IndexBackward>(x);
    node->save(picks);
    node->shape = x.shape();
    set_history(out, std::move(node));
  }
  return out;
}

Tensor put(const Tensor& x, const Picks& picks, const Tensor& value,
           const PutOptions& options) {
  check_same_dtype(x, value, options.operation);
  for (const Tensor& indices : picks) report_reads(indices);
  const bool in_place = options.place == Place::kInPlace;
  const Tensor values =
      in_place && shares_memory(value, x) ? clone(value) : value;
  // Offsets in x, or in the row-major copy.
  const Places places = places_of(
      x.shape(), in_place ? x.strides() : contiguous_strides(x.shape()), picks);
  if (!broadcasts_to(values.shape(), places.result)) {
    throw InvalidArgument(absl::StrCat(
        options.operation, ": values of shape ", values.shape().to_string(),
        " do not broadcast to ", places.result.to_string(),
        ", the shape of the written elements"));
  }
  const bool recorded = needs_grad(x, values) && is_floating_point(x.dtype());
  return written(
      x, options.place, "index_put", options.operation, recorded,
      [&] {
        auto node = make_node<IndexPutBackward>(x, values);
        node->accumulate = options.accumulate;
        if (!options.accumulate || node->wants(1)) node->save(picks);
        return node;
      },
      [&](const Tensor& target) {
        put_at(places, target, values, options.accumulate);
      });
}

}  // namespace hvd::autograd
