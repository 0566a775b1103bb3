// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/replica/shard_sum.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "horovodpp/core/half.h"
#include "horovodpp/core/memory/buffer.h"
#include "horovodpp/core/status.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd::replica {
namespace {

// Up to this size, every rank gets all nodes and adds them itself.
constexpr std::size_t kSmallBytes = 16 << 10;

bool is_double(DType dtype) { return dtype == DType::kF64; }

bool can_be_added(DType dtype) {
  return dtype == DType::kF16 || dtype == DType::kBF16 ||
         dtype == DType::kF32 || is_double(dtype);
}

template <typename T>
void read(const ConstTensorView& tensor, T* to) {
  const auto count = static_cast<std::size_t>(tensor.num_elements());
  if (tensor.dtype() != DType::kF16 && tensor.dtype() != DType::kBF16) {
    std::memcpy(to, tensor.data(), count * sizeof(T));
    return;
  }
  const auto* from = static_cast<const std::uint16_t*>(tensor.data());
  const bool is_f16 = tensor.dtype() == DType::kF16;
  for (std::size_t i = 0; i < count; ++i) {
    to[i] = static_cast<T>(is_f16 ? internal::f16_value(from[i])
                                  : internal::bf16_value(from[i]));
  }
}

template <typename T>
void write_mean(const T* from, T shards, const TensorView& tensor) {
  const auto count = static_cast<std::size_t>(tensor.num_elements());
  if (tensor.dtype() != DType::kF16 && tensor.dtype() != DType::kBF16) {
    auto* const to = static_cast<T*>(tensor.data());
    for (std::size_t i = 0; i < count; ++i) to[i] = from[i] / shards;
    return;
  }
  auto* const to = static_cast<std::uint16_t*>(tensor.data());
  const bool is_f16 = tensor.dtype() == DType::kF16;
  for (std::size_t i = 0; i < count; ++i) {
    const auto mean = static_cast<float>(from[i] / shards);
    to[i] = is_f16 ? internal::f16_bits(mean) : internal::bf16_bits(mean);
  }
}

template <typename T>
struct AddTo {
  void operator()(std::vector<T>& left, const std::vector<T>& right) const {
    for (std::size_t i = 0; i < left.size(); ++i) left[i] += right[i];
  }
};

// Where the ranks are, and who carries which nodes.
struct Team {
  Runtime* job = nullptr;
  int shards = 1;
  std::vector<std::vector<ShardNode>> nodes{};  // By rank.

  int ranks() const { return static_cast<int>(nodes.size()); }
  int rank() const { return job->topology().rank(); }
};

Team team_of(Runtime& job, int shards) {
  Team team = {.job = &job, .shards = shards};
  const int ranks = job.topology().size();
  for (int rank = 0; rank < ranks; ++rank) {
    team.nodes.push_back(
        nodes_of_range(shards, shards_of_rank(shards, rank, ranks)));
  }
  return team;
}

// The sum of the elements of one type.
template <typename T>
class Sum {
 public:
  Sum(const Team& team, std::string name)
      : team_(team), name_(std::move(name)), stack_(team.shards, {}) {}

  void add(int shard, std::vector<T> values) {
    stack_.push({0, shard}, std::move(values));
  }
  void clear() { stack_.entries().clear(); }

  // The sum over all shards of `count` elements.
  absl::StatusOr<std::vector<T>> total(std::size_t count) {
    auto& entries = stack_.entries();
    if (team_.ranks() == 1) return std::move(entries.front().value);
    if (count == 0) return std::vector<T>();
    const bool is_pair = team_.ranks() == 2 && team_.nodes[0].size() == 1 &&
                         team_.nodes[1].size() == 1;
    if (is_pair) return sum_of_pair(std::move(entries.front().value));
    return count * sizeof(T) <= kSmallBytes ? gathered(count)
                                            : in_slices(count);
  }

 private:
  using Stack = ShardStack<std::vector<T>, AddTo<T>>;

  static TensorView view(std::vector<T>& values) {
    return TensorView::of(values.data(),
                          {static_cast<std::int64_t>(values.size())});
  }

  // Of two values the sum is the same in any order.
  absl::StatusOr<std::vector<T>> sum_of_pair(std::vector<T> mine) {
    HVD_RETURN_IF_ERROR(
        team_.job
            ->allreduce_async_(view(mine),
                               {.name = name_, .op = ReduceOp::kSum})
            .wait());
    return mine;
  }

  // `parts` has `count` elements of each rank's nodes, rank after rank.
  std::vector<T> added(const T* parts, std::size_t count) const {
    Stack all(team_.shards, {});
    for (const std::vector<ShardNode>& nodes : team_.nodes) {
      for (const ShardNode& node : nodes) {
        all.push(node, std::vector<T>(parts, parts + count));
        parts += count;
      }
    }
    return std::move(all.entries().front().value);
  }

  absl::StatusOr<std::vector<T>> gathered(std::size_t count) {
    std::vector<T> mine;
    for (const auto& entry : stack_.entries()) {
      mine.insert(mine.end(), entry.value.begin(), entry.value.end());
    }
    HVD_ASSIGN_OR_RETURN(
        const Buffer all,
        team_.job->allgather_async(view(mine), {.name = name_}).wait());
    return added(all.template data<T>(), count);
  }

