#include "horovodpp/optim/sgd.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/error.h"
#include "horovodpp/autograd/kernels.h"
#include "horovodpp/autograd/ops.h"
#include "horovodpp/autograd/thread_state.h"

namespace hvd::optim {
namespace {

void check_options(const SGDOptions& options) {
  // Written so that NaN fails too.
  const bool valid = options.learning_rate >= 0 && options.momentum >= 0 &&
                     options.weight_decay >= 0;
  if (!valid) {
    throw InvalidArgument(
        absl::StrCat("SGD: learning_rate ", options.learning_rate,
                     ", momentum ", options.momentum, " and weight_decay ",
                     options.weight_decay, " must not be negative"));
  }
  if (options.nesterov && (options.momentum == 0 || options.dampening != 0)) {
    throw InvalidArgument("SGD: nesterov wants a momentum and no dampening");
  }
}

// The step of one parameter whose memory is walked once; `momentum` is null if
// there is none, and its first content is the first gradient.
template <typename T>
struct FusedStep {
  T* parameter;
  const T* gradient;
  T* momentum;
  std::int64_t count;

  template <bool kMomentum, bool kNesterov>
  void run(const SGDOptions& options, bool first) const {
    const T rate = static_cast<T>(options.learning_rate);
    const T decay = static_cast<T>(options.weight_decay);
    const T mu = first ? T(0) : static_cast<T>(options.momentum);
    const T keep = first ? T(1) : static_cast<T>(1.0 - options.dampening);
    const T look_ahead = static_cast<T>(options.momentum);
    for (std::int64_t i = 0; i < count; ++i) {
      T direction = gradient[i] + decay * parameter[i];
      if constexpr (kMomentum) {
        const T velocity = mu * momentum[i] + keep * direction;
        momentum[i] = velocity;
        direction = kNesterov ? direction + look_ahead * velocity : velocity;
      }
      parameter[i] -= rate * direction;
    }
  }

  void run(const SGDOptions& options, bool first) const {
    if (momentum == nullptr) {
      run<false, false>(options, first);
    } else if (options.nesterov) {
      run<true, true>(options, first);
    } else {
      run<true, false>(options, first);
    }
  }
};

}  // namespace

SGD::SGD(std::vector<nn::NamedTensor> parameters, const SGDOptions& options)
    : Optimizer(std::move(parameters)), options_(options) {
  check_options(options_);
  momentum_buffers_.resize(this->parameters().size());
}

SGD::SGD(const std::vector<Tensor>& parameters, const SGDOptions& options)
    : Optimizer(parameters), options_(options) {
  check_options(options_);
  momentum_buffers_.resize(parameters.size());
}

void SGD::set_learning_rate(double value) {
  SGDOptions changed = options_;
  changed.learning_rate = value;
  check_options(changed);
  options_ = changed;
}

void SGD::step() {
  NoGrad no_grad;
  for (std::size_t i = 0; i < parameters().size(); ++i) {
    move(parameters()[i].tensor, momentum_buffers_[i]);
  }
}

void SGD::move(const Tensor& parameter, Tensor& momentum_buffer) {
  Tensor gradient = parameter.grad();
  if (!gradient.defined()) return;
  // All memory is walked in the order of the parameter's.
  const bool dense = autograd::is_dense(parameter.sizes(), parameter.strides());
  const Tensor target = dense ? parameter : parameter.contiguous();
  if (gradient.strides() != target.strides()) {
    gradient = autograd::clone_with_strides(gradient, target.strides());
  }
  const bool first = !momentum_buffer.defined();
  if (options_.momentum != 0 && first) {
    momentum_buffer =
        autograd::clone_with_strides(gradient, target.strides()).zero_();
  }
  autograd::visit_floating(
      parameter.dtype(), "SGD", [&]<typename T>(TypeTag<T>) {
        T* momentum =
            options_.momentum != 0 ? momentum_buffer.data<T>() : nullptr;
        FusedStep<T>{target.data<T>(), gradient.data<T>(), momentum,
                     target.num_elements()}
            .run(options_, first);
      });
  if (dense) {
    parameter.bump_version();
  } else {
    parameter.copy_(target);
  }
}

std::vector<nn::NamedTensor> SGD::state() const {
  std::vector<nn::NamedTensor> result;
  for (std::size_t i = 0; i < momentum_buffers_.size(); ++i) {
    if (!momentum_buffers_[i].defined()) continue;
    result.push_back({absl::StrCat(parameters()[i].name, ".momentum_buffer"),
                      momentum_buffers_[i]});
  }
  return result;
}

}  // namespace hvd::optim
