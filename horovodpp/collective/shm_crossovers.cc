#include "horovodpp/collective/shm_crossovers.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "horovodpp/collective/shm_board.h"
#include "horovodpp/collective/shm_plane.h"
#include "horovodpp/core/status.h"

namespace hvd::collective {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kKiB = 1024;
constexpr std::array kSmallSizes = {2 * kKiB,  4 * kKiB,  8 * kKiB,
                                    16 * kKiB, 32 * kKiB, 64 * kKiB};
// Larger than the nearest caches, smaller than the last one.
constexpr std::size_t kLargeSize = 2048 * kKiB;
constexpr std::size_t kLeastStep = 64 * kKiB;

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size()) / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The calls of one measurement.
class Trial {
 public:
  Trial(ShmBoard& board, ArenaMap* arenas, const MeasureOptions& options,
        transport::Watch& watch)
      : board_(board),
        before_(board.crossovers()),
        plane_(board, arenas),
        tag_{.epoch = options.epoch},
        watch_(watch),
        decides_(board.rank() == 0),
        deadline_(steady_clock::now() + options.patience),
        memory_(kLargeSize / sizeof(float)) {}
  ~Trial() { board_.set_crossovers(before_); }

  // Which of `ways`, two or more, is the fastest for `bytes`; one that is not
  // faster than the first by a tenth loses to it. `ways.size()`: it was not
  // found out in time.
  absl::StatusOr<std::size_t> fastest(std::span<const ShmCrossovers> ways,
                                      std::size_t bytes) {
    constexpr std::size_t kRounds = 15;
    std::vector<std::vector<double>> times(ways.size());
    for (bool again = true; again;) {
      for (std::size_t way = 0; way < ways.size(); ++way) {
        board_.set_crossovers(ways[way]);
        const auto start = steady_clock::now();
        HVD_RETURN_IF_ERROR(reduce(bytes));
        times[way].push_back(
            std::chrono::duration<double>(steady_clock::now() - start).count());
      }
      again = times[0].size() < kRounds && steady_clock::now() < deadline_;
      HVD_RETURN_IF_ERROR(tell(again));
    }
    std::size_t best = ways.size();
    if (times[0].size() >= kRounds / 2) {
      constexpr double kClearly = 0.9;
      double least = median(times[best = 0]);
      for (std::size_t way = 1; way < ways.size(); ++way) {
        const double time = median(times[way]);
        if (time >= least * (best == 0 ? kClearly : 1.0)) continue;
        best = way;
        least = time;
      }
    }
    HVD_RETURN_IF_ERROR(tell(best));
    return best;
  }

 private:
  absl::Status reduce(std::size_t bytes) {
    const Piece piece = {memory_.data(), memory_.data(),
                         static_cast<std::int64_t>(bytes / sizeof(float))};
    return plane_.allreduce({&piece, 1}, {.op = ReduceOp::kMax}, next());
  }

  // Makes what local rank 0 holds everybody's.
  template <typename T>
  absl::Status tell(T& value) {
    auto* const bytes = reinterpret_cast<std::byte*>(&value);
    return plane_.broadcast(bytes, bytes, sizeof(value), 0, next());
  }

  Call next() {
    ++tag_.sequence;
    return {tag_, watch_};
  }

  ShmBoard& board_;
  const ShmCrossovers before_;
  ShmPlane plane_;
  transport::DataTag tag_;
  transport::Watch& watch_;
  const bool decides_;
  const steady_clock::time_point deadline_;
  std::vector<float> memory_;
};

// Up to which size it is faster that everyone reduces everything.
absl::Status measure_small(Trial& trial, std::size_t slot_bytes,
                           ShmCrossovers& found) {
  std::size_t last = 0;
  for (const std::size_t bytes : kSmallSizes) {
    if (bytes > slot_bytes) break;
    const std::array ways = {ShmCrossovers{bytes, found.step_bytes},
                             ShmCrossovers{0, found.step_bytes}};
    HVD_ASSIGN_OR_RETURN(const std::size_t best, trial.fastest(ways, bytes));
    if (best == ways.size()) return absl::OkStatus();
    if (best != 0) break;
    last = bytes;
  }
  found.small_bytes = last;
  return absl::OkStatus();
}

absl::Status measure_step(Trial& trial, std::size_t slot_bytes,
                          ShmCrossovers& found) {
  std::vector<ShmCrossovers> ways;
  for (std::size_t step = slot_bytes; step >= kLeastStep; step /= 2) {
    ways.push_back({found.small_bytes, step});
  }
  if (ways.size() < 2) return absl::OkStatus();
  HVD_ASSIGN_OR_RETURN(const std::size_t best, trial.fastest(ways, kLargeSize));
  if (best < ways.size()) found.step_bytes = ways[best].step_bytes;
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ShmCrossovers> measure_crossovers(ShmBoard& board,
                                                 ArenaMap* arenas,
                                                 const MeasureOptions& options,
                                                 transport::Watch& watch) {
  ShmCrossovers found = board.crossovers();
  const std::size_t slot_bytes = board.options().chunk_bytes;
  Trial trial(board, arenas, options, watch);
  HVD_RETURN_IF_ERROR(measure_step(trial, slot_bytes, found));
  HVD_RETURN_IF_ERROR(measure_small(trial, slot_bytes, found));
  return found;
}

}  // namespace hvd::collective
