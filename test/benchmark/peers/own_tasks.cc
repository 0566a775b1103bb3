// SPDX-License-Identifier: Apache-2.0
#include "test/benchmark/peers/own_tasks.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "horovodpp/core/error.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/global_collectives.h"
#include "horovodpp/runtime/prepared.h"
#include "horovodpp/runtime/runtime.h"
#include "test/benchmark/memory.h"

namespace hvd::benchmark {
namespace {

using Made = std::unique_ptr<Task>;

// Tensors of float32 in one block of memory.
class Floats {
 public:
  Floats(MemoryKind kind, std::size_t bytes, std::size_t tensors = 1)
      : memory_(value_or_throw(allocate(kind, bytes * tensors))),
        each_(bytes / sizeof(float)),
        tensors_(tensors) {}

  float* data() const { return reinterpret_cast<float*>(memory_.get()); }
  std::size_t count() const { return each_ * tensors_; }

  void fill(int value) {
    std::fill_n(data(), count(), static_cast<float>(value));
  }

  std::vector<TensorView> views() const {
    std::vector<TensorView> all;
    for (std::size_t i = 0; i < tensors_; ++i) {
      all.push_back(TensorView::of(data() + i * each_,
                                   {static_cast<std::int64_t>(each_)}));
    }
    return all;
  }

 private:
  Memory memory_;
  std::size_t each_;
  std::size_t tensors_;
};

bool holds(const float* values, std::size_t count, double value) {
  const auto expected = static_cast<float>(value);
  return count == 0 ||
         (values[0] == expected && values[count / 2] == expected &&
          values[count - 1] == expected);
}

double mean() { return (size() + 1) / 2.0; }

class Allreduce : public Task {
 public:
  explicit Allreduce(const Work& work)
      : floats_(
            work.form == "arena" ? MemoryKind::kArena : MemoryKind::kForeign,
            work.bytes, work.tensors),
        views_(floats_.views()),
        order_(views_.size()),
        is_shuffled_(work.form == "shuffled"),
        has_extra_(work.form == "extra"),
        chance_(static_cast<unsigned>(rank())) {
    for (std::size_t i = 0; i < views_.size(); ++i) {
      names_.push_back(work.text + "." + std::to_string(i));
    }
    // In backward's order.
    std::iota(order_.rbegin(), order_.rend(), 0);
  }

  void refill() override { floats_.fill(rank() + 1); }
  bool is_right() const override {
    return holds(floats_.data(), floats_.count(), mean());
  }

  void run() override {
    if (has_extra_ && runs_++ % 10 == 9) {
      throw_if_error(
          allreduce_(TensorView::of(&metric_, {1}), {.name = "metric"}));
    }
    if (views_.size() == 1) {
      throw_if_error(allreduce_(views_[0], {.name = names_[0]}));
      return;
    }
    if (is_shuffled_) std::shuffle(order_.begin(), order_.end(), chance_);
    pending_.clear();
    for (const std::size_t i : order_) {
      pending_.push_back(allreduce_async_(views_[i], {.name = names_[i]}));
    }
    for (const Future<void>& done : pending_) throw_if_error(done.wait());
  }

 private:
  Floats floats_;
  const std::vector<TensorView> views_;
  std::vector<std::string> names_;
  std::vector<std::size_t> order_;
  std::vector<Future<void>> pending_;
  const bool is_shuffled_;
  const bool has_extra_;
  std::mt19937 chance_;
  int runs_ = 0;
  float metric_ = 0;
};

// In place, on foreign memory.
class InPlace : public Task {
 public:
  using Call = std::function<void(const std::vector<TensorView>& tensors)>;

  InPlace(const Work& work, double expected, Call call)
      : floats_(MemoryKind::kForeign, work.bytes, work.tensors),
        views_(floats_.views()),
        expected_(expected),
        call_(std::move(call)) {}

  void refill() override { floats_.fill(rank() + 1); }
  void run() override { call_(views_); }
  bool is_right() const override {
    return holds(floats_.data(), floats_.count(), expected_);
  }

 private:
  Floats floats_;
  const std::vector<TensorView> views_;
  const double expected_;
  const Call call_;
};

// From foreign memory into a Buffer, which the next run frees.
class IntoNew : public Task {
 public:
  using Call = std::function<Buffer(const ConstTensorView& tensor)>;

  // `expected`: the last element of the result.
  IntoNew(const Work& work, double expected, Call call)
      : input_(MemoryKind::kForeign, work.bytes),
        view_(input_.views()[0]),
        expected_(expected),
        call_(std::move(call)) {}

  void refill() override { input_.fill(rank() + 1); }
  void run() override {
    output_ = Buffer();
    output_ = call_(view_);
  }
  bool is_right() const override {
    const ConstTensorView result = output_.view();
    const auto count = static_cast<std::size_t>(result.num_elements());
    const auto* values = static_cast<const float*>(result.data());
    return count > 0 && holds(values + count - 1, 1, expected_);
  }

 private:
  Floats input_;
  const ConstTensorView view_;
  const double expected_;
  const Call call_;
  Buffer output_;
};

// A prepared call, in place or from one block of memory to another.
class ByHandle : public Task {
 public:
  using Prepare = std::function<Prepared(std::size_t tensor)>;

  // `tensors`: the number of calls to prepare. The last element of `result` is
  // `expected`.
  ByHandle(Floats input, Floats result, double expected, std::size_t tensors,
           const Prepare& prepare)
      : input_(std::move(input)),
        result_(std::move(result)),
        expected_(expected) {
    for (std::size_t i = 0; i < tensors; ++i) calls_.push_back(prepare(i));
  }

