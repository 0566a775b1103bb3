// SPDX-License-Identifier: Apache-2.0
// A rank of an elastic job. Arguments: the number of ranks at the end, and
// NUMBER:STEP for each process that kills itself, by the launcher's number,
// before its own STEP-th step.
//
// All ranks share a state: the step, and a sum of what each step did. The job
// ends kLastSteps steps after it has the given number of ranks. Each rank then
// prints "number N: rank r of n".
//
// With NEWCOMERS_FAIL a newcomer exits with code 3 before it joins.
#include <horovodpp/horovodpp.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>

namespace {

constexpr std::int64_t kLastSteps = 30;
constexpr std::chrono::milliseconds kRest(2);

struct State {
  std::int64_t step = 0;
  std::int64_t sum = 0;        // Of the squares of the steps.
  std::int64_t last_step = 0;  // 0: not known yet.
};

using Status = hvd::Status;

Status reduce(std::int64_t& value, hvd::ReduceOp op, const char* name) {
  return hvd::allreduce_(hvd::TensorView::of(&value, {1}),
                         {.name = name, .op = op});
}

// Takes the state of a rank that got furthest.
Status sync(State& state) {
  std::int64_t furthest = state.step;
  Status status = reduce(furthest, hvd::ReduceOp::kMax, "furthest");
  if (!status.ok()) return status;
  std::int64_t root = state.step == furthest ? hvd::rank() : hvd::size();
  status = reduce(root, hvd::ReduceOp::kMin, "root");
  if (!status.ok()) return status;
  std::array<std::int64_t, 3> all = {state.step, state.sum, state.last_step};
  status = hvd::broadcast_(hvd::TensorView::of(all.data(), {3}),
                           static_cast<int>(root), {.name = "state"});
  if (status.ok()) state = {all[0], all[1], all[2]};
  return status;
}

// One step: the ranks agree on its number, and on whether newcomers wait.
Status make_step(State& state, int final_size, bool& newcomers_wait) {
  std::int64_t step = state.step + 1;
  Status status = reduce(step, hvd::ReduceOp::kMin, "step");
  if (!status.ok()) return status;
  std::int64_t waiting = hvd::waiting_newcomers();
  status = reduce(waiting, hvd::ReduceOp::kMax, "waiting");
  if (!status.ok()) return status;
  state.step = step;
  state.sum += step * step;
  newcomers_wait = waiting > 0;
  if (hvd::size() != final_size) {
    state.last_step = 0;
  } else if (state.last_step == 0) {
    state.last_step = state.step + kLastSteps;
  }
  return status;
}

// Whether the program may go on after this outcome.
bool recover(const Status& status) {
  if (status.ok()) return false;
  if (status.code() != hvd::StatusCode::kAborted) hvd::throw_if_error(status);
  hvd::throw_if_error(hvd::reform());
  return true;
}

void run(int final_size, std::int64_t dies_at) {
  State state;
  std::int64_t made = 0;  // Steps of this process.
  bool in_step = false;
  bool newcomers_wait = false;
  while (state.last_step == 0 || state.step < state.last_step) {
    if (dies_at == made + 1) std::raise(SIGKILL);
    if (!in_step) {
      in_step = !recover(sync(state));
      continue;
    }
    if (recover(make_step(state, final_size, newcomers_wait))) {
      in_step = false;
      continue;
    }
    ++made;
    std::this_thread::sleep_for(kRest);
    if (!newcomers_wait) continue;
    const Status grown = hvd::grow();
    // A newcomer was lost: the job is as it was.
    if (grown.code() == hvd::StatusCode::kUnavailable) continue;
    recover(grown);
    in_step = false;
  }
  const std::int64_t n = state.step;
  if (state.sum != n * (n + 1) * (2 * n + 1) / 6) {
    std::fprintf(stderr, "a step is missing, or was made twice\n");
    std::exit(1);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) return 2;
  const int number = std::atoi(std::getenv("HOROVOD_RANK"));
  std::map<int, std::int64_t> deaths;
  for (int i = 2; i < argc; ++i) {
    const std::string text = argv[i];
    const std::size_t colon = text.find(':');
    deaths[std::stoi(text.substr(0, colon))] =
        std::stoi(text.substr(colon + 1));
  }
  const bool joins = std::getenv("HOROVODPP_JOIN") != nullptr;
  if (joins && std::getenv("NEWCOMERS_FAIL") != nullptr) return 3;
  hvd::throw_if_error(hvd::init());
  run(std::atoi(argv[1]), deaths.contains(number) ? deaths[number] : -1);
  std::printf("number %d: rank %d of %d\n", number, hvd::rank(), hvd::size());
  std::fflush(stdout);
  hvd::throw_if_error(hvd::shutdown());
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "elastic_program: %s\n", error.what());
  return 1;
}
