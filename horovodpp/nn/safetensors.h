// SPDX-License-Identifier: Apache-2.0
// Tensors in files, in the safetensors format, which other libraries read and
// write as well.
//
//   hvd::nn::save_safetensors("model.safetensors", model.state_dict());
//   for (auto& [name, tensor] : hvd::nn::load_safetensors(path).tensors) …
//
// Of several ranks, one writes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/named_tensor.h"

namespace HVD_EXPORT hvd {
namespace nn {

struct SafetensorsFile {
  std::vector<NamedTensor> tensors;  // In the order in which they lie there.
  std::map<std::string, std::string> metadata;
};

// Writes a file that takes the place of an old one only when it is whole and on
// the disk (see AtomicFile). Elements are written row by row, whatever the
// strides. Larger types come first, so that all are aligned.
//   InvalidArgument  a tensor is undefined, two have one name, or a name is not
//                    UTF-8 or is "__metadata__"
//   hvd::Error       the file cannot be written; the old one stands
void save_safetensors(const std::string& path,
                      const std::vector<NamedTensor>& tensors,
                      const std::map<std::string, std::string>& metadata = {});

// Reads all of a file. Memory is taken only for what the file really holds.
//   hvd::Error  it cannot be read (NotFound, PermissionDenied, …), is damaged
//               (DataLoss), or holds what no Tensor can (Unimplemented). Names
//               the file and, of a tensor, its name.
SafetensorsFile load_safetensors(const std::string& path);

}  // namespace nn
}  // namespace hvd
