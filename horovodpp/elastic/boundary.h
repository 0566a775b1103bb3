// SPDX-License-Identifier: Apache-2.0
// A Boundary is the end of a step. It holds what the next step changes before
// the optimizers' updates: module buffers, the generator of this thread, and
// the errors that compression has kept.
#pragma once

#include <cstdint>
#include <vector>

#include "horovodpp/compression/compressor.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/optim/optimizer.h"
#include "horovodpp/tensor/base/generator.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::elastic {

class Boundary {
 public:
  Boundary(const std::vector<nn::Module*>& modules,
           const std::vector<optim::Optimizer*>& optimizers);

  // Begins a step here.
  void keep();
  // Whether a parameter was written since.
  bool is_passed() const { return writes() != writes_; }
  // Undoes the changes of a step that has not updated parameters.
  void put_back() const;

 private:
  struct Residuals {
    compression::Compressor* compressor;
    std::vector<compression::RememberedValues> values = {};
  };
  // The sum of the parameters' versions.
  std::uint64_t writes() const;

  std::vector<Tensor> parameters_;
  std::vector<Tensor> buffers_;
  std::vector<Tensor> kept_;  // By buffer.
  std::vector<Residuals> residuals_;
  autograd::Generator::State random_ = {};
  std::uint64_t writes_ = 0;
};

}  // namespace hvd::elastic
