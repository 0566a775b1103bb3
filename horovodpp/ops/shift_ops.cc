// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/shape_ops.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/record/record.h"
#include "horovodpp/autograd/record/result_of.h"
#include "horovodpp/core/error.h"
#include "horovodpp/tensor/base/named_dims.h"
#include "horovodpp/tensor/convert.h"
#include "horovodpp/tensor/factories.h"
#include "horovodpp/tensor/walk.h"

namespace hvd {
namespace autograd {
namespace {

using Widths = std::vector<std::int64_t>;

// The storage offset of the element at index `start`.
std::int64_t offset_of(const Tensor& x, const Dims& start) {
  std::int64_t offset = x.storage_offset();
  for (std::size_t d = 0; d < start.size(); ++d) {
    offset += start[d] * x.strides()[d];
  }
  return offset;
}

void copy_part(const Tensor& out, const Dims& to, const Tensor& x,
               const Dims& from, const Dims& shape) {
  if (shape.product() == 0) return;
  convert_into(out.alias(shape, out.strides(), offset_of(out, to)),
               x.alias(shape, x.strides(), offset_of(x, from)));
}

// The part of a padded tensor that holds elements of x.
struct KeptPart {
  Dims start;
  Dims shape;
};

// Fills `out` with `value` outside of this part, dimension by dimension: what
// lies beside it in one dimension is as wide as `out` in the next ones.
void fill_outside(const Tensor& out, const KeptPart& inside, double value) {
  const Tensor one =
      full({}, value, {.dtype = out.dtype(), .device = out.device()});
  const Dims none = Dims::filled(out.shape().size(), 0);
  Dims start = none, shape = out.shape();
  const auto fill_slab = [&](std::size_t d, std::int64_t from,
                             std::int64_t to) {
    Dims at = start, size = shape;
    at[d] = from;
    size[d] = to - from;
    if (size.product() == 0) return;
    convert_into(out.alias(size, out.strides(), offset_of(out, at)),
                 one.alias(size, none, one.storage_offset()));
  };
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::int64_t end = inside.start[d] + inside.shape[d];
    fill_slab(d, 0, inside.start[d]);
    fill_slab(d, end, out.shape()[d]);
    start[d] = inside.start[d];
    shape[d] = inside.shape[d];
  }
}

// The total shift of each dimension, in [0, size).
Dims total_shifts(const Dims& shape, const Widths& shifts, const Dims& dims) {
  Dims total = Dims::filled(shape.size(), 0);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const std::size_t d = checked_dim(dims[i], shape.size(), "roll");
    if (shape[d] == 0) continue;
    const std::int64_t size = shape[d];
    total[d] = ((total[d] + shifts[i]) % size + size) % size;
  }
  return total;
}

// Cuts each dimension in two and swaps the parts.
void roll_into(const Tensor& out, const Tensor& x, const Dims& shifts) {
  const std::size_t rank = x.shape().size();
  const Dims& shape = x.shape();
  for (std::size_t choice = 0; choice < (std::size_t{1} << rank); ++choice) {
    Dims to, from, part;
    bool exists = true;
    for (std::size_t d = 0; d < rank; ++d) {
      const bool second = (choice >> d & 1) != 0;
      const std::int64_t cut = shape[d] - shifts[d];
      exists = exists && !(second && shifts[d] == 0);
      from.push_back(second ? cut : 0);
      to.push_back(second ? 0 : shifts[d]);
      part.push_back(second ? shifts[d] : cut);
    }
    if (exists) copy_part(out, to, x, from, part);
  }
}

Widths negated(Widths widths) {
  for (std::int64_t& width : widths) width = -width;
  return widths;
}

Dims padded_shape(const Tensor& x, const Widths& widths) {
  Dims shape = x.shape();
  Dims kept = shape;  // The shape of the part of x that is kept.
  const bool even = widths.size() % 2 == 0 && widths.size() <= 2 * shape.size();
  bool possible = true;
  for (std::size_t i = 0; even && possible && i < widths.size(); ++i) {
    const std::size_t d = shape.size() - 1 - i / 2;
    kept[d] += std::min<std::int64_t>(widths[i], 0);
    possible =
        kept[d] >= 0 && !__builtin_add_overflow(shape[d], widths[i], &shape[d]);
  }
  if (even && possible) return shape;
  throw InvalidArgument(
      absl::StrCat("pad: ", widths.size(), " widths do not go with shape ",
                   x.shape().to_string(),
                   even ? ": more is cut off than there is, or the "
                          "size overflows"
                        : "; wanted are two per dimension"));
}

}  // namespace
}  // namespace autograd

