// SPDX-License-Identifier: Apache-2.0
// requires_grad of leaves changes between forward and recomputation: gradients
// equal the same program's without checkpoints.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/autograd/reentrant_checkpoint.h"
#include "horovodpp/checkpoint.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using Tensors = std::vector<Tensor>;
using testing::HasSubstr;

// All saved tensors have one shape.
Tensor of_both(const Tensor& x, const Tensor& w) {
  return sin(x * w) * w.exp();
}

struct LeafForm {
  const char* name;
  Tensor (*run)(const Tensor& x, const Tensor& w);
};

Tensor of_both_with(const CheckpointOptions& options, const Tensor& x,
                    const Tensor& w) {
  return checkpoint(of_both, x, w, options);
}

const LeafForm kLeafForms[] = {
    {"an argument",
     [](const Tensor& x, const Tensor& w) { return of_both_with({}, x, w); }},
    {"an argument of one that runs to its end",
     [](const Tensor& x, const Tensor& w) {
       return of_both_with({.early_stop = false,
                            .determinism_check = DeterminismCheck::kChecksum},
                           x, w);
     }},
    {"an argument, with a policy",
     [](const Tensor& x, const Tensor& w) {
       return of_both_with({.policy = {"mul", "exp"}}, x, w);
     }},
    {"captured",
     [](const Tensor& x, const Tensor& w) {
       return checkpoint([w](const Tensor& in) { return of_both(in, w); }, x);
     }},
    {"captured by a region within one",
     [](const Tensor& x, const Tensor& w) {
       return checkpoint(
           [w](const Tensor& in) {
             return checkpoint(
                 [w](const Tensor& inner) { return of_both(inner, w); },
                 in * 1.0);
           },
           x);
     }},
    {"under a budget without room",
     [](const Tensor& x, const Tensor& w) {
       const MemoryBudget budget(0);
       return of_both_with({}, x, w);
     }},
    {"an argument of the reentrant kind",
     [](const Tensor& x, const Tensor& w) {
       return autograd::checkpoint_reentrant(
           [](const Tensors& in) { return Tensors{of_both(in[0], in[1])}; },
           {x, w})[0];
     }},
    {"captured by the reentrant kind",
     [](const Tensor& x, const Tensor& w) {
       return autograd::checkpoint_reentrant(
           [w](const Tensors& in) { return Tensors{of_both(in[0], w)}; },
           {x})[0];
     }},
};

struct LeafChange {
  const char* name;
  bool required_grad;  // In forward.
  void (*make)(Tensor& leaf);
};
const LeafChange kLeafChanges[] = {
    {"frozen", true, [](Tensor& leaf) { leaf.set_requires_grad(false); }},
    {"detached", true, [](Tensor& leaf) { leaf.detach_(); }},
    {"thawed", false, [](Tensor& leaf) { leaf.set_requires_grad(true); }},
    {"frozen and thawed", true,
     [](Tensor& leaf) {
       leaf.set_requires_grad(false);
       leaf.set_requires_grad(true);
     }},
    {"thawed and frozen", false,
     [](Tensor& leaf) {
       leaf.set_requires_grad(true);
       leaf.set_requires_grad(false);
     }},
};

std::string text_of_gradient(const Tensor& gradient) {
  return gradient.defined() ? absl::StrJoin(values(gradient), " ") : "none";
}

// The gradients of both leaves, after `change` to one of them.
std::string gradients_after(Tensor (*run)(const Tensor&, const Tensor&),
                            const LeafChange& change, bool of_x) {
  Tensor x = leaf({1, 2}, {2}), w = leaf({3, 4}, {2});
  Tensor& changed = of_x ? x : w;
  changed.set_requires_grad(change.required_grad);
  const Tensor y = run(x, w);
  change.make(changed);
  y.sum().backward();
  return absl::StrCat(text_of_gradient(x.grad()), " and ",
                      text_of_gradient(w.grad()));
}

TEST(FrozenLeaf, HasTheSameGradientAsWithoutCheckpoints) {
  for (const LeafChange& change : kLeafChanges) {
    for (const bool of_x : {false, true}) {
      const std::string plain = gradients_after(of_both, change, of_x);
      for (const LeafForm& form : kLeafForms) {
        const bool none_requires_grad =
            of_x && !change.required_grad &&
            std::string(form.name) == "captured by the reentrant kind";
        if (none_requires_grad) continue;
        EXPECT_EQ(gradients_after(form.run, change, of_x), plain)
            << (of_x ? "x, " : "w, ") << form.name << ", " << change.name;
      }
    }
  }
  EXPECT_THAT(gradients_after(of_both, kLeafChanges[0], false),
              HasSubstr("and none"));
}

TEST(FrozenLeaf, MayBeMadeOrThawedByTheFunction) {
  const auto gradient = [](bool checkpointed, bool makes) {
    const Tensor x = leaf({1, 2}, {2});
    Tensor w = makes ? Tensor() : constant({3, 4}, {2});
    const auto thaws = [&](const Tensor& in) {
      if (!w.defined()) w = constant({3, 4}, {2});
      if (!w.requires_grad()) w.set_requires_grad(true);
      return of_both(in, w);
    };
    (checkpointed ? checkpoint(thaws, x) : thaws(x)).sum().backward();
    return text_of_gradient(x.grad()) + " and " + text_of_gradient(w.grad());
  };
  for (const bool makes : {false, true}) {
    EXPECT_EQ(gradient(true, makes), gradient(false, makes));
  }
}

}  // namespace
}  // namespace hvd
