// SPDX-License-Identifier: Apache-2.0
// M is an m × k matrix, the mean of all ranks' matrices, and Q of k × r the
// result of the step before. Then P = M Q, made orthonormal; Q = Mᵀ P; and P Qᵀ
// replaces M. The sums over ranks are in P and Q: two allreduces of r (m + k)
// numbers in all.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/compression/compressors.h"
#include "horovodpp/compression/error_feedback.h"
#include "horovodpp/compression/thin_products.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/future.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/runtime/membership.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd::compression {
namespace {

constexpr char kBasisSuffix[] = ".basis";

// The state that is kept from step to step.
class Memory {
 public:
  // The Q of the step before or, at first, one of full rank that is equal on
  // all ranks.
  std::vector<float> basis(const std::string& key, std::size_t size) const {
    MutexLock lock(mutex_);
    const auto found = bases_.find(key);
    if (found != bases_.end() && found->second.size() == size) {
      return found->second;
    }
    std::vector<float> first(size);
    std::uint64_t state = 0x9e3779b97f4a7c15;
    for (float& value : first) {
      // Xorshift (Marsaglia, 2003), to numbers between -1 and 1.
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      value =
          static_cast<float>(static_cast<double>(state >> 11) * 0x1p-52) - 1.0f;
    }
    return first;
  }
  void keep_basis(const std::string& key, std::vector<float> basis) {
    for (const float value : basis) {
      if (!std::isfinite(value)) return;  // Keep the one before.
    }
    MutexLock lock(mutex_);
    bases_[key] = std::move(basis);
  }
  ErrorFeedback& errors() { return errors_; }

  std::vector<RememberedValues> state() const {
    std::vector<RememberedValues> result = errors_.state();
    MutexLock lock(mutex_);
    for (const auto& [key, values] : bases_) {
      result.push_back({absl::StrCat(key, kBasisSuffix), values});
    }
    return result;
  }
  void load(const std::vector<RememberedValues>& state) {
    errors_.load(state);
    MutexLock lock(mutex_);
    bases_.clear();
    for (const auto& [name, values] : state) {
      if (!absl::EndsWith(name, kBasisSuffix)) continue;
      bases_[name.substr(0, name.size() - sizeof kBasisSuffix + 1)] = values;
    }
  }

 private:
  mutable Mutex mutex_;
  std::map<std::string, std::vector<float>> bases_ ABSL_GUARDED_BY(mutex_);
  ErrorFeedback errors_;
};

// Gram-Schmidt, twice, on the columns of `p`, which has `columns` of them; in
// double and in one order, so that ranks get the same bits.
void orthonormalize(float* p, std::int64_t rows, std::int64_t columns) {
  for (std::int64_t c = 0; c < columns; ++c) {
    for (int round = 0; round < 2; ++round) {
      for (std::int64_t before = 0; before < c; ++before) {
        double dot = 0.0;
        for (std::int64_t i = 0; i < rows; ++i) {
          dot += static_cast<double>(p[i * columns + before]) *
                 static_cast<double>(p[i * columns + c]);
        }
        for (std::int64_t i = 0; i < rows; ++i) {
          p[i * columns + c] -= static_cast<float>(
              dot * static_cast<double>(p[i * columns + before]));
        }
      }
    }
    double squares = 0.0;
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto value = static_cast<double>(p[i * columns + c]);
      squares += value * value;
    }
    // A column of zeros stays zero, and adds nothing.
    const double size = squares > 0 ? 1.0 / std::sqrt(squares) : squares;
    for (std::int64_t i = 0; i < rows; ++i) {
      p[i * columns + c] =
          static_cast<float>(static_cast<double>(p[i * columns + c]) * size);
    }
  }
}

class PowerExchange : public Exchange {
 public:
  PowerExchange(std::shared_ptr<Memory> memory, std::int64_t rank,
                std::vector<Gradient> batch, ExchangeOptions options)
      : memory_(std::move(memory)), options_(std::move(options)) {
    for (Gradient& gradient : batch) {
      Part part = {.gradient = std::move(gradient)};
      const Shape& shape = part.gradient.view.shape();
      const std::int64_t elements = part.gradient.view.num_elements();
      const std::int64_t rows = shape.rank() > 1 ? shape[0] : 1;
      const std::int64_t columns = rows > 0 ? elements / rows : 0;
      if (rank * (rows + columns) < elements) {
        part.rows = rows;
        part.columns = columns;
        part.rank = rank;
      }
      parts_.push_back(std::move(part));
    }
  }

  // Sends every gradient that is not a matrix, and every P. Returns the bytes
  // of both rounds.
  std::size_t send(Runtime& job);
  Status advance() override;
  Status finish() override;

 private:
  struct Part {
    Gradient gradient;
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t rank = 0;           // 0: sent uncompressed.
    std::vector<float> matrix = {};  // With the error of the step before.

    ThinShape shape() const { return {rows, columns, rank}; }
    std::int64_t first_count() const {
      return rank == 0 ? gradient.view.num_elements() : rows * rank;
    }
    std::int64_t second_count() const { return columns * rank; }
  };

