// SPDX-License-Identifier: Apache-2.0
// A ChainModel is a model whose forward runs one stage after the other, so that
// it can be trained with any way of checkpointing:
//
//   std::shared_ptr<models::ChainModel> gpt = models::make_text_model("gpt");
//   gpt->set_checkpointing(models::Checkpointing::parse("budget=50%"));
//   hvd::cross_entropy((*gpt)(tokens), targets).backward();
//
// Outputs, gradients, random numbers and running moments are the same bits with
// each of them. The model must live until backward.
#pragma once

#include <horovodpp/checkpoint.h>
#include <horovodpp/nn/nn.h>

#include <memory>
#include <string>
#include <vector>

#include "models/checkpointing.h"

namespace models {

// function(x), as a checkpointed region if `recompute`.
template <typename Function>
hvd::Tensor recompute_if(bool recompute, const Function& function,
                         const hvd::Tensor& x) {
  return recompute ? hvd::checkpoint(function, x) : function(x);
}

class ChainModel : public hvd::nn::Module {
 public:
  hvd::Tensor forward(const hvd::Tensor& input) final;

  // From the next forward on. At first: none. Forward then throws
  //   InvalidArgument                  the plan is not one for this model
  //   hvd::Error (ResourceExhausted)   the budget of a plan is too small; says
  //                                    what the least is
  void set_checkpointing(const Checkpointing& how);
  const Checkpointing& checkpointing() const { return how_; }

  // Their composition is forward().
  const std::vector<hvd::ChainStage>& stages() const { return stages_; }
  // What a forward of inputs like `input` keeps and computes again. With
  // kBudget, the first time measures the stages.
  hvd::CheckpointPlan plan_for(const hvd::Tensor& input);
  // The regions of the last forward with kOnline.
  const hvd::MemoryBudgetStats& online_stats() const { return online_; }

 protected:
  // In the constructor, in the order of forward(): a stage that is no part of a
  // block, and the stages of a block. Online they run in the last of their ways,
  // whose regions can be let go of one by one.
  void add_stage(hvd::ChainStage stage);
  void add_block(std::vector<hvd::ChainStage> stages);

  // Forward with the blocks as regions; if `leanly`, with regions within, of
  // what costs least to compute again.
  virtual hvd::Tensor run_blocks(const hvd::Tensor& input, bool leanly);

 private:
  std::int64_t online_bytes(const hvd::Tensor& input);
  hvd::CheckpointPlan lean_plan() const;

  Checkpointing how_;
  std::vector<hvd::ChainStage> stages_;
  // As the text of a plan: a region for each block.
  std::string blocks_;
  // What is in each of them, and the stages between them, by their last options.
  std::vector<std::string> lean_parts_;
  std::unique_ptr<hvd::PlannedChain> planned_;  // If there is a budget.
  hvd::MemoryBudgetStats online_;
};

}  // namespace models
