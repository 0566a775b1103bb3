// SPDX-License-Identifier: Apache-2.0
#include "test/support/fake_nccl/operation.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <thread>
#include <type_traits>

#include "horovodpp/core/half.h"

namespace fake_nccl {
namespace {

using namespace hvd::collective;  // NOLINT: NCCL's numbers.
using hvd::bf16;
using hvd::f16;

template <typename F>
auto with_type(NcclDType type, F f) {
  switch (type) {
    case kNcclInt8:
      return f(std::int8_t());
    case kNcclInt32:
      return f(std::int32_t());
    case kNcclInt64:
      return f(std::int64_t());
    case kNcclFloat16:
      return f(f16());
    case kNcclBfloat16:
      return f(bf16());
    case kNcclFloat32:
      return f(float());
    case kNcclFloat64:
      return f(double());
    default:
      return f(std::uint8_t());
  }
}

template <typename T>
constexpr bool is_half = std::is_same_v<T, f16> || std::is_same_v<T, bf16>;

// Combines in the element type, as NCCL rounds.
template <typename T>
T combine(NcclOp op, T a, T b) {
  if constexpr (is_half<T>) {
    return T(combine(op, static_cast<float>(a), static_cast<float>(b)));
  } else if constexpr (std::is_floating_point_v<T>) {
    switch (op) {
      case kNcclProd:
        return a * b;
      case kNcclMax:
        return std::fmax(a, b);
      case kNcclMin:
        return std::fmin(a, b);
      default:
        return a + b;
    }
  } else {
    const auto wide_a = static_cast<std::uint64_t>(a);
    const auto wide_b = static_cast<std::uint64_t>(b);
    switch (op) {
      case kNcclProd:
        return static_cast<T>(wide_a * wide_b);
      case kNcclMax:
        return std::max(a, b);
      case kNcclMin:
        return std::min(a, b);
      default:
        return static_cast<T>(wide_a + wide_b);
    }
  }
}

template <typename T>
T multiplied(T value, double factor) {
  if (factor == 1) return value;
  if constexpr (is_half<T>) {
    const T rounded(static_cast<float>(factor));
    return T(static_cast<float>(value) * static_cast<float>(rounded));
  } else {
    return static_cast<T>(value * static_cast<T>(factor));
  }
}

// NCCL's kernels multiply and add with one rounding.
template <typename T>
T with_next(const Operation& operation, T sum, T next) {
  if (operation.factor == 1) return combine(operation.op, sum, next);
  if constexpr (is_half<T>) {
    const T rounded(static_cast<float>(operation.factor));
    return T(std::fma(static_cast<float>(next), static_cast<float>(rounded),
                      static_cast<float>(sum)));
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::fma(next, static_cast<T>(operation.factor), sum);
  } else {
    return combine(operation.op, sum, multiplied(next, operation.factor));
  }
}

void pause(int& looks) {
  if (++looks < 50) {
    std::this_thread::yield();
  } else {
    usleep(20);
  }
}

bool is_transfer(const Operation& operation) {
  return operation.kind == Kind::kSend || operation.kind == Kind::kRecv;
}

}  // namespace

std::size_t size_of(NcclDType type) {
  return with_type(type, [](auto zero) { return sizeof(zero); });
}

bool Exchange::run(const std::vector<Operation>& group) {
  std::vector<Transfer> open;
  for (const Operation& operation : group) {
    if (is_transfer(operation)) {
      open.push_back({&operation});
    } else if (!collective(operation)) {
      return false;
    }
  }
  return transfers(std::move(open));
}

bool Exchange::collective(const Operation& operation) {
  const std::size_t fit =
      kSlotBytes / size_of(operation.type) / static_cast<std::size_t>(ranks_);
  std::size_t first = 0;
  do {
    const std::size_t count = std::min(fit, operation.count - first);
    if (!step(operation, first, count)) return false;
    first += count;
  } while (first < operation.count);
  return true;
}

std::byte* Exchange::half_of(int rank) const {
  return memory_->slots[rank].halves[steps_ % 2];
}

// A rank's data of a step stays until all ranks have published the next step,
// and so have read this one.
bool Exchange::step(const Operation& operation, std::size_t first,
                    std::size_t count) {
  show(operation, first, count);
  memory_->slots[rank_].places[steps_ % 2] = operation.place;
  memory_->slots[rank_].arrived.store(steps_ + 1);
  if (!all_have_shown()) return false;
  for (int rank = 0; rank < ranks_; ++rank) {
    const std::uint64_t place = memory_->slots[rank].places[steps_ % 2];
    if (place != operation.place) return false;
  }
  take(operation, first, count);
  ++steps_;
  return true;
}

bool Exchange::all_have_shown() {
  int looks = 0;
  for (int rank = 0; rank < ranks_; ++rank) {
    while (memory_->slots[rank].arrived.load() <= steps_) {
      if (aborted_.load()) return false;
      pause(looks);
    }
  }
  return true;
}

void Exchange::show(const Operation& operation, std::size_t first,
                    std::size_t count) {
  const std::size_t size = size_of(operation.type);
  std::byte* const half = half_of(rank_);
  const bool is_shown =
      operation.kind != Kind::kBroadcast || operation.peer == rank_;
  if (!is_shown) return;
  const int parts = operation.kind == Kind::kReduceScatter ? ranks_ : 1;
  for (int part = 0; part < parts; ++part) {
    const std::size_t offset =
        (static_cast<std::size_t>(part) * operation.count + first) * size;
    std::memcpy(half + static_cast<std::size_t>(part) * count * size,
                operation.from + offset, count * size);
  }
}

void Exchange::take(const Operation& operation, std::size_t first,
                    std::size_t count) {
  // In a reduction to one rank, the others have no output.
  if (operation.kind == Kind::kReduce && operation.peer != rank_) return;
  const std::size_t size = size_of(operation.type);
  std::byte* const to = operation.to + first * size;
  if (operation.kind == Kind::kBroadcast) {
    std::memcpy(to, half_of(operation.peer), count * size);
    return;
  }
  if (operation.kind == Kind::kAllGather) {
    for (int rank = 0; rank < ranks_; ++rank) {
      std::memcpy(to + static_cast<std::size_t>(rank) * operation.count * size,
                  half_of(rank), count * size);
    }
    return;
  }
  const std::size_t mine = operation.kind == Kind::kReduceScatter
                               ? static_cast<std::size_t>(rank_) * count
                               : 0;
  with_type(operation.type, [&](auto zero) {
    using T = decltype(zero);
    const auto value = [&](int rank, std::size_t i) {
      T one;
      std::memcpy(&one, half_of(rank) + (mine + i) * sizeof(T), sizeof(T));
      return one;
    };
    for (std::size_t i = 0; i < count; ++i) {
      const int last = last_of(operation, first + i);
      const int start = (last + 1) % ranks_;
      T sum = multiplied(value(start, i), operation.factor);
      for (int n = 1; n < ranks_; ++n) {
        sum = with_next(operation, sum, value((start + n) % ranks_, i));
      }
      std::memcpy(to + i * sizeof(T), &sum, sizeof(T));
    }
    return 0;
  });
}

// Like a ring of NCCL: the rank that needs the result adds its number last, and
// the ranks take the slices of an allreduce in turn.
int Exchange::last_of(const Operation& operation, std::size_t element) const {
  constexpr std::size_t kSlice = 16;
  switch (operation.kind) {
    case Kind::kReduceScatter:
      return rank_;
    case Kind::kReduce:
      return operation.peer;
    default:
      return static_cast<int>(element / kSlice %
                              static_cast<std::size_t>(ranks_));
  }
}

bool Exchange::transfers(std::vector<Transfer> open) {
  int looks = 0;
  while (!open.empty()) {
    bool moved = false;
    // Transfers of a pair stay in order: the next begins when the previous one
    // has ended.
    for (auto& transfer : open) {
      if (!move_on(transfer, moved)) return false;
    }
    open.erase(std::remove_if(open.begin(), open.end(),
                              [](const Transfer& transfer) {
                                return transfer.moved ==
                                       transfer.operation->count *
                                           size_of(transfer.operation->type);
                              }),
               open.end());
    if (aborted_.load()) return false;
    if (!moved) pause(looks);
  }
  return true;
}

bool Exchange::move_on(Transfer& transfer, bool& moved) {
  const Operation& operation = *transfer.operation;
  const bool sends = operation.kind == Kind::kSend;
  Box& box = sends ? memory_->boxes[rank_][operation.peer]
                   : memory_->boxes[operation.peer][rank_];
  const std::size_t all = operation.count * size_of(operation.type);
  const std::size_t bytes = std::min(kBoxBytes, all - transfer.moved);
  const bool is_full = box.sent.load() > box.taken.load();
  if (is_full == sends) return true;
  if (sends) {
    box.bytes = all;
    std::memcpy(box.part, operation.from + transfer.moved, bytes);
    box.sent.fetch_add(1);
  } else {
    if (box.bytes != all) return false;
    std::memcpy(operation.to + transfer.moved, box.part, bytes);
    box.taken.fetch_add(1);
  }
  transfer.moved += bytes;
  moved = true;
  return true;
}

}  // namespace fake_nccl
