// SPDX-License-Identifier: Apache-2.0
// Checks and converts the arguments of the C interface.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "horovodpp/c/horovodpp.h"
#include "horovodpp/core/dtype.h"
#include "horovodpp/core/reduce_op.h"
#include "horovodpp/core/tensor_view.h"

namespace hvd::c {

// The most dimensions of a C tensor.
inline constexpr std::int32_t kMaxDims = 64;

// The size of the first version of each options struct.
template <typename Options>
inline constexpr std::size_t kFirstSize = sizeof(Options);
template <>
inline constexpr std::size_t kFirstSize<hvd_allreduce_options> =
    offsetof(hvd_allreduce_options, stream);
template <>
inline constexpr std::size_t kFirstSize<hvd_collective_options> =
    offsetof(hvd_collective_options, stream);
template <>
inline constexpr std::size_t kFirstSize<hvd_alltoall_options> =
    offsetof(hvd_alltoall_options, stream);
template <>
inline constexpr std::size_t kFirstSize<hvd_reducer_options> =
    offsetof(hvd_reducer_options, compression);

absl::Status wrong_size(std::size_t given, std::size_t known);

// `given`, unless NULL, over `defaults`: the part that the program's version
// knows.
//   InvalidArgument  they were not initialized by their macro, or are of a
//                    later library
template <typename Options>
absl::StatusOr<Options> read_options(const Options* given,
                                     const Options& defaults) {
  Options options = defaults;
  if (given == nullptr) return options;
  if (given->size < kFirstSize<Options> || given->size > sizeof(Options)) {
    return wrong_size(given->size, sizeof(Options));
  }
  std::memcpy(&options, given, given->size);
  return options;
}

// Writes as much of `facts` as fits into the caller's struct, which holds its
// size.
//   InvalidArgument  it was not initialized by its macro
template <typename Facts>
absl::Status write_known(Facts facts, Facts* given) {
  if (given->size < kFirstSize<Facts> || given->size > sizeof(Facts)) {
    return wrong_size(given->size, sizeof(Facts));
  }
  facts.size = given->size;
  std::memcpy(given, &facts, facts.size);
  return absl::OkStatus();
}

// NULL becomes "".
std::string text_of(const char* text);

absl::StatusOr<ReduceOp> op_of(std::int32_t number);
absl::StatusOr<DType> dtype_of_number(std::int32_t number);
absl::StatusOr<Device> device_of_number(std::int32_t number);
std::int16_t number_of(Device device);

//   InvalidArgument  it is not a tensor: its memory is NULL, or its shape,
//                    dtype or device is invalid
absl::StatusOr<TensorView> view_of(const hvd_tensor& tensor);
absl::StatusOr<TensorView> flat_view(void* data, std::int64_t elements,
                                     std::int32_t dtype);
absl::StatusOr<std::vector<TensorView>> views_of(const hvd_tensor* tensors,
                                                 std::size_t count);

}  // namespace hvd::c
