// SPDX-License-Identifier: Apache-2.0
// A Handover gives complete gradients of an optimizer's parameters to its
// reducer, and takes reduced gradients back. Dense gradients are reduced in
// place or in the bucket of a shard, sparse ones as rows. The Handover holds
// gradients in flight, even if the parameter's grad() changes.
//
// Several threads may call give(), each for its own parameter. One thread calls
// the other functions, and not at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "horovodpp/nn/state_dict.h"
#include "horovodpp/optim/reduction/contributions.h"
#include "horovodpp/optim/reduction/parameter_shards.h"
#include "horovodpp/replica/gradient_reducer.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::optim {

class Handover {
 public:
  // All arguments outlive this object. `shards`: null if nothing is sharded.
  Handover(const std::vector<nn::NamedTensor>& parameters,
           replica::GradientReducer& reducer,
           const Contributions& contributions, ParameterShards* shards,
           bool sparse_as_dense);

  // Gives the gradient of a parameter; zeros, or no rows, if it has none.
  void give(std::size_t parameter);
  bool has(std::size_t parameter) const {
    return under_way_[parameter].gradient.defined();
  }

  // Call after the reducer's finish(): the parameters get the reduced
  // gradients.
  //   hvd::Error (FailedPrecondition)  a gradient was replaced, or written,
  //                                    meanwhile
  void take_back();
  // Releases all given gradients. The reducer must no longer use them.
  void forget();

 private:
  // A gradient that was given.
  struct Given {
    Tensor gradient;
    std::uint32_t version = 0;  // Must not change in flight.
    std::shared_ptr<replica::GatheredRows> rows =
        nullptr;  // Of a sparse gradient.
  };

  void give_rows(std::size_t parameter);
  const TensorView& view_of(std::size_t parameter, const Tensor& gradient);
  void check_untouched(std::size_t parameter) const;
  void take_back(std::size_t parameter);

  const std::vector<nn::NamedTensor>& parameters_;
  replica::GradientReducer& reducer_;
  const Contributions& contributions_;
  ParameterShards* const shards_;
  const bool sparse_as_dense_;
  std::vector<Given> under_way_;   // By parameter; undefined: not given.
  std::vector<TensorView> views_;  // Likewise; of the last gradients.
};

}  // namespace hvd::optim