  void refill() override { input_.fill(rank() + 1); }
  bool is_right() const override {
    return holds(result_.data() + result_.count() - 1, 1, expected_);
  }

  void run() override {
    if (calls_.size() == 1) {
      throw_if_error(calls_[0].run());
      return;
    }
    for (Prepared& call : calls_) call.start();
    for (Prepared& call : calls_) throw_if_error(call.wait());
  }

 private:
  Floats input_;
  const Floats result_;
  const double expected_;
  std::vector<Prepared> calls_;
};

// From foreign memory into memory that is kept.
class Into : public Task {
 public:
  using Call =
      std::function<void(const TensorView& tensor, const TensorView& result)>;

  Into(Floats input, Floats result, double expected, Call call)
      : input_(std::move(input)),
        result_(std::move(result)),
        expected_(expected),
        call_(std::move(call)) {}

  void refill() override { input_.fill(rank() + 1); }
  void run() override { call_(input_.views()[0], result_.views()[0]); }
  bool is_right() const override {
    return holds(result_.data() + result_.count() - 1, 1, expected_);
  }

 private:
  Floats input_;
  const Floats result_;
  const double expected_;
  const Call call_;
};

class Barrier : public Task {
 public:
  void run() override { throw_if_error(barrier()); }
};

Made allreduce_of(const Work& work) {
  return std::make_unique<Allreduce>(work);
}

Made group_of(const Work& work) {
  return std::make_unique<InPlace>(
      work, mean(), [name = work.text](const std::vector<TensorView>& tensors) {
        throw_if_error(grouped_allreduce_(tensors, {.name = name}));
      });
}

Made broadcast_of(const Work& work) {
  return std::make_unique<InPlace>(
      work, 1, [name = work.text](const std::vector<TensorView>& tensors) {
        throw_if_error(broadcast_(tensors[0], 0, {.name = name}));
      });
}

Made allgather_of(const Work& work) {
  return std::make_unique<IntoNew>(
      work, size(), [name = work.text](const ConstTensorView& tensor) {
        return value_or_throw(allgather(tensor, {.name = name}));
      });
}

Made alltoall_of(const Work& work) {
  return std::make_unique<IntoNew>(
      work, size(), [name = work.text](const ConstTensorView& tensor) {
        return value_or_throw(alltoall(tensor, {.name = name})).tensor;
      });
}

Made reducescatter_of(const Work& work) {
  return std::make_unique<IntoNew>(
      work, mean(), [name = work.text](const ConstTensorView& tensor) {
        return value_or_throw(reducescatter(tensor, {.name = name}));
      });
}

Made allreduce_by_handle(const Work& work) {
  const Floats floats(MemoryKind::kForeign, work.bytes, work.tensors);
  const std::vector<TensorView> views = floats.views();
  return std::make_unique<ByHandle>(
      floats, floats, mean(), views.size(), [&](std::size_t i) {
        return value_or_throw(current_runtime().prepare_allreduce_(
            views[i], {.name = work.text + "." + std::to_string(i)}));
      });
}

Made allgather_into(const Work& work) {
  const auto ranks = static_cast<std::size_t>(size());
  const Floats input(MemoryKind::kForeign, work.bytes);
  const Floats result(MemoryKind::kForeign, work.bytes * ranks);
  return std::make_unique<Into>(
      input, result, size(),
      [name = work.text](const TensorView& tensor, const TensorView& to) {
        throw_if_error(allgather_into(tensor, to, {.name = name}));
      });
}

Made alltoall_into(const Work& work) {
  const Floats input(MemoryKind::kForeign, work.bytes);
  const Floats result(MemoryKind::kForeign, work.bytes);
  return std::make_unique<Into>(
      input, result, size(),
      [name = work.text](const TensorView& tensor, const TensorView& to) {
        value_or_throw(alltoall_into(tensor, to, {.name = name}));
      });
}

Made reducescatter_into(const Work& work) {
  const auto ranks = static_cast<std::size_t>(size());
  const Floats input(MemoryKind::kForeign, work.bytes);
  const Floats result(MemoryKind::kForeign, work.bytes / ranks);
  return std::make_unique<Into>(
      input, result, mean(),
      [name = work.text](const TensorView& tensor, const TensorView& to) {
        throw_if_error(reducescatter_into(tensor, to, {.name = name}));
      });
}

Made barrier_of(const Work&) { return std::make_unique<Barrier>(); }

}  // namespace

std::unique_ptr<Task> own_task(const Work& work) {
  using Maker = Made (*)(const Work&);
  static const std::vector<std::pair<std::string, Maker>> makers = {
      {"allreduce.name", allreduce_of},
      {"allreduce.arena", allreduce_of},
      {"allreduce.shuffled", allreduce_of},
      {"allreduce.handle", allreduce_by_handle},
      {"allgather.into", allgather_into},
      {"alltoall.into", alltoall_into},
      {"reducescatter.into", reducescatter_into},
      {"allreduce.extra", allreduce_of},
      {"allreduce.group", group_of},
      {"allgather.new", allgather_of},
      {"alltoall.new", alltoall_of},
      {"broadcast.name", broadcast_of},
      {"reducescatter.new", reducescatter_of},
      {"barrier.name", barrier_of}};
  for (const auto& [name, maker] : makers) {
    if (name == work.operation + "." + work.form) return maker(work);
  }
  return nullptr;
}

}  // namespace hvd::benchmark