using autograd::Dims;

Tensor roll(const Tensor& x, const std::vector<std::int64_t>& shifts,
            const Dims& dims) {
  autograd::check_defined(x, "roll");
  if (shifts.size() != dims.size()) {
    throw InvalidArgument(absl::StrCat("roll: ", shifts.size(), " shifts for ",
                                       dims.size(), " dimensions"));
  }
  const auto total = autograd::total_shifts(x.shape(), shifts, dims);
  Tensor out = autograd::result_of("roll", [&] {
    const Tensor rolled = empty_like(x);
    autograd::roll_into(rolled, x, total);
    return rolled;
  });
  if (autograd::needs_grad(x)) {
    // dx = roll(dy, -shifts)
    autograd::record(out, "RollBackward", x, [shifts, dims](Tensor& dy) {
      return roll(dy, autograd::negated(shifts), dims);
    });
  }
  return out;
}

Tensor pad(const Tensor& x, const std::vector<std::int64_t>& widths,
           double value) {
  autograd::check_defined(x, "pad");
  autograd::check_held(value, x.dtype(), "pad");
  const Dims shape = autograd::padded_shape(x, widths);
  Dims to = Dims::filled(shape.size(), 0);
  Dims from = to;
  Dims part = x.shape();
  for (std::size_t i = 0; i < widths.size(); ++i) {
    const std::size_t d = shape.size() - 1 - i / 2;
    if (i % 2 == 0) (widths[i] < 0 ? from[d] : to[d]) = std::abs(widths[i]);
    part[d] += std::min<std::int64_t>(widths[i], 0);
  }
  Tensor out = autograd::result_of("pad", [&] {
    NoGrad no_grad;
    const Tensor padded =
        empty(shape, {.dtype = x.dtype(), .device = x.device()});
    autograd::fill_outside(padded, {to, part}, value);
    autograd::copy_part(padded, to, x, from, part);
    return padded;
  });
  if (autograd::needs_grad(x)) {
    // dx = pad(dy, -widths) with 0
    autograd::record(out, "PadBackward", x, [widths](Tensor& dy) {
      return pad(dy, autograd::negated(widths));
    });
  }
  return out;
}

Tensor flip(const Tensor& x, const Dims& dims) {
  autograd::check_defined(x, "flip");
  Dims strides = x.strides();
  std::int64_t offset = x.storage_offset();
  const auto flipped = autograd::named_dims(dims, x.shape().size(), "flip");
  for (std::size_t d = 0; d < x.shape().size(); ++d) {
    if (!flipped[d]) continue;
    offset += strides[d] * (x.shape()[d] - 1);
    strides[d] = -strides[d];
  }
  Tensor out = autograd::result_of("flip", [&] {
    const Tensor reversed = empty_like(x);
    if (x.num_elements() != 0) {
      autograd::convert_into(reversed, x.alias(x.shape(), strides, offset));
    }
    return reversed;
  });
  if (autograd::needs_grad(x)) {
    autograd::record(out, "FlipBackward", x,
                     [dims](Tensor& dy) { return flip(dy, dims); });
  }
  return out;
}

}  // namespace hvd
