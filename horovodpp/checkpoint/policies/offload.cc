// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/checkpoint/policies/offload.h"

#include <atomic>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/autograd/graph/error.h"
#include "horovodpp/autograd/graph/graph_state.h"
#include "horovodpp/autograd/saved/external_saved_tensor.h"

namespace hvd {
namespace autograd {
namespace {

// One saved tensor in a pool. If the original still exists, it is used instead.
class OffloadedTensor final : public ExternalSavedTensor {
 public:
  OffloadedTensor(const Tensor& tensor, std::unique_ptr<OffloadPool::Item> item)
      : ExternalSavedTensor(tensor), item_(std::move(item)) {}

  Tensor restore(std::uint32_t place, Node& /*node*/) override {
    if (Tensor there = original(place); there.defined()) return there;
    return item_->take();
  }

 private:
  const std::unique_ptr<OffloadPool::Item> item_;
};

}  // namespace

class OffloadStore final : public SavedTensorStore {
 public:
  OffloadStore(OffloadPool& pool, const OffloadOptions& options)
      : pool_(pool), options_(options) {}

  Kept keep(const Tensor& tensor) override {
    const bool stays =
        (tensor.is_leaf() && tensor.requires_grad()) ||
        static_cast<std::int64_t>(tensor.bytes()) < options_.least_bytes ||
        is_recomputing();  // Needed soon or never.
    if (stays) return {};
    auto item =
        options_.must_fit ? pool_.store(tensor) : pool_.try_store(tensor);
    if (item == nullptr) return {};
    return {Ref<OffloadedTensor>::adopt(
                new OffloadedTensor(tensor, std::move(item))),
            0};
  }
  void retain() override { owners_.fetch_add(1, std::memory_order_relaxed); }
  void release() override {
    if (owners_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
  }

 private:
  OffloadPool& pool_;
  const OffloadOptions options_;
  std::atomic<std::uint32_t> owners_{1};
};

}  // namespace autograd

namespace {

autograd::Ref<autograd::OffloadStore> store_for(OffloadPool& pool,
                                                const OffloadOptions& options) {
  if (options.least_bytes < 0) {
    throw InvalidArgument(absl::StrCat("Offload: least_bytes is ",
                                       options.least_bytes,
                                       "; wanted is 0 or more"));
  }
  return autograd::Ref<autograd::OffloadStore>::adopt(
      new autograd::OffloadStore(pool, options));
}

}  // namespace

Offload::Offload(OffloadPool& pool, const OffloadOptions& options)
    : store_(store_for(pool, options)), scope_(*store_) {}

Offload::~Offload() = default;

}  // namespace hvd
