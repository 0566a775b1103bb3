// SPDX-License-Identifier: Apache-2.0
#include "test/benchmark/peers/harness.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <thread>
#include <vector>

namespace hvd::benchmark {
namespace {

constexpr std::size_t kBackToBackBytes = 4096;
constexpr int kWarmUps = 10;
constexpr double kSampleUs = 2000;  // Of calls timed together.
constexpr double kMaxCalls = 2000;
constexpr int kEstimates = 3;
constexpr double kFewestSamples = 5;
constexpr double kMaxSamples = 200;
constexpr std::chrono::milliseconds kSettling(200);
constexpr std::chrono::seconds kIdleness(2);
constexpr std::chrono::milliseconds kLateness(300);

struct Measured {
  std::string work;
  double first_us = 0;
  std::vector<double> us = {};
};

double microseconds_of(clockid_t clock) {
  timespec time = {};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) * 1e6 +
         static_cast<double>(time.tv_nsec) * 1e-3;
}

template <typename Action>
double time_of(clockid_t clock, const Action& action) {
  const double start = microseconds_of(clock);
  action();
  return microseconds_of(clock) - start;
}

class Stopwatch {
 public:
  Stopwatch(Side& side, const Work& work, Task& task)
      : side_(side),
        task_(task),
        back_to_back_(work.all_bytes() <= kBackToBackBytes) {}

  // As many samples as fit into the time, estimated from a few calls in a row:
  // a single call after a pause takes longer.
  std::vector<double> samples(double seconds) {
    double one = 0;
    for (int i = 0; i < kWarmUps; ++i) one = agreed(sample(1));
    int calls = 1;
    for (int i = 0; back_to_back_ && i < kEstimates; ++i) {
      calls = static_cast<int>(std::clamp(kSampleUs / one, 1.0, kMaxCalls));
      one = agreed(sample(calls));
    }
    const double count =
        std::clamp(seconds * 1e6 / (one * calls), kFewestSamples, kMaxSamples);
    std::vector<double> all;
    for (int i = 0; i < static_cast<int>(count); ++i) {
      all.push_back(sample(calls));
    }
    return all;
  }

 private:
  double agreed(double mine) { return std::max(side_.greatest(mine), 0.05); }

  double sample(int calls) {
    if (!back_to_back_) task_.refill();
    side_.barrier();
    const double all = time_of(CLOCK_MONOTONIC, [&] {
      for (int i = 0; i < calls; ++i) task_.run();
    });
    return all / calls;
  }

  Side& side_;
  Task& task_;
  const bool back_to_back_;
};

// The processor time of an idle rank after some work.
double idle_cpu(Task& task) {
  for (int i = 0; i < 100; ++i) task.run();
  std::this_thread::sleep_for(kSettling);
  return time_of(CLOCK_PROCESS_CPUTIME_ID,
                 [] { std::this_thread::sleep_for(kIdleness); });
}

// The processor time of a rank in a call that rank 0 enters late.
double waiting_cpu(Side& side, Task& task) {
  for (int i = 0; i < 100; ++i) task.run();
  side.barrier();
  if (side.rank() == 0) std::this_thread::sleep_for(kLateness);
  const double cpu = time_of(CLOCK_PROCESS_CPUTIME_ID, [&] { task.run(); });
  return side.rank() == 0 ? 0 : cpu;
}

Measured measure(Side& side, const Work& work, double seconds) {
  const bool is_idle = work.operation == "idle";
  const bool is_late = work.operation == "late";
  Work made = work;
  if (is_idle || is_late) made.operation = "allreduce";
  Measured measured = {.work = work.text};
  side.barrier();
  std::unique_ptr<Task> task;
  measured.first_us = time_of(CLOCK_MONOTONIC, [&] {
    task = side.make(made);
    if (task == nullptr) return;
    task->refill();
    task->run();
  });
  if (task == nullptr) return measured;
  if (!task->is_right()) throw std::runtime_error("the result is wrong");
  if (is_idle) {
    measured.us = {idle_cpu(*task)};
  } else if (is_late) {
    measured.us = {waiting_cpu(side, *task)};
  } else {
    measured.us = Stopwatch(side, work, *task).samples(seconds);
  }
  // No rank sets up the next work while another still uses this one.
  side.barrier();
  return measured;
}

void write(const std::string& path, const std::vector<Measured>& all) {
  std::ofstream file(path + ".new");
  file << "{";
  for (std::size_t i = 0; i < all.size(); ++i) {
    file << (i == 0 ? "\n" : ",\n") << " \"" << all[i].work
         << "\": {\"first_us\": " << all[i].first_us << ", \"us\": [";
    for (std::size_t j = 0; j < all[i].us.size(); ++j) {
      file << (j == 0 ? "" : ", ") << all[i].us[j];
    }
    file << "]}";
  }
  file << "\n}\n";
  file.close();
  if (!file.good() || std::rename((path + ".new").c_str(), path.c_str()) != 0) {
    throw std::runtime_error("cannot write " + path);
  }
}

}  // namespace

int measure_all(Side& side, int argc, char** argv) {
  if (argc == 1) return 0;
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s [FOLDER SECONDS WORK...]\n", argv[0]);
    return 2;
  }
  const std::string folder = argv[1];
  const double seconds = std::stod(argv[2]);
  std::vector<Measured> all;
  for (int i = 3; i < argc; ++i) {
    const std::optional<Work> work = parse_work(argv[i]);
    if (!work) {
      throw std::runtime_error(std::string(argv[i]) +
                               " is not of the form allreduce.name:1024x1000");
    }
    all.push_back(measure(side, *work, seconds));
    write(folder + "/" + std::to_string(side.rank()) + ".json", all);
  }
  return 0;
}

}  // namespace hvd::benchmark
