// SPDX-License-Identifier: Apache-2.0
// ParameterShards let each rank move a part of all parameters and remember state of
// that part alone (ZeRO-1; Rajbhandari et al., 2020). Parameters and gradients lie
// in buckets, one after the other, with as many elements for each rank; from each
// bucket of gradients a rank gets the reduction of its share, and the shares of the
// parameters that the ranks have moved are gathered. On one node the buckets lie in
// the ranks' arenas, so that none of this needs a copy but the gathering.
//
// A bucket's gathering may go on while the next forward runs, up to a wait_for().
//
// Not thread-safe, but gradient_in_place() may be called on several threads, for a
// parameter each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "horovodpp/core/future.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/optim/grouped_optimizer.h"
#include "horovodpp/replica/gradient_reducer.h"
#include "horovodpp/runtime/membership.h"
#include "horovodpp/runtime/settings/process_set.h"
#include "horovodpp/tensor/gradient_home.h"

namespace hvd::optim {

class ParameterShards {
 public:
  // Of those that require grad; `parameters` outlive this. `name` is that of the
  // gradients.
  ParameterShards(Runtime& job, const std::vector<nn::NamedTensor>& parameters,
                  std::string name, const ProcessSet& set);
  ~ParameterShards();
  ParameterShards(const ParameterShards&) = delete;
  ParameterShards& operator=(const ParameterShards&) = delete;

  // Moves the parameters into the buckets. Every handle on one sees it, but a view
  // of one, or a graph, would not.
  //   InvalidArgument                  a parameter is a view
  //   hvd::Error (FailedPrecondition)  a graph of one is alive
  void move_in();

  // How gradients are to be reduced.
  std::vector<replica::ScatteredGroup> groups() const;
  // What this rank moves of each parameter; of those that are in no bucket, all.
  std::vector<ElementRange> parts() const;
  bool has(std::size_t parameter) const { return places_[parameter].is_in; }

  // The gradient of a parameter in its bucket, where grad() is from then on.
  //   hvd::Error (FailedPrecondition)  somebody holds an earlier one
  Tensor gradient_in_place(std::size_t parameter) const;

  // That all parameters are where they were moved to.
  //   hvd::Error (FailedPrecondition)  one is not; names it
  void check_in_place() const;

  // Completes the gradients, of which this rank has its part.
  void gather_gradients();
  // Starts to gather what the ranks have moved.
  void start_gathering();
  // Waits until a parameter, or all, have what was gathered.
  void wait_for(std::size_t parameter);
  void wait_for_all();

  // What the ranks remember, as if each remembered all. Every rank of the set calls
  // it.
  //   hvd::Error (FailedPrecondition)  some ranks remember nothing of a parameter
  //                                    of which others do
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
