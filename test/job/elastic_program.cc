// SPDX-License-Identifier: Apache-2.0
// A rank of an elastic job. Arguments: the number of ranks at the end, and
// NUMBER:STEP or NUMBER:STEP:SIGNAL for each process that kills itself, by the
// launcher's number, before its own STEP-th step.
//
// Before the number at the end there may be others, as in 2=a:2+b:1,3. Once the
// job has 2 ranks, rank 0 writes the lines "a:2" and "b:1" to the file HOSTS,
// which a discovery script shows. Then the job waits for 3 ranks. 2@4 stands for
// 2 ranks whose numbers are 4 or more.
//
// All ranks share a state: the step, and a sum of what each step did. The job
// ends kLastSteps steps after it has the last number of ranks. Each rank then
// prints "number N: rank r of n".
//
// Processes kill themselves in the first of several starts only. With
// NEWCOMERS_FAIL a newcomer exits with code 3 before it joins. With
// IGNORE_SIGTERM no rank ends by that signal; with CATCH_SIGTERM ranks end at the
// next boundary of steps.
#include <horovodpp/horovodpp.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::int64_t kLastSteps = 30;
constexpr std::chrono::milliseconds kRest(2);

// A number of ranks, and the hosts from then on.
struct Phase {
  int size = 0;
  int least_number = 0;
  std::string hosts{};  // Empty: as before.
};

std::vector<Phase> parse_phases(const std::string& text) {
  std::vector<Phase> phases;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const std::size_t equals = word.find('=');
    Phase& phase = phases.emplace_back();
    phase.size = std::stoi(word.substr(0, equals));
    const std::size_t at = word.find('@');
    if (at < equals) phase.least_number = std::stoi(word.substr(at + 1));
    if (equals == std::string::npos) continue;
    phase.hosts = word.substr(equals + 1) + "\n";
    std::replace(phase.hosts.begin(), phase.hosts.end(), '+', '\n');
  }
  return phases;
}

// Replaces the file, which the script may read at any time.
void write_hosts(const std::string& hosts) {
  const std::string file = std::getenv("HOSTS");
  std::ofstream(file + ".new") << hosts;
  std::filesystem::rename(file + ".new", file);
}

struct State {
  std::int64_t phase = 0;
  std::int64_t step = 0;
  std::int64_t sum = 0;        // Of the squares of the steps.
  std::int64_t last_step = 0;  // 0: not known yet.
};

using Status = hvd::Status;

// The launcher's number of this process.
int number() { return std::atoi(std::getenv("HOROVOD_RANK")); }
bool is_newcomer() { return std::getenv("HOROVODPP_JOIN") != nullptr; }

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
  std::array<std::int64_t, 4> all = {state.phase, state.step, state.sum,
                                     state.last_step};
  status = hvd::broadcast_(hvd::TensorView::of(all.data(), {4}),
                           static_cast<int>(root), {.name = "state"});
  if (status.ok()) state = {all[0], all[1], all[2], all[3]};
  return status;
}

// One step: the ranks agree on its number, and on whether newcomers wait.
Status make_step(State& state, const std::vector<Phase>& phases,
                 bool& newcomers_wait) {
  std::int64_t step = state.step + 1;
  Status status = reduce(step, hvd::ReduceOp::kMin, "step");
  if (!status.ok()) return status;
  std::int64_t waiting = hvd::waiting_newcomers();
  status = reduce(waiting, hvd::ReduceOp::kMax, "waiting");
  if (!status.ok()) return status;
  std::int64_t least_number = number();
  status = reduce(least_number, hvd::ReduceOp::kMin, "number");
  if (!status.ok()) return status;
  state.step = step;
  state.sum += step * step;
  newcomers_wait = waiting > 0;
  const Phase& phase = phases[static_cast<std::size_t>(state.phase)];
  const bool is_last = &phase == &phases.back();
  if (hvd::size() != phase.size || least_number < phase.least_number) {
    state.last_step = 0;
  } else if (!is_last) {
    ++state.phase;
    if (hvd::rank() == 0 && !phase.hosts.empty()) write_hosts(phase.hosts);
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

volatile std::sig_atomic_t is_told_to_leave = 0;

// Of this process, before a step of its own.
struct Death {
  std::int64_t step = -1;
  int signal = SIGKILL;
};

void run(const std::vector<Phase>& phases, const Death& death) {
  State state;
  std::int64_t made = 0;  // Steps of this process.
  bool in_step = false;
  bool newcomers_wait = false;
  while (state.last_step == 0 || state.step < state.last_step) {
    if (death.step == made + 1) std::raise(death.signal);
    if (is_told_to_leave != 0) std::exit(128 + SIGTERM);
    if (!in_step) {
      in_step = !recover(sync(state));
      if (in_step && is_newcomer() && state.step == 0) {
        std::fprintf(stderr, "the state is lost\n");
        std::exit(1);
      }
      continue;
    }
    if (recover(make_step(state, phases, newcomers_wait))) {
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
  if (std::getenv("IGNORE_SIGTERM") != nullptr) std::signal(SIGTERM, SIG_IGN);
  if (std::getenv("CATCH_SIGTERM") != nullptr) {
    std::signal(SIGTERM, [](int) { is_told_to_leave = 1; });
  }
  const char* restarts = std::getenv("HOROVODPP_RESTART_COUNT");
  const bool is_restart = restarts != nullptr && std::atoi(restarts) > 0;
  Death death;
  for (int i = 2; i < argc; ++i) {
    std::istringstream text(argv[i]);
    std::vector<int> words;
    for (std::string word; std::getline(text, word, ':');) {
      words.push_back(std::stoi(word));
    }
    if (words[0] != number() || is_restart) continue;
    death.step = words[1];
    if (words.size() > 2) death.signal = words[2];
  }
  if (is_newcomer() && std::getenv("NEWCOMERS_FAIL") != nullptr) return 3;
  hvd::throw_if_error(hvd::init());
  run(parse_phases(argv[1]), death);
  std::printf("number %d: rank %d of %d\n", number(), hvd::rank(), hvd::size());
  std::fflush(stdout);
  hvd::throw_if_error(hvd::shutdown());
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "elastic_program: %s\n", error.what());
  return 1;
}
