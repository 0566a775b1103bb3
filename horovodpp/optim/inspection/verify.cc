// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/inspection/verify.h"

#include <chrono>
#include <cmath>
#include <cstddef>
#include <memory>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/engine.h"
#include "horovodpp/core/error.h"
#include "horovodpp/kernel/allocator.h"
#include "horovodpp/ops/reduce_ops.h"
#include "horovodpp/optim/distributed/checksum.h"
#include "horovodpp/optim/gradients.h"
#include "horovodpp/replica/objects.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/tensor/base/generator.h"
#include "horovodpp/tensor/base/thread_state.h"

namespace hvd::optim {
namespace {

using Parameter = replica::DryStep::Parameter;

// Keeps buffers and the generator, and puts them back.
class Untouched {
 public:
  explicit Untouched(const nn::Module& model)
      : random_(autograd::default_generator().state()) {
    const NoGrad no_grad;
    for (const auto& [name, buffer] : model.named_buffers()) {
      buffers_.push_back(buffer);
      kept_.push_back(buffer.clone());
    }
  }
  ~Untouched() { put_back(); }
  Untouched(const Untouched&) = delete;
  Untouched& operator=(const Untouched&) = delete;

  void put_back() {
    const NoGrad no_grad;
    for (std::size_t i = 0; i < kept_.size(); ++i) buffers_[i].copy_(kept_[i]);
    autograd::default_generator().set_state(random_);
  }

 private:
  std::vector<Tensor> buffers_;
  std::vector<Tensor> kept_;
  const autograd::Generator::State random_;
};

Parameter described(const nn::NamedTensor& named) {
  return {.name = named.name,
          .layout = absl::StrCat(name_of(named.tensor.dtype()),
                                 named.tensor.shape().to_string()),
          .bytes = named.tensor.bytes(),
          .checksum = checksum(named.tensor)};
}

bool is_finite(const Tensor& gradient) {
  return look_at(whole({gradient.contiguous()})).is_finite;
}

std::vector<nn::NamedTensor> trained_parameters(const nn::Module& model) {
  std::vector<nn::NamedTensor> parameters = model.named_parameters();
  std::erase_if(parameters, [](const nn::NamedTensor& each) {
    return !each.tensor.requires_grad();
  });
  return parameters;
}

// The loss and its gradients.
struct Step {
  double loss = 0;
  std::vector<Tensor> gradients;  // By parameter; undefined: none.
  std::vector<std::int64_t> places;
};

Step make_step(const std::vector<nn::NamedTensor>& parameters,
               const std::function<Tensor()>& loss_of) {
  Step step;
  step.places.assign(parameters.size(), -1);
  std::int64_t next = 0;
  std::vector<Tensor> leaves;
  std::vector<autograd::HookHandle> hooks;
  const absl::Cleanup remove_hooks = [&] {
    for (autograd::HookHandle& hook : hooks) hook.remove();
  };
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    leaves.push_back(parameters[i].tensor);
    hooks.push_back(leaves.back().register_hook(
        [&, i](const Tensor&) { step.places[i] = next++; }));
  }
  const Tensor loss = loss_of();
  step.gradients = autograd::grad({loss}, leaves, {}, {.allow_unused = true});
  step.loss = loss.detach().to(DType::kF64).item<double>();
  return step;
}

bool equal(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return checksum(a) == checksum(b);
}

bool equal(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

}  // namespace

replica::DryStepReport verify(nn::Module& model,
                              const std::function<Tensor()>& loss,
                              Runtime* runtime) {
  const std::shared_ptr<Runtime> job = replica::job_of(runtime);
  replica::DryStep mine;
  for (const nn::NamedTensor& each : model.named_buffers()) {
    mine.buffers.push_back(described(each));
  }
  {
    Untouched state(model);
    const std::vector<nn::NamedTensor> parameters = trained_parameters(model);
    autograd::cpu_allocator().reset_peak();
    const auto begin = std::chrono::steady_clock::now();
    const Step first = make_step(parameters, loss);
    mine.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
            .count();
    mine.peak_bytes = autograd::cpu_allocator().stats().peak_bytes;
    state.put_back();
    const Step second = make_step(parameters, loss);
    mine.loss = first.loss;
    mine.is_loss_reproduced = equal(first.loss, second.loss);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      Parameter& parameter =
          mine.parameters.emplace_back(described(parameters[i]));
      parameter.place = first.places[i];
      parameter.is_reproduced = equal(first.gradients[i], second.gradients[i]);
      if (!first.gradients[i].defined()) continue;
      parameter.gradient = checksum(first.gradients[i]);
      parameter.is_finite = is_finite(first.gradients[i]);
    }
  }
  return replica::compare_dry_steps(*job, mine);
}

replica::DryStepReport verify(nn::Module& model, const Tensor& batch,
                              Runtime* runtime) {
  return verify(
      model, [&] { return model(batch).mean(); }, runtime);
}

}  // namespace hvd::optim
