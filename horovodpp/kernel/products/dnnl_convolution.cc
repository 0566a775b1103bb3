// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "horovodpp/kernel/products/convolution.h"
#include "horovodpp/kernel/products/dnnl_describe.h"
#include "horovodpp/kernel/products/dnnl_routine.h"
#include "horovodpp/kernel/scratch.h"

namespace hvd::autograd {
namespace {

using dnnl::algorithm;
using dnnl::memory;
using Argument = DnnlRoutine::Argument;
using Layout = memory::format_tag;

// The descriptions of a convolution's memory, as the caller lays it out.
struct Given {
  memory::desc x;
  memory::desc weight;
  memory::desc y;
  std::optional<memory::desc> bias;
};

// `front`, and the sizes of an image or a kernel of this many dimensions.
memory::dims dims(memory::dims front, const Triple& sizes, int count) {
  if (count == 3) front.push_back(sizes.depth);
  front.push_back(sizes.height);
  front.push_back(sizes.width);
  return front;
}

Given describe(const ConvShape& s, memory::data_type type, bool has_bias) {
  const std::int64_t groups = s.options.groups;
  const bool deep = s.dims == 3;
  const Layout image = deep ? Layout::ndhwc : Layout::nhwc;
  Given given;
  given.x = memory::desc(dims({s.n, s.in}, s.image, s.dims), type, image);
  given.y = memory::desc(dims({s.n, s.out}, s.result, s.dims), type, image);
  if (groups == 1) {
    given.weight = memory::desc(dims({s.out, s.in}, s.kernel, s.dims), type,
                                deep ? Layout::oidhw : Layout::oihw);
  } else {
    given.weight = memory::desc(
        dims({groups, s.out / groups, s.in / groups}, s.kernel, s.dims), type,
        deep ? Layout::goidhw : Layout::goihw);
  }
  if (has_bias) given.bias = memory::desc({s.out}, type, Layout::x);
  return given;
}

// One dimension of a convolution.
struct ConvLine {
  std::int64_t image;
  std::int64_t result;
  std::int64_t window;  // Of the dilated kernel.
  std::int64_t stride;
  std::int64_t padding;  // Before the image.
};

// The padding behind the image. The image of a transposed convolution may have
// room for more windows than it has results.
std::int64_t behind_line(const ConvLine& line) {
  const std::int64_t exact =
      (line.result - 1) * line.stride + line.window - line.image - line.padding;
  return line.padding - exact < line.stride ? line.padding : exact;
}

// The algorithm, and whether images lie in oneDNN's preferred layout or as
// given.
struct Way {
  algorithm how;
  bool any_layout;
};

class Maker {
 public:
  Maker(ConvPass pass, const ConvShape& shape, const Given& given,
        const Way& way)
      : pass_(pass),
        s_(shape),
        given_(given),
        way_(way),
        x_(way.any_layout ? in_any_layout(given.x) : given.x),
        y_(way.any_layout ? in_any_layout(given.y) : given.y),
        weight_(in_any_layout(given.weight)) {}

  // Null if oneDNN has only its reference implementation.
  DnnlCache::Routine make() const {
    try {
      switch (pass_) {
        case ConvPass::kForward:
          return forward();
        case ConvPass::kBackwardData:
          return backward_data();
        case ConvPass::kBackwardWeights:
          return backward_weights();
      }
    } catch (const dnnl::error&) {
    }
    return nullptr;
  }

 private:
  dnnl::convolution_forward::primitive_desc forward_description() const {
    const auto kind = dnnl::prop_kind::forward_training;
    const auto strides = sizes(s_.options.stride), gaps = dilation();
    const auto padding = sizes(s_.options.padding), behind = padding_behind();
    using Forward = dnnl::convolution_forward;
    return given_.bias
               ? describe_primitive<Forward>(dnnl_attributes(), kind, way_.how,
                                             x_, weight_, *given_.bias, y_,
                                             strides, gaps, padding, behind)
               : describe_primitive<Forward>(dnnl_attributes(), kind, way_.how,
                                             x_, weight_, y_, strides, gaps,
                                             padding, behind);
  }

