// SPDX-License-Identifier: Apache-2.0
// Measures memory-bound work against a memcpy of as many bytes. The two take
// turns, so that both see the same state of the machine.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <vector>

namespace hvd {

// The memory between which memcpy copies, rotating through blocks.
class Copied {
 public:
  Copied(std::size_t bytes, std::size_t sources, std::size_t targets)
      : bytes_(bytes),
        from_(bytes * sources, std::byte{1}),
        to_(bytes * targets, std::byte{2}) {}

  void next() {
    std::memcpy(&to_[written_], &from_[read_], bytes_);
    benchmark::DoNotOptimize(to_.data());
    read_ = (read_ + bytes_) % from_.size();
    written_ = (written_ + bytes_) % to_.size();
  }

 private:
  std::size_t bytes_;
  std::vector<std::byte> from_;
  std::vector<std::byte> to_;
  std::size_t read_ = 0;
  std::size_t written_ = 0;
};

// Calls `work`, which reads and writes `bytes` in total, as often as `state`
// requests. Reports the GB/s of `work` and of `copied`, by the median call, and
// the ratio of the two.
template <typename Work>
void measure_beside_memcpy(benchmark::State& state, std::size_t bytes,
                           const Work& work, Copied copied) {
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  std::vector<double> times;
  std::vector<double> copy_times;
  for (auto _ : state) {
    const auto begin = Clock::now();
    work();
    benchmark::ClobberMemory();
    const auto middle = Clock::now();
    copied.next();
    benchmark::ClobberMemory();
    const auto end = Clock::now();
    times.push_back(Seconds(middle - begin).count());
    copy_times.push_back(Seconds(end - middle).count());
    state.SetIterationTime(times.back());
  }
  const auto rate = [&](std::vector<double>& all) {
    const auto half = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
    std::nth_element(all.begin(), half, all.end());
    return static_cast<double>(bytes) / *half * 1e-9;
  };
  const double own = rate(times);
  const double plain = rate(copy_times);
  state.counters["GB/s"] = own;
  state.counters["memcpy"] = plain;
  state.counters["ratio"] = own / plain;
}

}  // namespace hvd
