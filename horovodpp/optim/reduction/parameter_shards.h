// SPDX-License-Identifier: Apache-2.0
// ParameterShards let each rank update a part of all parameters and keep the
// state of that part alone (ZeRO-1; Rajbhandari et al., 2020). Parameters and
// gradients lie in buckets, one after the other, with equally many elements for
// each rank. A rank gets the reduction of its share of each bucket of
// gradients; the shares of updated parameters are gathered. On one node the
// buckets lie in the ranks' arenas, so that only gathering needs a copy.
//
// Gathering a bucket may overlap with the next forward, until a wait_for().
//
// Not thread-safe, but several threads may call gradient_in_place(), each for
// its own parameter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "horovodpp/core/thread/future.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/optim/grouped_optimizer.h"
#include "horovodpp/replica/gradient_reducer.h"
#include "horovodpp/runtime/membership.h"
#include "horovodpp/runtime/settings/process_set.h"
#include "horovodpp/tensor/gradient_home.h"

namespace hvd::optim {

class ParameterShards {
 public:
  // Shards the parameters that require grad; `parameters` outlive this object.
  // `name` is the prefix of the names of gradients.
  ParameterShards(Runtime& job, const std::vector<nn::NamedTensor>& parameters,
                  std::string name, const ProcessSet& set);
  ~ParameterShards();
  ParameterShards(const ParameterShards&) = delete;
  ParameterShards& operator=(const ParameterShards&) = delete;

  // Moves the parameters into the buckets. All handles on a parameter follow,
  // but views and graphs would not.
  //   InvalidArgument                  a parameter is a view
  //   hvd::Error (FailedPrecondition)  a graph of one is alive
  void move_in();

  // The reductions of the gradients.
  std::vector<replica::ScatteredGroup> groups() const;
  // The part of each parameter that this rank updates; the whole parameter if
  // it is in no bucket.
  std::vector<ElementRange> parts() const;
  bool has(std::size_t parameter) const { return places_[parameter].is_in; }

  // Places the gradient of a parameter in its bucket, where grad() lies from
  // then on.
  //   hvd::Error (FailedPrecondition)  an earlier one is still held
  Tensor gradient_in_place(std::size_t parameter) const;

  // Checks that all parameters are still in their buckets.
  //   hvd::Error (FailedPrecondition)  one is not; names it
  void check_in_place() const;

  // Completes the gradients, of which this rank has its part.
  void gather_gradients();
  // Starts to gather the updated shares.
  void start_gathering();
  // Waits until a parameter, or all parameters, are gathered.
  void wait_for(std::size_t parameter);
  void wait_for_all();

  // The state of all ranks together, as if each rank kept all. Every rank of
  // the set calls it.
  //   hvd::Error (FailedPrecondition)  some ranks have no state of a parameter
  //                                    for which others do
  nn::StateDict whole_state(const StatefulOptimizer& optimizer,
                            const replica::GradientReducer& reducer) const;

 private:
  struct Place {
    bool is_in = false;
    std::size_t bucket = 0;
    std::int64_t offset = 0;  // In elements.
  };
  struct Bucket {
    DType dtype = DType::kF32;
    std::int64_t elements = 0;  // A multiple of the number of ranks.
    std::vector<std::size_t> members = {};
    std::shared_ptr<void> parameters = nullptr;
    std::shared_ptr<void> gradients = nullptr;
    Future<void> gathered = {};
    bool is_gathering = false;
  };

  void lay_out();
  void allocate(Runtime& job);
  std::int64_t share_of(const Bucket& bucket) const {
    return bucket.elements / num_ranks_;
  }
  TensorView share(const Bucket& bucket, const std::shared_ptr<void>& of) const;
  static TensorView all(const Bucket& bucket, const std::shared_ptr<void>& of);
  std::shared_ptr<Runtime> job() const;
  Future<void> gather(std::size_t bucket, const char* what,
                      const std::shared_ptr<void>& of);
  void wait_for(Bucket& bucket);
  Tensor whole_slot(const StatefulOptimizer& optimizer, std::size_t parameter,
                    std::size_t kind) const;

  const std::vector<nn::NamedTensor>& parameters_;
  const std::string name_;
  const ProcessSet set_;
  const Membership membership_;
  const int rank_;
  const int num_ranks_;
  std::vector<Place> places_;  // By parameter.
  std::vector<Bucket> buckets_;
  std::vector<std::shared_ptr<autograd::GradientHome>> homes_;  // Likewise.
};

}  // namespace hvd::optim
