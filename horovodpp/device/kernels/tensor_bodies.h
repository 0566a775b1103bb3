// SPDX-License-Identifier: Apache-2.0
// The work of one thread of each kernel on elements of tensors, as in bodies.h:
// functors of kernel/loops, comparisons, copies and conversions, for any
// strides.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "horovodpp/device/kernels/bodies.h"
#include "horovodpp/device/kernels/tensor_arguments.h"
#include "horovodpp/kernel/loops/functors.h"
#include "horovodpp/kernel/scalar_to.h"

namespace hvd::device::kernels {

using autograd::LoopId;

// Where an element of each tensor is.
struct Offsets {
  std::int64_t at[3] = {};
};

template <typename Index>
HVD_BOTH Offsets offsets_of(const ElementsArguments& arguments,
                            std::int64_t element) {
  Offsets offsets;
  auto rest = static_cast<Index>(element);
  for (std::uint32_t d = arguments.rank; d-- > 0;) {
    const auto size = static_cast<Index>(arguments.sizes[d]);
    const Index here = d == 0 ? rest : rest % size;
    for (int k = 0; k < 3; ++k) {
      offsets.at[k] += static_cast<std::int64_t>(here) * arguments.steps[d][k];
    }
    if (d > 0) rest /= size;
  }
  return offsets;
}

// Calls f(offsets) for this thread's elements. Numbers of 32 bits are divided
// several times faster than those of 64.
template <typename F>
HVD_BOTH void for_each_element(const ElementsArguments& arguments,
                               const Place& place, F f) {
  constexpr std::int64_t kMost32 = 0x7fffffff;
  const std::int64_t step = std::int64_t{place.blocks} * kThreads;
  std::int64_t i = std::int64_t{place.block} * kThreads + place.thread;
  for (; i < arguments.count; i += step) {
    f(arguments.count <= kMost32 ? offsets_of<std::uint32_t>(arguments, i)
                                 : offsets_of<std::uint64_t>(arguments, i));
  }
}

// Elements are computed as float, as double, or (integers and bools) as
// std::int64_t: a result modulo its range is the same. So a kernel serves
// several types.
HVD_BOTH inline bool is_whole(DType dtype) {
  return dtype != DType::kF16 && dtype != DType::kBF16 &&
         dtype != DType::kF32 && dtype != DType::kF64;
}

// Element number `at` of a tensor of integers or bools.
HVD_BOTH inline std::int64_t whole_at(const void* memory, std::int64_t at,
                                      DType dtype) {
  switch (dtype) {
    case DType::kU8:
      return static_cast<const std::uint8_t*>(memory)[at];
    case DType::kI8:
      return static_cast<const std::int8_t*>(memory)[at];
    case DType::kI16:
      return static_cast<const std::int16_t*>(memory)[at];
    case DType::kI32:
      return static_cast<const std::int32_t*>(memory)[at];
    case DType::kI64:
      return static_cast<const std::int64_t*>(memory)[at];
    default:
      return static_cast<const std::uint8_t*>(memory)[at] != 0 ? 1 : 0;
  }
}

HVD_BOTH inline float float_at(const void* memory, std::int64_t at,
                               DType dtype) {
  if (dtype == DType::kF32) return static_cast<const float*>(memory)[at];
  const std::uint16_t half = static_cast<const std::uint16_t*>(memory)[at];
  return dtype == DType::kF16 ? Halves::decode(half)
                              : BrainHalves::decode(half);
}

template <typename Lane>
HVD_BOTH Lane element_at(const void* memory, std::int64_t at, DType dtype) {
  if constexpr (std::is_same_v<Lane, double>) {
    return static_cast<const double*>(memory)[at];
  } else if constexpr (std::is_same_v<Lane, float>) {
    return float_at(memory, at, dtype);
  } else {
    return whole_at(memory, at, dtype);
  }
}

template <typename To, typename From>
HVD_BOTH To as_whole(From value) {
  if constexpr (std::is_floating_point_v<From>) {
    return autograd::scalar_to<To>(static_cast<double>(value));
  } else {
    return static_cast<To>(value);
  }
}

// memory[at] = value, as the CPU converts it.
template <typename From>
HVD_BOTH void put(void* memory, std::int64_t at, DType dtype, From value) {
  switch (dtype) {
    case DType::kU8:
      static_cast<std::uint8_t*>(memory)[at] = as_whole<std::uint8_t>(value);
      return;
    case DType::kI8:
      static_cast<std::int8_t*>(memory)[at] = as_whole<std::int8_t>(value);
      return;
    case DType::kI16:
      static_cast<std::int16_t*>(memory)[at] = as_whole<std::int16_t>(value);
      return;
    case DType::kI32:
      static_cast<std::int32_t*>(memory)[at] = as_whole<std::int32_t>(value);
      return;
    case DType::kI64:
      static_cast<std::int64_t*>(memory)[at] = as_whole<std::int64_t>(value);
      return;
    case DType::kF16:
      static_cast<std::uint16_t*>(memory)[at] =
          Halves::encode(static_cast<float>(value));
      return;
    case DType::kBF16:
      static_cast<std::uint16_t*>(memory)[at] =
          BrainHalves::encode(static_cast<float>(value));
      return;
    case DType::kF32:
      static_cast<float*>(memory)[at] = static_cast<float>(value);
      return;
    case DType::kF64:
      static_cast<double*>(memory)[at] = static_cast<double>(value);
      return;
    case DType::kBool:
      static_cast<std::uint8_t*>(memory)[at] = value != From(0) ? 1 : 0;
      return;
  }
}

// HVD_ELEMENT_FUNCTIONS(F): F(name) for each functor of kernel/loops.
#define HVD_ELEMENT_FUNCTIONS(F) \
  F(Add)                         \
  F(Sub)                         \
  F(Mul)                         \
  F(Div)                         \
  F(AddScaled)                   \
  F(SubScaled)                   \
  F(AddScalar)                   \
  F(MulScalar)                   \
  F(Neg)                         \
  F(Abs)                         \
  F(AbsBackward)                 \
  F(Sin)                         \
  F(SinBackward)                 \
  F(Cos)                         \
  F(CosBackward)                 \
  F(Cube)                        \
  F(AtLeast)                     \
  F(AtMost)                      \
  F(AtLeastBackward)             \
  F(AtMostBackward)              \
  F(Sign)                        \
  F(Floor)                       \
  F(Ceil)                        \
  F(Round)                       \
  F(Relu)                        \
  F(ReluBackward)                \
  F(LeakyRelu)                   \
  F(LeakyReluBackward)           \
  F(Silu)                        \
  F(SiluBackward)                \
  F(Rsqrt)                       \
  F(RsqrtBackward)               \
  F(Sqrt)                        \
  F(SqrtBackward)                \
  F(Exp)                         \
  F(ExpShifted)                  \
  F(Log)                         \
  F(Tanh)                        \
  F(TanhBackward)                \
  F(Sigmoid)                     \
  F(SigmoidBackward)             \
  F(Erf)                         \
  F(ErfBackward)                 \
  F(Gelu)                        \
  F(GeluBackward)                \
  F(GeluTanh)                    \
  F(GeluTanhBackward)            \
  F(SoftmaxBackward)             \
  F(LogSoftmaxBackward)

#define HVD_COUNT(Name) +1
static_assert(0 HVD_ELEMENT_FUNCTIONS(HVD_COUNT) ==
              static_cast<int>(LoopId::kCount));
#undef HVD_COUNT

template <class F, typename Lane>
HVD_BOTH Lane applied(Lane x, [[maybe_unused]] Lane y,
                      [[maybe_unused]] Lane c) {
  if constexpr (std::is_same_v<Lane, float> && F::kLoop == LoopId::kAddScaled) {
    return std::fma(c, y, x);  // As the CPU's vectors, which round once.
  } else if constexpr (std::is_floating_point_v<Lane> || F::kTakesIntegers) {
    return F()(x, y, c);
  } else {
    return x;  // The host does not launch it.
  }
}

template <typename Lane>
HVD_BOTH Lane apply_function(LoopId function, Lane x, Lane y, Lane c) {
  switch (function) {
#define HVD_CASE(Name)  \
  case LoopId::k##Name: \
    return applied<autograd::functors::Name>(x, y, c);
    HVD_ELEMENT_FUNCTIONS(HVD_CASE)
#undef HVD_CASE
    case LoopId::kCount:
      break;
  }
  return x;
}

template <typename Lane>
HVD_BOTH Lane constant_of(const ElementsArguments& arguments) {
  if constexpr (std::is_floating_point_v<Lane>) {
    return static_cast<Lane>(arguments.c);
  } else {
    return static_cast<Lane>(arguments.whole);
  }
}

template <typename Lane>
HVD_BOTH void apply_thread(const ElementsArguments& arguments,
                           const Place& place) {
  const void* const x = arguments.memory[1];
  const void* const y = arguments.memory[2];
  const DType dtype = arguments.from;
  const auto function = static_cast<LoopId>(arguments.function);
  const Lane c = constant_of<Lane>(arguments);
  for_each_element(arguments, place, [&](const Offsets& offsets) {
    const Lane left = element_at<Lane>(x, offsets.at[1], dtype);
    const Lane right =
        y == nullptr ? Lane() : element_at<Lane>(y, offsets.at[2], dtype);
    put(arguments.memory[0], offsets.at[0], dtype,
        apply_function<Lane>(function, left, right, c));
  });
}

template <typename T>
HVD_BOTH bool compare(Comparison comparison, T a, T b) {
  switch (comparison) {
    case Comparison::kEq:
      return a == b;
    case Comparison::kNe:
      return a != b;
    case Comparison::kLt:
      return a < b;
    case Comparison::kLe:
      return a <= b;
    case Comparison::kGt:
      return a > b;
    case Comparison::kGe:
      return a >= b;
  }
  return false;
}

// x with y, or with c: floating-point numbers in their type, others in double.
template <typename Lane>
HVD_BOTH void compare_thread(const ElementsArguments& arguments,
                             const Place& place) {
  using Wide = std::conditional_t<std::is_floating_point_v<Lane>, Lane, double>;
  auto* const out = static_cast<std::uint8_t*>(arguments.memory[0]);
  const void* const x = arguments.memory[1];
  const void* const y = arguments.memory[2];
  const DType dtype = arguments.from;
  const auto comparison = static_cast<Comparison>(arguments.function);
  const Wide c = static_cast<Wide>(arguments.c);
  for_each_element(arguments, place, [&](const Offsets& offsets) {
    const Lane left = element_at<Lane>(x, offsets.at[1], dtype);
    const bool holds =
        y == nullptr ? compare<Wide>(comparison, static_cast<Wide>(left), c)
                     : compare<Lane>(comparison, left,
                                     element_at<Lane>(y, offsets.at[2], dtype));
    out[offsets.at[0]] = holds ? 1 : 0;
  });
}

// out = x, or the element `bits`.
template <typename Word>
HVD_BOTH void move_thread(const ElementsArguments& arguments,
                          const Place& place) {
  auto* const out = static_cast<Word*>(arguments.memory[0]);
  const auto* const x = static_cast<const Word*>(arguments.memory[1]);
  const auto filling = static_cast<Word>(arguments.bits);
  for_each_element(arguments, place, [&](const Offsets& offsets) {
    out[offsets.at[0]] = x == nullptr ? filling : x[offsets.at[1]];
  });
}

// out = x in another type. Integers go by way of int64, others by float or, if
// they are double, as they are: without a second rounding.
HVD_BOTH inline void convert_elements_thread(const ElementsArguments& arguments,
                                             const Place& place) {
  void* const out = arguments.memory[0];
  const void* const x = arguments.memory[1];
  const DType from = arguments.from;
  const DType to = arguments.to;
  for_each_element(arguments, place, [&](const Offsets& offsets) {
    const auto [at, source, unused] = offsets.at;
    static_cast<void>(unused);
    if (is_whole(from)) {
      put(out, at, to, whole_at(x, source, from));
    } else if (from == DType::kF64) {
      put(out, at, to, static_cast<const double*>(x)[source]);
    } else {
      put(out, at, to, float_at(x, source, from));
    }
  });
}

}  // namespace hvd::device::kernels
