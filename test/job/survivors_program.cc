// SPDX-License-Identifier: Apache-2.0
// A job that loses ranks and goes on. Arguments: a mode, then a comma-separated
// list of victims.
//
//   at_once    the victims kill themselves in the middle of a reduction
//   in_turn    the first victim does; the others follow, each DELAY (third
//              argument) microseconds after the previous one, while the
//              survivors agree or begin
//   for_long   like at_once, and the survivors go on for longer than any
//              launcher would wait for their end
//   at_start   the first victim kills itself before it has entered the job
//
// A survivor sums the ranks (numbers of the first job) until only the survivors
// are left. It prints "survivor R: rank r of n, sum s".
#include <horovodpp/horovodpp.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "horovodpp/core/status.h"
#include "horovodpp/runtime/job/start_up.h"

namespace {

[[noreturn]] void die() {
  std::raise(SIGKILL);
  std::abort();
}

void die_in(std::chrono::microseconds delay) {
  std::thread([delay] {
    const auto end = std::chrono::steady_clock::now() + delay;
    while (std::chrono::steady_clock::now() < end) std::this_thread::yield();
    die();
  }).detach();
}

std::vector<int> numbers_in(const std::string& list) {
  std::vector<int> numbers;
  std::istringstream stream(list);
  for (std::string number; std::getline(stream, number, ',');) {
    numbers.push_back(std::stoi(number));
  }
  return numbers;
}

struct Fate {
  bool at_once = false;
  // The survivors' steps, and each survivor's rest after a step.
  int steps = 30;
  std::chrono::milliseconds rest{0};
  std::vector<int> victims = {};
  std::chrono::microseconds delay{0};

  // The rank's turn to die; negative: it survives.
  int turn_of(int rank) const {
    const auto found = std::find(victims.begin(), victims.end(), rank);
    if (found == victims.end()) return -1;
    return at_once ? 0 : static_cast<int>(found - victims.begin());
  }
};

// A process set of the previous job is refused in this one.
bool is_refused(const hvd::ProcessSet& set) {
  float value = 0;
  return absl::IsInvalidArgument(
      hvd::allreduce_(hvd::TensorView::of(&value, {}), {.process_set = set}));
}

int live(const Fate& fate) {
  constexpr std::int64_t kElements = 100'000;
  constexpr int kSteps = 30;
  const int me = hvd::rank();
  const int size = hvd::size();
  const int left = size - static_cast<int>(fate.victims.size());
  const auto pair = hvd::add_process_set({0, 1});
  hvd::throw_if_error(pair.status());
  double expected = 0;
  for (int rank = 0; rank < size; ++rank) {
    if (fate.turn_of(rank) < 0) expected += 1 << rank;
  }
  const int turn = fate.turn_of(me);
  bool broken = false;
  for (int step = 0, alone = 0; alone < fate.steps; ++step) {
    if (turn == 0 && step == kSteps) {
      die_in(std::chrono::microseconds(100));
    }
    std::vector<double> sum(kElements, 1 << me);
    const absl::Status status =
        hvd::allreduce_(hvd::TensorView::of(sum.data(), {kElements}),
                        {.name = "sum", .op = hvd::ReduceOp::kSum});
    if (status.ok()) {
      if (hvd::size() != left) continue;
      if (sum != std::vector<double>(kElements, expected)) {
        std::fprintf(stderr, "rank %d: wrong sum %f\n", me, sum.front());
        return 1;
      }
      ++alone;
      std::this_thread::sleep_for(fate.rest);
      continue;
    }
    if (turn > 0 && !broken) die_in(turn * fate.delay);
    broken = true;
    hvd::throw_if_error(hvd::reform());
  }
  if (!is_refused(*pair)) {
    std::fprintf(stderr, "rank %d: the old process set was accepted\n", me);
    return 1;
  }
  std::printf("survivor %d: rank %d of %d, sum %.0f\n", me, hvd::rank(),
              hvd::size(), expected);
  hvd::throw_if_error(hvd::shutdown());
  return 0;
}

absl::Status start_without(const hvd::Config& config, int victim) {
  auto wires = hvd::runtime::make_communicator(config);
  HVD_RETURN_IF_ERROR(wires.status());
  // All ranks have met: before this, no rank sees deaths.
  HVD_RETURN_IF_ERROR((*wires)
                          ->exchange("", std::chrono::steady_clock::now() +
                                             config.start_timeout)
                          .status());
  if ((*wires)->rank() == victim) die();
  return hvd::Runtime::start(config, *std::move(wires)).status();
}

// A survivor's error names the missing rank.
int fail_to_start(const hvd::Config& config, int victim) {
  const absl::Status status = start_without(config, victim);
  std::printf("missed: %s\n", std::string(status.message()).c_str());
  return 5;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 3) return 2;
  const std::string how = argv[1];
  const bool for_long = how == "for_long";
  Fate fate = {.at_once = for_long || how == "at_once",
               .steps = for_long ? 90 : 30,
               .rest = std::chrono::milliseconds(for_long ? 100 : 0),
               .victims = numbers_in(argv[2])};
  if (argc > 3) fate.delay = std::chrono::microseconds(std::atoi(argv[3]));
  const auto config = hvd::Config::from_env();
  hvd::throw_if_error(config.status());
  if (how == "at_start") return fail_to_start(*config, fate.victims.front());
  hvd::throw_if_error(hvd::init(*config));
  return live(fate);
} catch (const std::exception& error) {
  std::fprintf(stderr, "survivors_program: %s\n", error.what());
  return 1;
}
