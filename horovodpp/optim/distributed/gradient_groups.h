// SPDX-License-Identifier: Apache-2.0
// Groups of gradients that are sent together.
#pragma once

#include "horovodpp/core/needs_cxx20.h"  // Comes first.

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/state_dict.h"
#include "horovodpp/tensor/tensor.h"

namespace HVD_EXPORT hvd {
namespace optim {

// A number of groups with about equally many parameters each, in list order (0:
// none); or explicit groups, the other parameters being sent alone.
class GradientGroups {
 public:
  GradientGroups(int number) : number_(number) {}          // NOLINT
  GradientGroups(std::vector<std::vector<Tensor>> groups)  // NOLINT
      : groups_(std::move(groups)) {}
  GradientGroups(std::initializer_list<std::vector<Tensor>> groups)
      : groups_(groups) {}

  // The names of the members of each group.
  //   InvalidArgument  the number is negative; a tensor is no parameter, or in
  //                    two groups
  std::vector<std::vector<std::string>> names_in(
      const std::vector<nn::NamedTensor>& parameters) const;

 private:
  int number_ = 0;
  std::vector<std::vector<Tensor>> groups_ = {};
};

}  // namespace optim
}  // namespace hvd