  DnnlCache::Routine forward() const {
    const auto made = forward_description();
    std::vector<Argument> arguments{
        {DNNL_ARG_SRC, given_.x, made.src_desc()},
        {DNNL_ARG_WEIGHTS, given_.weight, made.weights_desc()},
        {DNNL_ARG_DST, given_.y, made.dst_desc(), true}};
    if (given_.bias) {
      arguments.push_back({DNNL_ARG_BIAS, *given_.bias, *given_.bias});
    }
    return routine(made, dnnl::convolution_forward(made), arguments);
  }

  template <class Backward>
  typename Backward::primitive_desc backward_description() const {
    return describe_backward<Backward>(forward_description(), way_.how, x_,
                                       weight_, y_, sizes(s_.options.stride),
                                       dilation(), sizes(s_.options.padding),
                                       padding_behind());
  }

  DnnlCache::Routine backward_data() const {
    using Backward = dnnl::convolution_backward_data;
    const auto made = backward_description<Backward>();
    const std::array<Argument, 3> arguments{
        {{DNNL_ARG_DIFF_SRC, given_.x, made.diff_src_desc(), true},
         {DNNL_ARG_WEIGHTS, given_.weight, made.weights_desc()},
         {DNNL_ARG_DIFF_DST, given_.y, made.diff_dst_desc()}}};
    return routine(made, Backward(made), arguments);
  }

  DnnlCache::Routine backward_weights() const {
    using Backward = dnnl::convolution_backward_weights;
    const auto made = backward_description<Backward>();
    const std::array<Argument, 3> arguments{
        {{DNNL_ARG_SRC, given_.x, made.src_desc()},
         {DNNL_ARG_DIFF_WEIGHTS, given_.weight, made.diff_weights_desc(), true},
         {DNNL_ARG_DIFF_DST, given_.y, made.diff_dst_desc()}}};
    return routine(made, Backward(made), arguments);
  }

  template <typename Description>
  static DnnlCache::Routine routine(const Description& made,
                                    const dnnl::primitive& primitive,
                                    std::span<const Argument> arguments) {
    const std::string by = made.impl_info_str();
    if (by.starts_with("ref")) return nullptr;
    return std::make_shared<const DnnlRoutine>(
        primitive, made.scratchpad_desc(), arguments);
  }

  memory::dims sizes(const Triple& triple) const {
    return dims({}, triple, s_.dims);
  }

  memory::dims dilation() const {
    const Triple& gaps = s_.options.dilation;
    return sizes({gaps.depth - 1, gaps.height - 1, gaps.width - 1});
  }

  memory::dims padding_behind() const {
    const Conv3dOptions& o = s_.options;
    const auto behind = [&](std::int64_t Triple::*side) {
      return behind_line(
          {.image = s_.image.*side,
           .result = s_.result.*side,
           .window = o.dilation.*side * (s_.kernel.*side - 1) + 1,
           .stride = o.stride.*side,
           .padding = o.padding.*side});
    };
    return sizes({behind(&Triple::depth), behind(&Triple::height),
                  behind(&Triple::width)});
  }