  Future<void> reduce(Runtime& job,
                      const std::shared_ptr<std::vector<float>>& numbers,
                      const char* suffix) const;

  const std::shared_ptr<Memory> memory_;
  const ExchangeOptions options_;
  Membership membership_;
  std::vector<Part> parts_;
  std::shared_ptr<std::vector<float>> first_ =
      std::make_shared<std::vector<float>>();
  std::shared_ptr<std::vector<float>> second_ =
      std::make_shared<std::vector<float>>();
  Future<void> first_done_;
  Future<void> second_done_;
};

Future<void> PowerExchange::reduce(
    Runtime& job, const std::shared_ptr<std::vector<float>>& numbers,
    const char* suffix) const {
  return job.allreduce_async_(
      TensorView::of(numbers->data(),
                     {static_cast<std::int64_t>(numbers->size())}),
      {.name = absl::StrCat(options_.name, suffix),
       .op = options_.op,
       .prescale_factor = options_.prescale_factor,
       .postscale_factor = options_.postscale_factor,
       .process_set = options_.process_set,
       .keep_alive = numbers});
}

std::size_t PowerExchange::send(Runtime& job) {
  membership_ = job.membership();
  std::size_t second = 0;
  for (Part& part : parts_) {
    const std::size_t at = first_->size();
    first_->resize(at + static_cast<std::size_t>(part.first_count()));
    if (part.rank == 0) {
      const auto* x = static_cast<const float*>(part.gradient.view.data());
      std::copy_n(x, part.first_count(), first_->data() + at);
      continue;
    }
    second += static_cast<std::size_t>(part.second_count());
    part.matrix =
        memory_->errors().corrected(part.gradient, options_.num_ranks);
    const std::vector<float> q = memory_->basis(
        part.gradient.key, static_cast<std::size_t>(part.second_count()));
    multiply(part.shape(), part.matrix.data(), q.data(), first_->data() + at);
  }
  second_->resize(second);
  first_done_ = reduce(job, first_, ".p");
  return (first_->size() + second) * sizeof(float);
}

Status PowerExchange::advance() {
  if (const Status status = first_done_.wait(); !status.ok()) return status;
  if (second_->empty()) return Status();
  float* p = first_->data();
  float* q = second_->data();
  for (const Part& part : parts_) {
    if (part.rank > 0) {
      orthonormalize(p, part.rows, part.rank);
      multiply_transposed(part.shape(), part.matrix.data(), p, q);
      q += part.second_count();
    }
    p += part.first_count();
  }
  const auto job = membership_.enter();
  if (!job.ok()) return job.status();
  second_done_ = reduce(**job, second_, ".q");
  return Status();
}

Status PowerExchange::finish() {
  if (const Status status = first_done_.wait(); !status.ok()) return status;
  if (!second_->empty()) {
    if (const Status status = second_done_.wait(); !status.ok()) return status;
  }
  // P Qᵀ is the sum times the factor; this is the average part of one rank:
  const auto share =
      static_cast<float>(1.0 / (options_.factor() * options_.num_ranks));
  const float* p = first_->data();
  const float* q = second_->data();
  for (Part& part : parts_) {
    auto* const out = static_cast<float*>(part.gradient.view.data());
    if (part.rank == 0) {
      std::copy_n(p, part.first_count(), out);
    } else {
      multiply_out(part.shape(), p, q, out);
      for (std::size_t i = 0; i < part.matrix.size(); ++i) {
        part.matrix[i] -= out[i] * share;
      }
      memory_->errors().remember(part.gradient.key, std::move(part.matrix));
      memory_->keep_basis(part.gradient.key,
                          std::vector<float>(q, q + part.second_count()));
      q += part.second_count();
    }
    p += part.first_count();
  }
  return Status();
}

class PowerCompressor : public Compressor {
 public:
  explicit PowerCompressor(std::int64_t rank) : rank_(rank) {
    if (rank < 1) {
      throw InvalidArgument(absl::StrCat("power_sgd: the rank is ", rank,
                                         "; it must be at least 1"));
    }
  }
  std::string name() const override { return "powersgd"; }
  std::unique_ptr<Exchange> start(Runtime& job, std::vector<Gradient> batch,
                                  ExchangeOptions options) override {
    std::size_t bytes = 0;
    for (const Gradient& gradient : batch) bytes += gradient.view.bytes();
    auto exchange = std::make_unique<PowerExchange>(
        memory_, rank_, std::move(batch), std::move(options));
    count(bytes, exchange->send(job));
    return exchange;
  }
  // For large matrices the traffic is close to zero.
  double traffic(int) const override { return 0.0; }
  std::vector<RememberedValues> state() const override {
    return memory_->state();
  }
  void load_state(const std::vector<RememberedValues>& state) override {
    memory_->load(state);
  }

 private:
  const std::int64_t rank_;
  const std::shared_ptr<Memory> memory_ = std::make_shared<Memory>();
};

}  // namespace

std::unique_ptr<Compressor> power_sgd(std::int64_t rank) {
  return std::make_unique<PowerCompressor>(rank);
}

}  // namespace hvd::compression
