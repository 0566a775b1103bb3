// SPDX-License-Identifier: Apache-2.0
// A tensor that a node reads back from a holder of saved tensors has the same
// properties as without a holder.
#include <any>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "horovodpp/autograd/record/function.h"
#include "horovodpp/autograd/reentrant_checkpoint.h"
#include "horovodpp/autograd/save_on_cpu.h"
#include "horovodpp/autograd/saved/saved_tensor.h"
#include "horovodpp/checkpoint.h"
#include "horovodpp/kernel/allocator.h"
#include "horovodpp/tensor/tensor_copy.h"
#include "test/autograd/support.h"

namespace hvd {
namespace {

using autograd::Function;
using autograd::FunctionContext;
using autograd::SavedTensorHooks;
using Tensors = std::vector<Tensor>;
using Body = std::function<Tensor(const Tensor&)>;

// Runs a function with one kind of holder for its saved tensors.
struct Holder {
  const char* name;
  Tensor (*run)(const Body& body, const Tensor& x);
  bool copies = false;  // Copies leaves, too.
};

Tensor in_region(const Body& body, const Tensor& x,
                 const CheckpointOptions& options) {
  return checkpoint(body, x, options);
}

Tensor with_policy(const Body& body, const Tensor& x, CheckpointPolicy policy) {
  const auto same = [policy](const CheckpointedOperation&) { return policy; };
  return in_region(body, x, {.policy = same, .keep_copies = true});
}

Tensor within_budget(const Body& body, const Tensor& x, std::int64_t bytes) {
  const MemoryBudget budget(bytes);
  return in_region(body, x, {});
}

Tensor copied(const Tensor& t) {
  return autograd::copy_of(t, autograd::cpu_allocator(), t.strides());
}

Tensor hooked(const Body& body, const Tensor& x, bool packs_copies) {
  const SavedTensorHooks::Scope scope(
      [packs_copies](const Tensor& t) {
        return std::any(packs_copies ? copied(t) : t.detach());
      },
      [packs_copies](const std::any& packed) {
        const auto& t = std::any_cast<const Tensor&>(packed);
        return packs_copies ? copied(t) : t;
      });
  return body(x);
}

const Holder kHolders[] = {
    {"a region",
     [](const Body& body, const Tensor& x) { return in_region(body, x, {}); }},
    {"a region that runs to its end",
     [](const Body& body, const Tensor& x) {
       return in_region(body, x, {.early_stop = false});
     }},
    {"a region within one",
     [](const Body& body, const Tensor& x) {
       return checkpoint(
           [body](const Tensor& in) { return checkpoint(body, in); }, x);
     }},
    {"a policy that saves",
     [](const Body& body, const Tensor& x) {
       return with_policy(body, x, CheckpointPolicy::kMustSave);
     }},
    {"a policy that moves",
     [](const Body& body, const Tensor& x) {
       return with_policy(body, x, CheckpointPolicy::kMustOffload);
     }},
    {"a budget with room",
     [](const Body& body, const Tensor& x) {
       return within_budget(body, x, std::int64_t{1} << 30);
     }},
    {"a budget without room",
     [](const Body& body, const Tensor& x) {
       return within_budget(body, x, 0);
     }},
    {"SaveOnCpu",
     [](const Body& body, const Tensor& x) {
       const autograd::SaveOnCpu on_cpu;
       return body(x);
     }},
    {"Offload",
     [](const Body& body, const Tensor& x) {
       const Offload offload;
       return body(x);
     }},
    {"Offload around a region",
     [](const Body& body, const Tensor& x) {
       const Offload offload;
       return in_region(body, x, {});
     }},
    {"hooks",
     [](const Body& body, const Tensor& x) { return hooked(body, x, false); }},
    {"hooks that copy",
     [](const Body& body, const Tensor& x) { return hooked(body, x, true); },
     true},
};

// The tensors that a backward read, and their properties at that time.
struct Reading {
  using Properties = std::map<std::string, std::string>;
  std::vector<Properties> then;
  Tensors tensors;
  std::vector<double> hook_saw;
};
Reading* reading = nullptr;

std::string text_of(const Tensor& tensor) {
  if (!tensor.defined()) return "none";
  return absl::StrJoin(values(tensor.detach().to(DType::kF64)), " ");
}

// All properties in the interface of a tensor.
Reading::Properties properties_of(const Tensor& t) {
  const autograd::Ref<autograd::Node> node = t.grad_fn();
  return {
      {"shape", t.shape().to_string()},
      {"strides", t.strides().to_string()},
      {"dtype", std::string(name_of(t.dtype()))},
      {"is_contiguous", absl::StrCat(t.is_contiguous())},
      {"bytes", absl::StrCat(t.bytes())},
      {"values", text_of(t)},
      {"version", absl::StrCat(t.version())},
      {"is_inference", absl::StrCat(t.is_inference())},
      {"requires_grad", absl::StrCat(t.requires_grad())},
      {"is_leaf", absl::StrCat(t.is_leaf())},
      {"grad_fn", node ? node->name() : "none"},
      {"output_nr", absl::StrCat(t.output_nr())},
      {"retains_grad", absl::StrCat(t.retains_grad())},
      {"grad", text_of(t.retains_grad() || t.is_leaf() ? t.grad() : Tensor())}};
}

// Returns x, recorded even if x does not require grad; reads x and the result
// in backward.
struct Asks : Function<Asks> {
  static Tensor forward(FunctionContext& context, const Tensor& x,
                        const Tensor& /*recorded*/) {
    Tensor y = x.clone();
    context.save_for_backward({x, y});
    context.saved_data["node"] = std::any(x.grad_fn().get());
    return y;
  }
  static Tensors backward(FunctionContext& context, const Tensors& gradients) {
    const Tensors saved = context.saved_tensors();
    for (const Tensor& tensor : saved) {
      Reading::Properties all = properties_of(tensor);
      const auto* recorded =
          std::any_cast<autograd::Node*>(context.saved_data.at("node"));
      all["is of forward's node"] =
          absl::StrCat(tensor.grad_fn().get() == recorded);
      reading->then.push_back(std::move(all));
      reading->tensors.push_back(tensor);
    }
    if (saved[0].requires_grad()) {
      saved[0].register_hook([](const Tensor& g) {
        reading->hook_saw.push_back(value(g.to(DType::kF64).sum()));
      });
    }
    return {gradients[0], Tensor()};
  }
};

// The tensor that a function saves, made from a leaf whose gradient is already
// 3.
struct Saved {
  const char* name;
  Tensor (*make)(const Tensor& leaf);
};
const Saved kSaved[] = {
    {"a leaf", [](const Tensor& x) { return x; }},
    {"a constant", [](const Tensor& x) { return x.detach() * 2.0; }},
    {"a result", [](const Tensor& x) { return x * 2.0; }},
    {"a result that was written twice",
     [](const Tensor& x) { return (x * 2.0).add_(1.0).exp_(); }},
    {"a result that retains its gradient",
     [](const Tensor& x) {
       Tensor y = x * 2.0;
       y.retain_grad();
       return y;
     }},
    {"a transposed one", [](const Tensor& x) { return (x * 2.0).t(); }},
    {"every other column",
     [](const Tensor& x) { return (x * 2.0).slice(1, 0, 4, 2); }},
    {"a repeated row",
     [](const Tensor& x) {
       return (x * 2.0).narrow(0, 1, 1).expand({3, 4});
     }},
    {"the second of several",
     [](const Tensor& x) { return (x * 2.0).chunk(2)[1]; }},
    {"of another dtype", [](const Tensor& x) { return x.to(DType::kBF16); }},
    {"an empty one", [](const Tensor& x) { return (x * 2.0).narrow(0, 0, 0); }},
    {"a scalar", [](const Tensor& x) { return (x * 2.0).sum(); }},
};

// The tensors that Asks read in two backward calls, with their properties at
// the end.
std::string answers(const Saved& saved, const Holder* holder, bool made_within,
                    bool create_graph) {
  const Tensor x = leaf({1, 2, 3, 4, 5, 6, 7, 8}, {2, 4});
  x.set_grad(full({2, 4}, 3.0, {.dtype = DType::kF64}));
  const Tensor recorded = leaf(1);
  const Body asks = [&](const Tensor& in) {
    return Asks::apply(in, recorded) * 2.0;
  };
  const Body within = [&](const Tensor& in) { return asks(saved.make(in)); };
  const Body& body = made_within ? within : asks;
  const Tensor given = made_within ? x : saved.make(x);
  Tensor y = holder == nullptr ? body(given) : holder->run(body, given);
  Reading read;
  reading = &read;
  const Tensor loss = y.to(DType::kF64).sum();
  loss.backward({}, {.retain_graph = true, .create_graph = create_graph});
  loss.backward({}, {.create_graph = create_graph});
  reading = nullptr;
  std::string result;
  for (const auto& properties : read.then) {
    absl::StrAppend(&result, "\n",
                    absl::StrJoin(properties, ", ", absl::PairFormatter(": ")));
  }
  for (const Tensor& tensor : read.tensors) {
    absl::StrAppend(
        &result, "\nafterwards ",
        absl::StrJoin(properties_of(tensor), ", ", absl::PairFormatter(": ")));
    const bool copies = holder != nullptr && holder->copies;
    if (tensor.is_leaf() && tensor.requires_grad() && !copies) {
      absl::StrAppend(&result, ", is the leaf: ", tensor.is_same(x));
    }
  }
  absl::StrAppend(&result, "\nhooks saw ", absl::StrJoin(read.hook_saw, " "),
                  "\nthe leaf has ", text_of(x.grad()));
  x.set_grad({});  // It may own the graph.
  return result;
}

TEST(Holders, ReturnTensorsEqualToSavedOnes) {
  for (const Saved& saved : kSaved) {
    for (const bool made_within : {false, true}) {
      for (const bool create_graph : {false, true}) {
        const std::string plain =
            answers(saved, nullptr, made_within, create_graph);
        for (const Holder& holder : kHolders) {
          const std::string wanted =
              holder.copies
                  ? absl::StrReplaceAll(plain, {{", is the leaf: 1", ""}})
                  : plain;
          EXPECT_EQ(answers(saved, &holder, made_within, create_graph), wanted)
              << saved.name << (made_within ? " made in " : " given to ")
              << holder.name << (create_graph ? ", with create_graph" : "");
        }
      }
    }
  }
}

// x², with a backward that recomputes it, as PyTorch's CheckpointFunction does,
// for saved tensors that require grad.
struct Again : Function<Again> {
  static Tensor forward(FunctionContext& context, const Tensor& x) {
    Tensor y = x * x;
    context.save_for_backward({x, y});
    return y;
  }
  static Tensors backward(FunctionContext& context, const Tensors& gradients) {
    const Tensors saved = context.saved_tensors();
    EXPECT_TRUE(saved[1].requires_grad());
    if (!saved[0].requires_grad()) return {Tensor()};
    const bool recording = is_grad_enabled();
    const EnableGrad enable;
    const Tensor x = recording ? saved[0] : autograd::detach_all(saved)[0];
    return autograd::grad({x * x}, {x}, gradients, {.create_graph = recording});
  }
};

TEST(Holders, KeepGradientsOfFunctionsThatAskNeedsInputGrad) {
  const auto gradients = [](const Holder* holder) {
    const Tensor x = leaf({1, 2}, {2});
    const Body body = [](const Tensor& in) { return Again::apply(in * 2.0); };
    const auto run = [&] { return holder ? holder->run(body, x) : body(x); };
    run().sum().backward();
    const Tensor first =
        autograd::grad({run().sum()}, {x}, {}, {.create_graph = true})[0];
    const Tensor second = autograd::grad({(first * first).sum()}, {x})[0];
    return std::vector{values(x.grad()), values(first), values(second)};
  };
  const std::vector<std::vector<double>> right{{8, 16}, {8, 16}, {128, 256}};
  EXPECT_EQ(gradients(nullptr), right);
  for (const Holder& holder : kHolders) {
    EXPECT_EQ(gradients(&holder), right) << holder.name;
  }
}

TEST(Holders, OfUserHooksMustReturnATensor) {
  const Tensor x = leaf({1, 2}, {2});
  const SavedTensorHooks::Scope scope(
      [](const Tensor& t) { return std::any(t.detach()); },
      [](const std::any&) { return Tensor(); });
  EXPECT_ERROR(autograd::HookError, "returned an undefined tensor",
               exp(x).sum().backward());
}

}  // namespace
}  // namespace hvd
