// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/device/tensors/tensor_kernels.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "horovodpp/core/status.h"
#include "horovodpp/device/kernels/arguments.h"
#include "horovodpp/device/kernels/images.h"
#include "horovodpp/device/kernels/tensor_names.h"

namespace hvd::device {
namespace {

// A thread takes several elements of a large tensor.
constexpr std::int64_t kElementsOfBlock = 4 * std::int64_t{kernels::kThreads};
constexpr std::int64_t kMostBlocksOfGrid = 65535;

}  // namespace

absl::StatusOr<std::unique_ptr<TensorKernels>> TensorKernels::load(
    const CudaContext& context) {
#define HVD_NAME(name, ...) #name,
  HVD_ASSIGN_OR_RETURN(
      auto module, CudaModule::load(context, kernels::tensor_images(),
                                    {"hvd_to", HVD_APPLICATIONS(HVD_NAME)
                                                   HVD_COMPARISONS(HVD_NAME)
                                                       HVD_MOVES(HVD_NAME)}));
#undef HVD_NAME
  return std::unique_ptr<TensorKernels>(new TensorKernels(std::move(module)));
}

absl::Status TensorKernels::launch(std::string_view name,
                                   const kernels::ElementsArguments& arguments,
                                   CuStream stream) const {
  if (arguments.count == 0) return absl::OkStatus();
  kernels::ElementsArguments copy = arguments;
  const auto blocks = static_cast<unsigned>(
      std::min(kMostBlocksOfGrid,
               (arguments.count + kElementsOfBlock - 1) / kElementsOfBlock));
  return module_->launch(name, blocks, &copy, stream);
}

}  // namespace hvd::device
