// SPDX-License-Identifier: Apache-2.0
// Modules without parameters that rearrange elements: ops/shapes has the
// functions.
#pragma once

#include <cstdint>

#include "horovodpp/core/export.h"
#include "horovodpp/nn/module.h"
#include "horovodpp/ops/shapes/copies.h"
#include "horovodpp/ops/shapes/patches.h"
#include "horovodpp/ops/shapes/views.h"

namespace HVD_EXPORT hvd {
namespace nn {

// A dimension as several.
class Unflatten : public Module {
 public:
  Unflatten(std::int64_t dim, const autograd::Dims& sizes)
      : dim_(dim), sizes_(sizes) {}
  Tensor forward(const Tensor& input) override {
    return unflatten(input, dim_, sizes_);
  }

 private:
  const std::int64_t dim_;
  const autograd::Dims sizes_;
};

// Patches of images as columns.
class Unfold : public Module {
 public:
  explicit Unfold(const PatchOptions& options) : options_(options) {}
  Tensor forward(const Tensor& input) override {
    return unfold(input, options_);
  }

 private:
  const PatchOptions options_;
};

// Images of this size from columns of patches, which are added up.
class Fold : public Module {
 public:
  Fold(Pair size, const PatchOptions& options)
      : size_(size), options_(options) {}
  Tensor forward(const Tensor& input) override {
    return fold(input, size_, options_);
  }

 private:
  const Pair size_;
  const PatchOptions options_;
};

class ChannelShuffle : public Module {
 public:
  explicit ChannelShuffle(std::int64_t groups) : groups_(groups) {}
  Tensor forward(const Tensor& input) override {
    return channel_shuffle(input, groups_);
  }

 private:
  const std::int64_t groups_;
};

}  // namespace nn
}  // namespace hvd