  ConvPass pass_;
  const ConvShape& s_;
  const Given& given_;
  Way way_;
  memory::desc x_;
  memory::desc y_;
  memory::desc weight_;
};

// Whether Winograd's algorithm wins in spite of the reorders around it. It
// needs many channels, and works on tiles of 4 x 4.
bool suits_winograd(const ConvShape& s, DType dtype) {
  const Conv3dOptions& o = s.options;
  return dtype == DType::kF32 && is_winograd_allowed() && s.dims == 2 &&
         s.kernel == Triple(1, 3, 3) && o.stride == Triple(1) &&
         o.dilation == Triple(1) && o.groups == 1 && s.in >= 32 &&
         s.out >= 32 && s.in % 16 == 0 && s.out % 16 == 0 &&
         s.result.height >= 4 && s.result.width >= 4;
}

// Whether oneDNN 2.6 (jit_1x1:avx2) would access memory outside its buffers,
// including its own temporary memory. It packs every step-th pixel in blocks of
// channels, and treats all blocks as full.
bool leaves_memory(ConvPass pass, const ConvShape& s) {
  constexpr std::int64_t kBlock = 16;  // Of the widest vectors.
  return pass == ConvPass::kBackwardWeights && s.kernel == Triple(1) &&
         s.options.stride != Triple(1) && s.in % kBlock != 0;
}

DnnlCache::Routine make(ConvPass pass, const ConvShape& shape,
                        memory::data_type type, bool has_bias, bool winograd) {
  if (leaves_memory(pass, shape)) return nullptr;
  const Given given = describe(shape, type, has_bias);
  std::vector<Way> ways{{algorithm::convolution_direct, false},
                        {algorithm::convolution_direct, true}};
  if (winograd)
    ways.insert(ways.begin(), {algorithm::convolution_winograd, true});
  for (const Way& way : ways) {
    if (auto made = Maker(pass, shape, given, way).make()) return made;
  }
  return nullptr;
}

// Images to convolve at once, a divisor of n: the temporary memory of few
// images stays in the cache.
std::int64_t images_at_once(const ConvShape& s, bool winograd) {
  if (!winograd) return s.n;
  constexpr std::int64_t kElements = 1 << 20;
  const std::int64_t wanted = std::max<std::int64_t>(
      1, kElements /
             std::max(s.in * s.image.product(), s.out * s.result.product()));
  for (std::int64_t n = std::min(wanted, s.n); n > wanted / 2 && n > 0; --n) {
    if (s.n % n == 0) return n;
  }
  return s.n;
}

DnnlCache::Key key_of(ConvPass pass, const ConvShape& s, DType dtype,
                      bool has_bias, bool winograd) {
  DnnlCache::Key key{static_cast<std::int64_t>(pass),
                     static_cast<std::int64_t>(dtype),
                     has_bias,
                     winograd,
                     s.dims,
                     s.n,
                     s.in,
                     s.out,
                     s.options.groups};
  for (const Triple& sizes : {s.image, s.result, s.kernel, s.options.stride,
                              s.options.padding, s.options.dilation}) {
    key.insert(key.end(), {sizes.depth, sizes.height, sizes.width});
  }
  return key;
}

// `routine` takes `at_once` images. Weight gradients, in float32 if there are
// several parts, are summed.
void run_in_parts(const DnnlRoutine& routine, ConvPass pass,
                  const ConvShape& shape, std::int64_t at_once,
                  std::size_t element_bytes, const ConvBuffers& buffers) {
  auto* x = static_cast<std::byte*>(buffers.x);
  auto* y = static_cast<std::byte*>(buffers.y);
  const auto step = [&](std::int64_t elements) {
    return static_cast<std::size_t>(at_once * elements) * element_bytes;
  };
  const std::int64_t weights =
      shape.out * shape.in / shape.options.groups * shape.kernel.product();
  Scratch share;
  for (std::int64_t n = 0; n < shape.n; n += at_once) {
    void* weight = buffers.weight;
    if (n > 0 && pass == ConvPass::kBackwardWeights) {
      if (share.empty()) {
        share = Scratch::of<float>(static_cast<std::size_t>(weights));
      }
      weight = share.data();
    }
    const std::array<void*, 4> memory{x, weight, y, buffers.bias};
    routine.run(memory);
    if (weight != buffers.weight) {
      auto* sum = static_cast<float*>(buffers.weight);
      const float* more = share.as<float>();
      for (std::int64_t i = 0; i < weights; ++i) sum[i] += more[i];
    }
    x += step(shape.in * shape.image.product());
    y += step(shape.out * shape.result.product());
  }
}

}  // namespace

bool convolve_with_dnnl(ConvPass pass, const ConvShape& shape, DType dtype,
                        const ConvBuffers& buffers) {
  const auto type = dnnl_type(dtype);
  if (!type) return false;
  static auto& cache = *new DnnlCache;
  const bool has_bias = buffers.bias != nullptr;
  const bool winograd = suits_winograd(shape, dtype);
  ConvShape part = shape;
  part.n = images_at_once(shape, winograd);
  const auto routine =
      cache.get(key_of(pass, part, dtype, has_bias, winograd),
                [&] { return make(pass, part, *type, has_bias, winograd); });
  if (routine == nullptr) return false;
  run_in_parts(*routine, pass, shape, part.n, size_of(dtype), buffers);
  return true;
}

}  // namespace hvd::autograd
