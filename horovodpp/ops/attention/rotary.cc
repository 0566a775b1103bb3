// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/attention/rotary.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/parallel.h"
#include "horovodpp/kernel/visit.h"
#include "horovodpp/ops/attention/attention_call.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/ops/shape_ops.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

// The rotations of all rows: cosine and sine of each angle, [rows, width / 2].
struct Turns {
  std::vector<double> cosines;
  std::vector<double> sines;
  bool interleaved = false;
};

// The inputs of a table of turns.
struct TurnsKey {
  std::int64_t rows = 0;
  std::int64_t width = 0;
  double base = 0;
  std::int64_t offset = 0;
  std::vector<std::int64_t> positions = {};
  bool interleaved = false;
  RotaryScaling scaling = {};
  friend bool operator==(const TurnsKey&, const TurnsKey&) = default;
};

std::shared_ptr<const Turns> make_turns(const TurnsKey& key) {
  auto turns = std::make_shared<Turns>();
  turns->interleaved = key.interleaved;
  const std::int64_t last =
      key.positions.empty()
          ? key.offset + key.rows - 1
          : *std::max_element(key.positions.begin(), key.positions.end());
  const std::vector<double> steps = rotary_frequencies(
      key.width, {.base = key.base, .scaling = key.scaling}, last + 1);
  for (std::int64_t row = 0; row < key.rows; ++row) {
    const double position =
        key.positions.empty()
            ? static_cast<double>(key.offset) + static_cast<double>(row)
            : static_cast<double>(key.positions[static_cast<std::size_t>(row)]);
    for (const double step : steps) {
      turns->cosines.push_back(std::cos(position * step));
      turns->sines.push_back(std::sin(position * step));
    }
  }
  return turns;
}

// A thread keeps its last table, since all layers of a decoder use the same.
std::shared_ptr<const Turns> turns_of(const Tensor& x,
                                      const RotaryOptions& options) {
  thread_local TurnsKey last;
  thread_local std::shared_ptr<const Turns> table;
  TurnsKey key{.rows = x.size(-2),
               .width = x.size(-1),
               .base = options.base,
               .offset = options.offset,
               .positions = options.positions,
               .interleaved = options.interleaved,
               .scaling = options.scaling};
  if (table == nullptr || key != last) {
    table = make_turns(key);
    last = std::move(key);
  }
  return table;
}

// Places of one row's pairs, in elements.
struct Pairs {
  std::int64_t step;    // From a pair to the next.
  std::int64_t second;  // From a pair's first element to its second.
};

Pairs pairs_of(std::int64_t width, std::int64_t step, bool interleaved) {
  return interleaved ? Pairs{2 * step, step} : Pairs{step, width / 2 * step};
}

// One row: (a, b) -> (a cos - b sin, b cos + a sin).
template <typename T>
void turn_row(const T* in, const Pairs& from, T* out, const Pairs& to,
              const T* cosines, const T* sines, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    const T a = in[i * from.step];
    const T b = in[i * from.step + from.second];
    out[i * to.step] = a * cosines[i] - b * sines[i];
    out[i * to.step + to.second] = b * cosines[i] + a * sines[i];
  }
}

// `x` is float32 or float64, of any strides.
template <typename T>
void turn_all(const Tensor& x, const Tensor& out, const Turns& turns,
              bool back) {
  const std::int64_t rows = x.size(-2);
  const std::int64_t width = x.size(-1);
  const std::vector<T> cosines(turns.cosines.begin(), turns.cosines.end());
  std::vector<T> sines(turns.sines.begin(), turns.sines.end());
  if (back) {
    for (T& sine : sines) sine = -sine;
  }
  const std::vector<std::int64_t> offsets = matrix_offsets(x);
  const std::int64_t row_step = x.strides()[x.shape().size() - 2];
  const Pairs from = pairs_of(width, x.strides().back(), turns.interleaved);
  const Pairs to = pairs_of(width, 1, turns.interleaved);
  const T* in = x.data<T>();
  T* results = out.data<T>();
  const std::int64_t matrices = static_cast<std::int64_t>(offsets.size());
  parallel_for({.count = matrices * rows, .cost = width},
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t at = begin; at < end; ++at) {
                   const std::int64_t row = at % rows;
                   const std::int64_t matrix =
                       offsets[static_cast<std::size_t>(at / rows)];
                   turn_row(in + matrix + row * row_step, from,
                            results + at * width, to,
                            cosines.data() + row * (width / 2),
                            sines.data() + row * (width / 2), width / 2);
                 }
               });
}

// Turns x by the angles, or back by them.
Tensor turn(const Tensor& x, const std::shared_ptr<const Turns>& turns,
            bool back) {
  Tensor out = result_of("rotary_embedding", [&] {
    NoGrad no_grad;
    const Tensor in = widened(x.detach());
    const Tensor result = empty(x.shape(), {.dtype = in.dtype()});
    if (x.num_elements() > 0) {
      visit_floating(in.dtype(), "rotary_embedding",
                     [&]<typename T>(TypeTag<T>) {
                       turn_all<T>(in, result, *turns, back);
                     });
    }
    return to(result, x.dtype());
  });
  if (needs_grad(x)) {
    record(out, "RotaryEmbeddingBackward", x,
           [turns, back](Tensor& dy) { return turn(dy, turns, !back); });
  }
  return out;
}

void check_rotary(const Tensor& x, const RotaryOptions& options) {
  check_defined(x, "rotary_embedding");
  if (x.dim() < 2 || x.size(-1) % 2 != 0 || !is_floating_point(x.dtype())) {
    throw InvalidArgument(absl::StrCat(
        "rotary_embedding: x ", x.describe(),
        " is not floating point [..., rows, width] with an even width"));
  }
  const auto given = static_cast<std::int64_t>(options.positions.size());
  if (given > 0 && given != x.size(-2)) {
    throw InvalidArgument(
        absl::StrCat("rotary_embedding: ", given, " positions for ", x.size(-2),
                     " rows; wanted is one for each, or none"));
  }
}

}  // namespace
}  // namespace autograd

Tensor rotary_embedding(const Tensor& x, const RotaryOptions& options) {
  autograd::check_rotary(x, options);
  return autograd::turn(x, autograd::turns_of(x, options), false);
}

}  // namespace hvd
