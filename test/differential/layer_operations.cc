// SPDX-License-Identifier: Apache-2.0
// Modules as functions, and gradients of gradients, which the comparison with
// PyTorch's operator database runs.
#include "horovodpp/nn.h"
#include "operations.h"

namespace hvd::differential {
namespace {

using Results = std::vector<Tensor>;

void add_group_norms(Operations& all) {
  all["group_norm"] = [](const Statement& s) {
    return Results{
        group_norm(s[0], s.integer("groups"), s[1], s[2], s.number("eps"))};
  };
  all["rms_norm"] = [](const Statement& s) {
    return Results{
        rms_norm(s[0], s.dims("normalized_shape"), s[1], s.number("eps"))};
  };
}

void add_resampling(Operations& all) {
  all["pixel_shuffle"] = [](const Statement& s) {
    return Results{nn::PixelShuffle(s.integer("factor"))(s[0])};
  };
  all["pixel_unshuffle"] = [](const Statement& s) {
    return Results{nn::PixelUnshuffle(s.integer("factor"))(s[0])};
  };
  const std::map<std::string, nn::PadMode> modes = {
      {"pad_reflect", nn::PadMode::kReflect},
      {"pad_replicate", nn::PadMode::kReplicate},
      {"pad_circular", nn::PadMode::kCircular}};
  for (const auto& [name, mode] : modes) {
    all[name] = [mode = mode](const Statement& s) {
      return Results{nn::Pad(s.integers("widths"), mode)(s[0])};
    };
  }
}

// The gradients of those operands that have a history; zeros if none has.
Results second_gradients(const Statement& s) {
  Results roots;
  Results gradients;
  const Results given = s.tensors("gradients");
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!s[i].defined() || !s[i].requires_grad()) continue;
    roots.push_back(s[i]);
    gradients.push_back(given[i]);
  }
  const Results inputs = s.tensors("inputs");
  if (!roots.empty()) {
    return autograd::grad(roots, inputs, gradients,
                          {.allow_unused = true, .materialize_grads = true});
  }
  Results zeros;
  for (const Tensor& input : inputs) {
    zeros.push_back(full(input.shape(), 0.0, {.dtype = input.dtype()}));
  }
  return zeros;
}

}  // namespace

void add_layers_of_the_database(Operations& all) {
  all["tanhshrink"] = [](const Statement& s) {
    return Results{nn::activation::tanhshrink(s[0])};
  };
  add_group_norms(all);
  add_resampling(all);
  all["second_gradients"] = second_gradients;
}

}  // namespace hvd::differential
