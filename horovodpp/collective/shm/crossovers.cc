// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/shm/crossovers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "horovodpp/collective/board/board.h"
#include "horovodpp/collective/shm/plane.h"
#include "horovodpp/core/median.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kKiB = 1024;
// Below the first of them, every rank reduces everything.
constexpr std::size_t kMinSmall = 2 * kKiB;
constexpr std::array kSmallSizes = {4 * kKiB, 8 * kKiB, 16 * kKiB, 32 * kKiB,
                                    64 * kKiB};
// Larger than the nearest caches, smaller than the last one.
constexpr std::size_t kLargeSize = 2048 * kKiB;
constexpr std::size_t kMinStep = 64 * kKiB;

// Makes the calls of one measurement.
class Trial {
 public:
  Trial(ShmBoard& board, ArenaMap* arenas, const MeasureOptions& options,
        transport::Interrupt& interrupt)
      : board_(board),
        before_(board.crossovers()),
        plane_(board, arenas),
        tag_{.epoch = options.epoch},
        interrupt_(interrupt),
        deadline_(steady_clock::now() + options.timeout),
        memory_(kLargeSize / sizeof(float)) {}
  ~Trial() { board_.set_crossovers(before_); }

  // Returns the seconds that `bytes` take in each of `ways`, as measured by
  // local rank 0. Returns an empty vector, on all ranks, if time ran out.
  absl::StatusOr<std::vector<double>> measure(
      std::span<const ShmCrossovers> ways, std::size_t bytes) {
    constexpr std::size_t kRounds = 15;
    std::vector<std::vector<double>> times(ways.size());
    bool in_time = true;
    for (std::size_t round = 0; in_time && round < kRounds; ++round) {
      for (std::size_t way = 0; way < ways.size(); ++way) {
        in_time = steady_clock::now() < deadline_;
        HVD_RETURN_IF_ERROR(share(in_time));
        if (!in_time) break;
        board_.set_crossovers(ways[way]);
        const auto start = steady_clock::now();
        HVD_RETURN_IF_ERROR(reduce(bytes));
        times[way].push_back(
            std::chrono::duration<double>(steady_clock::now() - start).count());
      }
    }
    if (!in_time) return std::vector<double>();
    std::vector<double> medians;
    for (std::vector<double>& of_way : times) {
      medians.push_back(median(std::move(of_way)));
    }
    return medians;
  }

  // Gives all ranks the value of local rank 0.
  template <typename T>
  absl::Status share(T& value) {
    auto* const bytes = reinterpret_cast<std::byte*>(&value);
    return plane_.broadcast(bytes, bytes, sizeof(value), 0, next());
  }

 private:
  absl::Status reduce(std::size_t bytes) {
    const Piece piece = {memory_.data(), memory_.data(),
                         static_cast<std::int64_t>(bytes / sizeof(float))};
    return plane_.allreduce({&piece, 1}, {.op = ReduceOp::kMax}, next());
  }

  Call next() {
    ++tag_.sequence;
    return {tag_, interrupt_};
  }

  ShmBoard& board_;
  const ShmCrossovers before_;
  ShmPlane plane_;
  transport::DataTag tag_;
  transport::Interrupt& interrupt_;
  const steady_clock::time_point deadline_;
  std::vector<float> memory_;
};

// Finds the size up to which every rank should reduce everything. The best
// limit has the least loss over all sizes, so that a single bad measurement
// does not decide. It replaces the present limit only if it is clearly better.
// Slices have to be clearly faster too: they lose more where cores share no
// cache, and the system may move ranks.
absl::StatusOr<bool> measure_small(Trial& trial, ShmCrossovers& found) {
  constexpr double kAgainstSlices = 1.1;
  constexpr double kClearly = 0.2;  // The logarithm of a ratio.
  double loss = 0;  // Loss of the limit at hand, relative to no limit.
  double least = 0;
  double before = 0;  // Loss of the present limit.
  std::size_t best = kMinSmall;
  for (const std::size_t bytes : kSmallSizes) {
    const std::array ways = {ShmCrossovers{bytes, found.step_bytes},
                             ShmCrossovers{0, found.step_bytes}};
    HVD_ASSIGN_OR_RETURN(const auto times, trial.measure(ways, bytes));
    if (times.empty()) return false;
    loss += std::log(times[0] / times[1] / kAgainstSlices);
    if (bytes <= found.small_bytes) before = loss;
    if (loss >= least) continue;
    least = loss;
    best = bytes;
  }
  if (before - least < kClearly) best = found.small_bytes;
  HVD_RETURN_IF_ERROR(trial.share(best));
  found.small_bytes = best;
  return true;
}

// Steps shorter than a slot must be faster by a tenth.
absl::StatusOr<bool> measure_step(Trial& trial, std::size_t slot_bytes,
                                  ShmCrossovers& found) {
  constexpr double kInFavourOfWholeSlots = 0.9;
  std::vector<ShmCrossovers> ways;
  for (std::size_t step = slot_bytes; step >= kMinStep; step /= 2) {
    ways.push_back({found.small_bytes, step});
  }
  HVD_ASSIGN_OR_RETURN(auto times, trial.measure(ways, kLargeSize));
  if (times.empty()) return false;
  times[0] *= kInFavourOfWholeSlots;
  auto best = static_cast<std::size_t>(
      std::min_element(times.begin(), times.end()) - times.begin());
  HVD_RETURN_IF_ERROR(trial.share(best));
  found.step_bytes = ways[best].step_bytes;
  return true;
}

bool fit(const ShmCrossovers& values, std::size_t slot_bytes) {
  const std::size_t step = values.step_bytes;
  return values.small_bytes <= slot_bytes &&
         (step == slot_bytes || (step >= kMinStep && step < slot_bytes &&
                                 step % ShmBoard::kAlignment == 0));
}

}  // namespace

absl::StatusOr<std::optional<ShmCrossovers>> measure_crossovers(
    ShmBoard& board, ArenaMap* arenas, const MeasureOptions& options,
    transport::Interrupt& interrupt) {
  ShmCrossovers found = board.crossovers();
  const std::size_t slot_bytes = board.options().chunk_bytes;
  if (slot_bytes < kSmallSizes.back()) return found;
  Trial trial(board, arenas, options, interrupt);
  HVD_ASSIGN_OR_RETURN(bool done, measure_step(trial, slot_bytes, found));
  if (done) {
    HVD_ASSIGN_OR_RETURN(done, measure_small(trial, found));
  }
  return done ? std::optional(found) : std::nullopt;
}

absl::StatusOr<ShmCrossovers> share_crossovers(
    ShmBoard& board, const ShmCrossovers& known, std::uint32_t epoch,
    transport::Interrupt& interrupt) {
  ShmCrossovers values = known;
  auto* const bytes = reinterpret_cast<std::byte*>(&values);
  HVD_RETURN_IF_ERROR(ShmPlane(board).broadcast(bytes, bytes, sizeof(values), 0,
                                                {{.epoch = epoch}, interrupt}));
  return fit(values, board.options().chunk_bytes) ? values : ShmCrossovers{};
}

}  // namespace hvd::collective
