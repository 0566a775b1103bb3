// SPDX-License-Identifier: Apache-2.0
// A Handover gives the gradients of an optimizer's parameters to its reducer when they
// are complete, and takes them back when they are reduced: whole ones, where they lie
// or in the bucket of a shard, and sparse ones as rows. Those that are on their way
// live here, whatever becomes of the parameter's grad().
//
// give() may be called on several threads, for a parameter each; the rest by one, and
// not meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "horovodpp/nn/named_tensor.h"
#include "horovodpp/optim/distributed/contributions.h"
#include "horovodpp/optim/distributed/parameter_shards.h"
#include "horovodpp/replica/gradient_reducer.h"
#include "horovodpp/tensor/tensor.h"

namespace hvd::optim {

class Handover {
 public:
  // All outlive it. `shards`: null, nothing is sharded.
  Handover(const std::vector<nn::NamedTensor>& parameters,
           replica::GradientReducer& reducer,
           const Contributions& contributions, ParameterShards* shards,
           bool sparse_as_dense);

  // Gives the gradient of a parameter; zeros, or no rows, where it has none.
  void give(std::size_t parameter);
  bool has(std::size_t parameter) const {
    return under_way_[parameter].gradient.defined();
  }

  // The reducer has finish()ed: the gradients are the reduced ones from now on.
  //   hvd::Error (FailedPrecondition)  one was replaced, or written, meanwhile
  void take_back();
  // Lets go of all that was given, which the reducer has done with.
  void forget();

 private:
  // A gradient that was given.
  struct Given {
    Tensor gradient;
    std::uint32_t version = 0;  // Nobody else writes it meanwhile.
    std::shared_ptr<replica::GatheredRows> rows = nullptr;  // Of a sparse one.
  };

  void give_rows(std::size_t parameter);
  Tensor gradient_of(std::size_t parameter) const;
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
