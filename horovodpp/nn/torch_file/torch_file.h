// SPDX-License-Identifier: Apache-2.0
// Files that PyTorch's torch.save has written: state_dicts of models and
// optimizers, and dicts and lists of these.
//
//   model.load_state_dict(hvd::nn::load_torch_file("model.pt").tensors);
//
// Reading a file runs no code of it: it may come from anybody.
#pragma once

#include <string>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/state_dict.h"

namespace HVD_EXPORT hvd {
namespace nn {

struct TorchFile {
  // In the order of the file. Keys of dicts inside of dicts and numbers of list
  // items are joined by dots: {"model": {"fc.weight": w}} has the tensor
  // "model.fc.weight". Numbers are tensors without dimensions: bool, int64 or
  // float64. Tensors that shared memory when they were saved share it again.
  StateDict tensors;
  // The names of other values, such as texts.
  std::vector<std::string> others;
};

// Reads a file that PyTorch 1.6 or later has written. Tensors of GPUs arrive in
// this computer's memory.
//   hvd::Error  the file cannot be read (NotFound, PermissionDenied, …), is
//               damaged (DataLoss), or has something else than tensors,
//               numbers, texts, lists and dicts, or a dtype that no Tensor has,
//               or is of an older PyTorch (Unimplemented). Names the file
TorchFile load_torch_file(const std::string& path);

}  // namespace nn
}  // namespace hvd