  // Each rank adds a slice of all nodes, and all ranks gather the sums.
  absl::StatusOr<std::vector<T>> in_slices(std::size_t count) {
    const auto ranks = static_cast<std::size_t>(team_.ranks());
    const auto border = [&](std::size_t rank) { return rank * count / ranks; };
    const auto& entries = stack_.entries();
    std::vector<T> sent;
    sent.reserve(entries.size() * count);
    std::vector<std::int64_t> splits;
    for (std::size_t to = 0; to < ranks; ++to) {
      for (const auto& entry : entries) {
        sent.insert(
            sent.end(),
            entry.value.begin() + static_cast<std::ptrdiff_t>(border(to)),
            entry.value.begin() + static_cast<std::ptrdiff_t>(border(to + 1)));
      }
      splits.push_back(static_cast<std::int64_t>(
          entries.size() * (border(to + 1) - border(to))));
    }
    HVD_ASSIGN_OR_RETURN(
        const AlltoallResult got,
        team_.job->alltoall_async(view(sent), {.name = name_, .splits = splits})
            .wait());
    const auto self = static_cast<std::size_t>(team_.rank());
    std::vector<T> slice =
        added(got.tensor.template data<T>(), border(self + 1) - border(self));
    HVD_ASSIGN_OR_RETURN(
        const Buffer all,
        team_.job
            ->allgather_async(view(slice),
                              {.name = absl::StrCat(name_, ".all")})
            .wait());
    const T* const values = all.template data<T>();
    return std::vector<T>(values, values + count);
  }

  const Team& team_;
  const std::string name_;
  Stack stack_;
};

}  // namespace

class ShardSum::Sums {
 public:
  Sums(Runtime& job, const Options& options)
      : team_(team_of(job, options.shards)),
        range_(shards_of_rank(options.shards, team_.rank(), team_.ranks())),
        next_(range_.begin),
        floats_(team_, absl::StrCat(options.name, ".f32")),
        doubles_(team_, absl::StrCat(options.name, ".f64")) {}

  absl::Status add(int shard, const std::vector<ConstTensorView>& tensors) {
    if (shard != next_ || shard >= range_.end) {
      return absl::InvalidArgumentError(absl::StrCat(
          "shard ", shard, " was added, and this rank carries ", range_.begin,
          " to ", range_.end - 1, ", of which ", next_, " is next"));
    }
    Layout layout;
    for (const ConstTensorView& tensor : tensors) {
      HVD_RETURN_IF_ERROR(layout.add(tensor));
    }
    if (shard > range_.begin && layout != layout_) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the tensors of shard ", shard,
          " have other sizes or dtypes than those of shard ", range_.begin));
    }
    std::vector<float> floats(layout.floats);
    std::vector<double> doubles(layout.doubles);
    float* to_floats = floats.data();
    double* to_doubles = doubles.data();
    for (const ConstTensorView& tensor : tensors) {
      if (is_double(tensor.dtype())) {
        read(tensor, to_doubles);
        to_doubles += tensor.num_elements();
      } else {
        read(tensor, to_floats);
        to_floats += tensor.num_elements();
      }
    }
    layout_ = std::move(layout);
    floats_.add(shard, std::move(floats));
    doubles_.add(shard, std::move(doubles));
    ++next_;
    return absl::OkStatus();
  }

  absl::Status finish(const std::vector<TensorView>& results) {
    Layout layout;
    for (const TensorView& result : results) {
      HVD_RETURN_IF_ERROR(layout.add(result));
    }
    if (next_ < range_.end) {
      return absl::FailedPreconditionError(
          absl::StrCat("shard ", next_, " of this rank has not been added"));
    }
    if (range_.begin < range_.end && layout != layout_) {
      return absl::InvalidArgumentError(
          "the results have other sizes or dtypes than the tensors added");
    }
    HVD_ASSIGN_OR_RETURN(const std::vector<float> floats,
                         floats_.total(layout.floats));
    HVD_ASSIGN_OR_RETURN(const std::vector<double> doubles,
                         doubles_.total(layout.doubles));
    const float* from_floats = floats.data();
    const double* from_doubles = doubles.data();
    for (const TensorView& result : results) {
      if (is_double(result.dtype())) {
        write_mean(from_doubles, static_cast<double>(team_.shards), result);
        from_doubles += result.num_elements();
      } else {
        write_mean(from_floats, static_cast<float>(team_.shards), result);
        from_floats += result.num_elements();
      }
    }
    clear();
    return absl::OkStatus();
  }

  void clear() {
    next_ = range_.begin;
    floats_.clear();
    doubles_.clear();
  }
  const ShardRange& range() const { return range_; }

 private:
  // The dtypes and counts of a list of tensors.
  struct Layout {
    std::vector<std::pair<DType, std::int64_t>> tensors{};
    std::size_t floats = 0;
    std::size_t doubles = 0;

    absl::Status add(const ConstTensorView& tensor) {
      if (!can_be_added(tensor.dtype()) || !tensor.device().is_cpu()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "shards are added in the host's memory, as f16, bf16, f32 or f64; "
            "a tensor of ",
            name_of(tensor.dtype()), " is on ", tensor.device().to_string()));
      }
      tensors.emplace_back(tensor.dtype(), tensor.num_elements());
      (is_double(tensor.dtype()) ? doubles : floats) +=
          static_cast<std::size_t>(tensor.num_elements());
      return absl::OkStatus();
    }
    friend bool operator==(const Layout&, const Layout&) = default;
  };

  const Team team_;
  const ShardRange range_;
  int next_;
  Layout layout_;
  Sum<float> floats_;
  Sum<double> doubles_;
};

ShardSum::ShardSum(Runtime& job, const Options& options)
    : sums_(std::make_unique<Sums>(job, options)), owned_(sums_->range()) {}

ShardSum::~ShardSum() = default;

Status ShardSum::add(int shard, const std::vector<ConstTensorView>& tensors) {
  return sums_->add(shard, tensors);
}

Status ShardSum::finish(const std::vector<TensorView>& results) {
  return sums_->finish(results);
}

void ShardSum::clear() { sums_->clear(); }

}  // namespace hvd::replica
