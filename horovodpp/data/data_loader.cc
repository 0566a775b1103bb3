// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/data/data_loader.h"

#include <algorithm>
#include <exception>
#include <span>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/core/thread/thread_start.h"
#include "horovodpp/core/trace/span.h"
#include "horovodpp/data/item_random.h"
#include "horovodpp/tensor/base/generator.h"
#include "horovodpp/tensor/base/thread_state.h"

namespace hvd::data {
namespace {

// Makes `generator` the default of this thread while it lives.
class GeneratorScope {
 public:
  explicit GeneratorScope(autograd::Generator& generator)
      : before_(std::exchange(autograd::thread_state.generator, &generator)) {}
  ~GeneratorScope() { autograd::thread_state.generator = before_; }
  GeneratorScope(const GeneratorScope&) = delete;
  GeneratorScope& operator=(const GeneratorScope&) = delete;

 private:
  autograd::Generator* const before_;
};

}  // namespace

// The batches of a pass, and how to make one. Immutable.
class LoaderPass::Plan {
 public:
  Plan(const Dataset& dataset, const DistributedSampler& sampler,
       const DataLoaderOptions& options)
      : dataset_(dataset),
        options_(options),
        indices_(sampler.indices()),
        first_(sampler.position()),
        epoch_(sampler.epoch()),
        rank_(sampler.options().rank) {
    const auto items = static_cast<std::int64_t>(indices_.size());
    num_batches_ = options.drop_last
                       ? items / options.batch_size
                       : (items + options.batch_size - 1) / options.batch_size;
  }

  std::int64_t num_batches() const { return num_batches_; }

  // The sampler's position after this many batches. Items that drop_last skips
  // count as read.
  std::int64_t position_after(std::int64_t batches) const {
    const auto items = static_cast<std::int64_t>(indices_.size());
    return first_ +
           (batches == num_batches_ ? items : batches * options_.batch_size);
  }

  Batch make(std::int64_t number) const {
    NoGrad no_grad;
    autograd::Generator generator(seed_of(number));
    const GeneratorScope scope(generator);
    const PassScope pass({.seed = options_.seed,
                          .epoch = epoch_,
                          .has_workers = options_.workers > 0});
    const auto begin = static_cast<std::size_t>(number * options_.batch_size);
    const auto count = std::min(static_cast<std::size_t>(options_.batch_size),
                                indices_.size() - begin);
    return dataset_.get_batch(std::span(indices_).subspan(begin, count));
  }

 private:
  std::uint64_t seed_of(std::int64_t number) const {
    const auto place =
        static_cast<std::uint64_t>(first_ + number * options_.batch_size);
    const auto words = autograd::philox(
        {static_cast<std::uint32_t>(place),
         static_cast<std::uint32_t>(place >> 32),
         static_cast<std::uint32_t>(epoch_), static_cast<std::uint32_t>(rank_)},
        {static_cast<std::uint32_t>(options_.seed),
         static_cast<std::uint32_t>(options_.seed >> 32)});
    return (std::uint64_t{words[1]} << 32) | words[0];
  }

  const Dataset& dataset_;
  const DataLoaderOptions options_;
  const std::vector<std::int64_t> indices_;
  const std::int64_t first_;  // The sampler's initial position.
  const std::int64_t epoch_;
  const int rank_;
  std::int64_t num_batches_ = 0;
};

// The threads and a ring of slots: batch n goes into slot n mod capacity, once
// the earlier batch there is taken.
class LoaderPass::Workers {
 public:
  Workers(const Plan& plan, const DataLoaderOptions& options)
      : plan_(plan),
        slots_(static_cast<std::size_t>(options.workers) *
               static_cast<std::size_t>(options.prefetch)) {
    try {
      for (int i = 0; i < options.workers; ++i) {
        threads_.push_back(
            value_or_throw(start_thread("makes batches", [this] { work(); })));
      }
    } catch (...) {
      stop();
      throw;
    }
  }
  ~Workers() { stop(); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  // Waits for the next batch.
  Batch take() {
    MutexLock lock(mutex_);
    Slot& slot = slots_[static_cast<std::size_t>(taken_) % slots_.size()];
    while (!slot.ready) arrived_.wait(mutex_);
    if (slot.error) {
      stopped_ = true;
      room_.notify_all();
      std::rethrow_exception(slot.error);
    }
    slot.ready = false;
    ++taken_;
    room_.notify_all();
    return std::move(slot.batch);
  }

 private:
  struct Slot {
    bool ready = false;
    Batch batch;
    std::exception_ptr error;
  };

  void work() {
    while (true) {
      const std::int64_t number = claim();
      if (number < 0) return;
      Slot made;
      try {
        made.batch = plan_.make(number);
      } catch (...) {
        made.error = std::current_exception();
      }
      made.ready = true;
      MutexLock lock(mutex_);
      slots_[static_cast<std::size_t>(number) % slots_.size()] =
          std::move(made);
      arrived_.notify_all();
    }
  }

  // Waits for room, then returns the number of a batch to make; -1: no more.
  std::int64_t claim() {
    MutexLock lock(mutex_);
    const auto capacity = static_cast<std::int64_t>(slots_.size());
    while (!stopped_ && claimed_ < plan_.num_batches() &&
           claimed_ >= taken_ + capacity) {
      room_.wait(mutex_);
    }
    if (stopped_ || claimed_ == plan_.num_batches()) return -1;
    return claimed_++;
  }

  void stop() {
    {
      MutexLock lock(mutex_);
      stopped_ = true;
    }
    room_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  const Plan& plan_;
  Mutex mutex_;
  CondVar room_;
  CondVar arrived_;
  std::vector<Slot> slots_ ABSL_GUARDED_BY(mutex_);
  std::int64_t claimed_ ABSL_GUARDED_BY(mutex_) = 0;
  std::int64_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

LoaderPass::LoaderPass(const Dataset& dataset, DistributedSampler& sampler,
                       const DataLoaderOptions& options)
    : sampler_(sampler),
      plan_(std::make_unique<Plan>(dataset, sampler, options)) {
  if (options.workers > 0) {
    workers_ = std::make_unique<Workers>(*plan_, options);
  }
}

LoaderPass::~LoaderPass() = default;

std::optional<Batch> LoaderPass::next() {
  const trace::Span span("data");
  if (delivered_ == plan_->num_batches()) {
    sampler_.set_position(plan_->position_after(delivered_));
    return std::nullopt;
  }
  Batch batch =
      workers_ != nullptr ? workers_->take() : plan_->make(delivered_);
  ++delivered_;
  sampler_.set_position(plan_->position_after(delivered_));
  return batch;
}

DataLoader::DataLoader(const Dataset& dataset, DistributedSampler& sampler,
                       const DataLoaderOptions& options)
    : dataset_(dataset), sampler_(sampler), options_(options) {
  if (options.batch_size <= 0 || options.workers < 0 || options.prefetch <= 0) {
    throw InvalidArgument(absl::StrCat(
        "DataLoader: batch_size ", options.batch_size, " and prefetch ",
        options.prefetch, " must be positive, and workers ", options.workers,
        " not negative"));
  }
}

std::int64_t DataLoader::num_batches() const {
  const std::int64_t items = sampler_.num_samples();
  return options_.drop_last
             ? items / options_.batch_size
             : (items + options_.batch_size - 1) / options_.batch_size;
}

LoaderPass DataLoader::iterate() {
  if (sampler_.position() == sampler_.num_samples()) sampler_.set_position(0);
  return LoaderPass(dataset_, sampler_, options_);
}

}  // namespace hvd::data
