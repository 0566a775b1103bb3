// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/compression/compressors.h"
#include "horovodpp/core/half.h"
#include "horovodpp/core/thread/future.h"
#include "horovodpp/kernel/halves.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd::compression {
namespace {

template <typename Narrow>
class CastExchange : public Exchange {
 public:
  CastExchange(Runtime& job, std::vector<Gradient> batch,
               ExchangeOptions options)
      : batch_(std::move(batch)) {
    std::vector<TensorView> views;
    for (const Gradient& gradient : batch_) {
      const auto count = static_cast<std::size_t>(gradient.view.num_elements());
      std::vector<Narrow>& narrow = narrow_->emplace_back(count);
      autograd::narrow(static_cast<const float*>(gradient.view.data()),
                       narrow.data(), count);
      views.push_back(TensorView::of(narrow.data(), gradient.view.shape()));
    }
    AllreduceOptions of_all = {.name = std::move(options.name),
                               .op = options.op,
                               .prescale_factor = options.prescale_factor,
                               .postscale_factor = options.postscale_factor,
                               .process_set = options.process_set,
                               .keep_alive = narrow_};
    reduced_ =
        views.size() == 1
            ? job.allreduce_async_(views.front(), std::move(of_all))
            : job.grouped_allreduce_async_(std::move(views), std::move(of_all));
  }

  Status finish() override {
    if (const Status status = reduced_.wait(); !status.ok()) return status;
    for (std::size_t i = 0; i < batch_.size(); ++i) {
      const std::vector<Narrow>& narrow = (*narrow_)[i];
      autograd::widen(narrow.data(), static_cast<float*>(batch_[i].view.data()),
                      narrow.size());
    }
    return Status();
  }

 private:
  const std::vector<Gradient> batch_;
  const std::shared_ptr<std::vector<std::vector<Narrow>>> narrow_ =
      std::make_shared<std::vector<std::vector<Narrow>>>();
  Future<void> reduced_;
};

template <typename Narrow>
class CastCompressor : public Compressor {
 public:
  explicit CastCompressor(std::string name) : name_(std::move(name)) {}

  std::string name() const override { return name_; }
  std::unique_ptr<Exchange> start(Runtime& job, std::vector<Gradient> batch,
                                  ExchangeOptions options) override {
    for (const Gradient& gradient : batch) {
      count(gradient.view.bytes(), gradient.view.bytes() / 2);
    }
    return std::make_unique<CastExchange<Narrow>>(job, std::move(batch),
                                                  std::move(options));
  }
  double traffic(int ranks) const override { return plain_traffic(ranks) / 2; }

 private:
  const std::string name_;
};

}  // namespace

std::unique_ptr<Compressor> fp16() {
  return std::make_unique<CastCompressor<hvd::f16>>("fp16");
}

std::unique_ptr<Compressor> bf16() {
  return std::make_unique<CastCompressor<hvd::bf16>>("bf16");
}

}  // namespace hvd::compression
