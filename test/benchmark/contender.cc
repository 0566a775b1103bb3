// SPDX-License-Identifier: Apache-2.0
#include "test/benchmark/contender.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/runtime/global_collectives.h"
#include "test/benchmark/memory.h"

namespace hvd::benchmark {
namespace {

// The tensors of a workload in some memory.
class Block {
 public:
  Block(const Workload& workload, DType dtype, Memory memory)
      : dtype_(dtype), bytes_(workload.bytes()), memory_(std::move(memory)) {
    std::byte* next = memory_.get();
    for (const Shape& shape : workload.shapes) {
      const std::size_t bytes = static_cast<std::size_t>(shape.num_elements()) *
                                size_of(workload.dtype);
      const auto elements = static_cast<std::int64_t>(bytes / size_of(dtype));
      views_.emplace_back(next, dtype,
                          dtype == workload.dtype ? shape : Shape({elements}));
      next += bytes;
    }
  }

  std::byte* data() const { return memory_.get(); }
  std::size_t bytes() const { return bytes_; }
  std::size_t elements() const { return bytes_ / size_of(dtype_); }
  const std::vector<TensorView>& views() const { return views_; }

  void fill(int value) {
    visit(dtype_, [&]<typename T>(TypeTag<T>) {
      std::fill_n(reinterpret_cast<T*>(data()), elements(),
                  static_cast<T>(static_cast<float>(value)));
    });
  }

  // Compares with a tolerance of a rounding or two.
  bool holds(double value) const {
    return visit(dtype_, [&]<typename T>(TypeTag<T>) {
      const T* const all = reinterpret_cast<const T*>(data());
      const auto right = [&](std::size_t i) {
        return std::abs(static_cast<float>(all[i]) / value - 1) < 0.01;
      };
      return right(0) && right(elements() / 2) && right(elements() - 1);
    });
  }

 private:
  const DType dtype_;
  const std::size_t bytes_;
  const Memory memory_;
  std::vector<TensorView> views_;
};

class ThroughRuntime : public Contender {
 public:
  ThroughRuntime(std::string name, const std::string& prefix, Block block)
      : name_(std::move(name)), block_(std::move(block)) {
    for (std::size_t i = 0; i < block_.views().size(); ++i) {
      names_.push_back(absl::StrCat(prefix, ".", i));
    }
  }

  std::string name() const override { return name_; }
  void refill() override { block_.fill(rank() + 1); }
  bool is_right() const override { return block_.holds((size() + 1) / 2.0); }

  absl::Status call() override {
    const std::vector<TensorView>& views = block_.views();
    if (views.size() == 1) return allreduce_(views[0], {.name = names_[0]});
    std::vector<Future<void>> pending;
    pending.reserve(views.size());
    for (std::size_t i = views.size(); i-- > 0;) {  // In backward's order.
      pending.push_back(allreduce_async_(views[i], {.name = names_[i]}));
    }
    absl::Status status;
    for (const Future<void>& done : pending) status.Update(synchronize(done));
    return status;
  }

 private:
  const std::string name_;
  Block block_;
  std::vector<std::string> names_;
};

class ThroughMpi : public Contender {
 public:
  ThroughMpi(std::string name, bool by_tensor, Block block, MPI_Comm comm)
      : name_(std::move(name)),
        by_tensor_(by_tensor),
        block_(std::move(block)),
        comm_(comm) {}

  std::string name() const override { return name_; }
  void refill() override { block_.fill(rank() + 1); }
  bool is_right() const override {
    return block_.holds(size() * (size() + 1) / 2.0);
  }

  absl::Status call() override {
    if (!by_tensor_) return sum(block_.data(), block_.elements());
    absl::Status status;
    for (const TensorView& view : block_.views()) {
      status.Update(
          sum(view.data(), static_cast<std::size_t>(view.num_elements())));
    }
    return status;
  }

 private:
  absl::Status sum(void* data, std::size_t elements) const {
    const int code =
        MPI_Allreduce(MPI_IN_PLACE, data, static_cast<int>(elements), MPI_FLOAT,
                      MPI_SUM, comm_);
    return code == MPI_SUCCESS ? absl::OkStatus()
                               : absl::InternalError("MPI_Allreduce failed");
  }

  const std::string name_;
  const bool by_tensor_;
  Block block_;
  const MPI_Comm comm_;
};

class Copy : public Contender {
 public:
  Copy(Block from, Block to) : from_(std::move(from)), to_(std::move(to)) {}

  std::string name() const override { return kMemcpy; }
  void refill() override { from_.fill(rank() + 1); }
  bool is_right() const override { return to_.holds(rank() + 1); }
  absl::Status call() override {
    std::memcpy(to_.data(), from_.data(), from_.bytes());
    return absl::OkStatus();
  }

 private:
  Block from_;
  Block to_;
};

bool on_all_ranks(bool here, MPI_Comm comm) {
  int all = here ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm);
  return all == 1;
}

}  // namespace

absl::StatusOr<std::vector<std::unique_ptr<Contender>>> contenders(
    const Workload& workload, MPI_Comm comm) {
  HVD_ASSIGN_OR_RETURN(const Memory memory,
                       allocate(MemoryKind::kForeign, workload.bytes()));
  HVD_ASSIGN_OR_RETURN(const Memory source,
                       allocate(MemoryKind::kForeign, workload.bytes()));
  const absl::StatusOr<Memory> arena =
      allocate(MemoryKind::kArena, workload.bytes());
  const Block own(workload, workload.dtype, memory);
  const Block floats(workload, DType::kF32, memory);

  std::vector<std::unique_ptr<Contender>> all;
  all.push_back(
      std::make_unique<ThroughRuntime>(kForeignMemory, workload.name, own));
  if (on_all_ranks(arena.ok(), comm)) {
    all.push_back(std::make_unique<ThroughRuntime>(
        kArenaMemory, workload.name, Block(workload, workload.dtype, *arena)));
  }
  if (workload.dtype != DType::kF32) {
    all.push_back(std::make_unique<ThroughRuntime>(
        kAsFloat32, absl::StrCat(workload.name, ".float32"), floats));
  }
  all.push_back(std::make_unique<ThroughMpi>(kMpi, false, floats, comm));
  if (workload.tensors() > 1) {
    all.push_back(
        std::make_unique<ThroughMpi>(kMpiByTensor, true, floats, comm));
  }
  all.push_back(
      std::make_unique<Copy>(Block(workload, DType::kF32, source), floats));
  return all;
}

}  // namespace hvd::benchmark
