// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/compression/gathered.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/compression/error_feedback.h"
#include "horovodpp/core/buffer.h"
#include "horovodpp/core/future.h"
#include "horovodpp/core/status.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd::compression {
namespace {

// The messages for all gradients of the batch, one after the other.
class GatheredExchange : public Exchange {
 public:
  GatheredExchange(std::shared_ptr<const Codec> codec,
                   std::vector<Gradient> batch, ExchangeOptions options)
      : codec_(std::move(codec)),
        batch_(std::move(batch)),
        options_(std::move(options)) {}

  // Returns the bytes of the message.
  std::size_t send(Runtime& job, ErrorFeedback& errors);
  Status finish() override;

 private:
  const std::shared_ptr<const Codec> codec_;
  const std::vector<Gradient> batch_;
  const ExchangeOptions options_;
  std::size_t bytes_ = 0;
  Future<Buffer> all_;
};

std::size_t GatheredExchange::send(Runtime& job, ErrorFeedback& errors) {
  for (const Gradient& gradient : batch_) {
    bytes_ += codec_->bytes(gradient.view.num_elements());
  }
  const auto message = std::make_shared<std::vector<std::byte>>(bytes_);
  std::byte* next = message->data();
  for (const Gradient& gradient : batch_) {
    const std::int64_t count = gradient.view.num_elements();
    std::vector<float> corrected = errors.corrected(gradient);
    codec_->encode(corrected.data(), count, next);
    std::vector<float> sent(corrected.size());
    codec_->decode_add(next, count, sent.data());
    errors.remember(gradient.key, std::move(corrected), sent);
    next += codec_->bytes(count);
  }
  all_ = job.allgather_async(
      ConstTensorView(message->data(), DType::kU8,
                      Shape({1, static_cast<std::int64_t>(bytes_)})),
      {.name = options_.name,
       .process_set = options_.process_set,
       .keep_alive = message});
  return bytes_;
}

Status GatheredExchange::finish() {
  const absl::StatusOr<Buffer> all = all_.take();
  if (!all.ok()) return all.status();
  // Ranks that have joined sent none.
  const auto messages =
      bytes_ == 0 ? 0 : static_cast<std::size_t>(all->num_elements()) / bytes_;
  const auto* const first = static_cast<const std::byte*>(all->view().data());
  const auto factor = static_cast<float>(options_.factor());
  std::size_t offset = 0;
  for (const Gradient& gradient : batch_) {
    const std::int64_t count = gradient.view.num_elements();
    auto* const sum = static_cast<float*>(gradient.view.data());
    std::fill_n(sum, count, 0.0f);
    for (std::size_t rank = 0; rank < messages; ++rank) {
      codec_->decode_add(first + rank * bytes_ + offset, count, sum);
    }
    for (std::int64_t i = 0; i < count; ++i) sum[i] *= factor;
    offset += codec_->bytes(count);
  }
  return Status();
}

class GatheredCompressor : public Compressor {
 public:
  explicit GatheredCompressor(std::unique_ptr<Codec> codec)
      : codec_(std::move(codec)) {}

  std::string name() const override { return codec_->name(); }
  std::unique_ptr<Exchange> start(Runtime& job, std::vector<Gradient> batch,
                                  ExchangeOptions options) override {
    std::size_t bytes = 0;
    for (const Gradient& gradient : batch) bytes += gradient.view.bytes();
    auto exchange = std::make_unique<GatheredExchange>(codec_, std::move(batch),
                                                       std::move(options));
    count(bytes, exchange->send(job, errors_));
    return exchange;
  }
  double traffic(int ranks) const override {
    return (ranks - 1) * codec_->bytes_per_byte();
  }
  std::vector<RememberedValues> state() const override {
    return errors_.state();
  }
  void load_state(const std::vector<RememberedValues>& state) override {
    errors_.load(state);
  }

 private:
  const std::shared_ptr<const Codec> codec_;
  ErrorFeedback errors_;
};

}  // namespace

std::unique_ptr<Compressor> gathered(std::unique_ptr<Codec> codec) {
  return std::make_unique<GatheredCompressor>(std::move(codec));
}

}  // namespace hvd::compression
