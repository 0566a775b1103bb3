// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/rules/element_step.h"

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/optim/gradients.h"

namespace hvd::optim {

ElementStep::ElementStep(const Tensor& parameter, const ElementRange* part,
                         std::vector<Tensor>& slots,
                         const std::vector<bool>& used, const char* optimizer)
    : parameter_(parameter),
      part_(part),
      slots_(slots),
      used_(used),
      optimizer_(optimizer) {
  refuse_sparse(parameter, optimizer, "use SparseAdam or Adagrad");
  gradient_ = parameter.grad();
  due_ = gradient_.defined() && (part == nullptr || part->count() > 0);
  if (!due_) return;
  const UpdateTarget target(parameter, part);
  if (!slots[0].defined()) slots[0] = nn::count_tensor(0);
  for (std::size_t k = 0; k < used.size(); ++k) {
    if (used[k] && !slots[k + 1].defined()) slots[k + 1] = target.zeros();
  }
  steps_ = static_cast<double>(++*slots[0].data<std::int64_t>());
}

void check_options(const char* optimizer, const NamedNumbers& at_least_zero,
                   const NamedNumbers& below_one) {
  // Written so that NaN fails too.
  for (const auto& [name, number] : at_least_zero) {
    if (number >= 0) continue;
    throw InvalidArgument(absl::StrCat(optimizer, ": ", name, " is ", number,
                                       "; it must not be negative"));
  }
  for (const auto& [name, number] : below_one) {
    if (number >= 0 && number < 1) continue;
    throw InvalidArgument(absl::StrCat(optimizer, ": ", name, " is ", number,
                                       "; it must be in [0, 1)"));
  }
}

}  // namespace hvd::optim
