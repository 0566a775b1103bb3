// SPDX-License-Identifier: Apache-2.0
// Reads IDX files, the format of MNIST, plain or compressed by gzip.
//
//   hvd::Tensor images = hvd::data::read_idx("train-images-idx3-ubyte.gz");
//   const std::uint8_t* pixel = images.data<std::uint8_t>();   // [n, 28, 28]
//
// Format: http://yann.lecun.com/exdb/mnist. Two zero bytes, the type of the
// elements, the number of dimensions, the dimensions as big-endian 32-bit
// numbers. The elements follow, big-endian and row-major.
#pragma once

#include <string>

#include "horovodpp/core/export.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace data {

// The whole file as uint8, int8, int16, int32, float32 or float64. Allocates
// only for data that the file really contains.
//   hvd::Error  the file is missing or unreadable (NotFound, PermissionDenied),
//               damaged, truncated, longer than its header says, or no IDX file
//               (DataLoss); names it
Tensor read_idx(const std::string& path);

}  // namespace data
}  // namespace hvd
