// SPDX-License-Identifier: Apache-2.0
// Tensor files in the safetensors format, which other libraries read and write
// as well.
//
//   hvd::nn::save_safetensors("model.safetensors", model.state_dict());
//   for (auto& [name, tensor] : hvd::nn::load_safetensors(path).tensors) …
//
// With several ranks, only one should write a file.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/state_dict.h"

namespace HVD_EXPORT hvd {
namespace nn {

struct SafetensorsFile {
  std::vector<NamedTensor> tensors;  // In the order of the file.
  std::map<std::string, std::string> metadata;
};

// Writes a file. An old file is replaced only when the new one is complete and
// on disk (see AtomicFile). Elements are row-major for any strides. Larger
// dtypes come first, so that all tensors are aligned.
//   InvalidArgument  a tensor is undefined, a name occurs twice, or a name is
//                    not UTF-8 or is "__metadata__"
//   hvd::Error       the file cannot be written; the old one stays
void save_safetensors(const std::string& path,
                      const std::vector<NamedTensor>& tensors,
                      const std::map<std::string, std::string>& metadata = {});

// Reads a whole file. Allocates only for data that the file really contains.
//   hvd::Error  the file cannot be read (NotFound, PermissionDenied, …), is
//               damaged (DataLoss), or contains a dtype that no Tensor has
//               (Unimplemented). Names the file and the tensor
SafetensorsFile load_safetensors(const std::string& path);

}  // namespace nn
}  // namespace hvd
