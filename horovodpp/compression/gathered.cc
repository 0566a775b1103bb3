// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/compression/gathered.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/compression/error_feedback.h"
#include "horovodpp/core/memory/buffer.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/future.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd::compression {

void Codec::take_out(const std::byte* message, const Piece& piece, float* x,
                     float* velocity) const {
  std::vector<float> sent(static_cast<std::size_t>(piece.elements));
  decode_add(message, piece, sent.data());
  for (std::size_t i = 0; i < sent.size(); ++i) {
    x[i] -= sent[i];
    if (velocity != nullptr && sent[i] != 0.0f) velocity[i] = 0.0f;
  }
}

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
  std::vector<Piece> pieces_;  // One for each gradient.
  const ExchangeOptions options_;
  std::size_t bytes_ = 0;
  Future<Buffer> all_;
};

std::size_t GatheredExchange::send(Runtime& job, ErrorFeedback& errors) {
  for (const Gradient& gradient : batch_) {
    pieces_.push_back(
        {gradient.view.num_elements(), errors.count_step(gradient.key)});
    bytes_ += codec_->bytes(pieces_.back());
  }
  const auto message = std::make_shared<std::vector<std::byte>>(bytes_);
  std::byte* next = message->data();
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    const std::string& key = batch_[i].key;
    std::vector<float> rest =
        errors.take_corrected(batch_[i], options_.num_ranks);
    codec_->encode(rest.data(), pieces_[i], next);
    codec_->take_out(next, pieces_[i], rest.data(),
                     errors.masked_velocity(key));
    errors.remember(key, std::move(rest));
    next += codec_->bytes(pieces_[i]);
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
  // Joined ranks sent none.
  const auto messages =
      bytes_ == 0 ? 0 : static_cast<std::size_t>(all->num_elements()) / bytes_;
  const auto* const first = static_cast<const std::byte*>(all->view().data());
  const auto factor = static_cast<float>(options_.factor());
  std::size_t offset = 0;
  for (std::size_t i = 0; i < batch_.size(); ++i) {
    const std::int64_t count = pieces_[i].elements;
    auto* const sum = static_cast<float*>(batch_[i].view.data());
    std::fill_n(sum, count, 0.0f);
    for (std::size_t rank = 0; rank < messages; ++rank) {
      codec_->decode_add(first + rank * bytes_ + offset, pieces_[i], sum);
    }
    for (std::int64_t k = 0; k < count; ++k) sum[k] *= factor;
    offset += codec_->bytes(pieces_[i]);
  }
  return Status();
}

class GatheredCompressor : public Compressor {
 public:
  GatheredCompressor(std::unique_ptr<Codec> codec,
                     const FeedbackOptions& feedback)
      : codec_(std::move(codec)), errors_(feedback) {}

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

std::unique_ptr<Compressor> gathered(std::unique_ptr<Codec> codec,
                                     const FeedbackOptions& feedback) {
  return std::make_unique<GatheredCompressor>(std::move(codec), feedback);
}

}  // namespace hvd::compression
