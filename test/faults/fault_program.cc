// SPDX-License-Identifier: Apache-2.0
// A rank of a job with injected faults: it reduces tensors step by step like a
// training program, and records what happens.
//
//   fault_program EVENTS [name=value ...]
//
//   seconds=S        how long it trains unless something happens (20)
//   work=cycle       the same tensors in every step, so that a cycle forms
//   work=changing    new names in every step, so that no cycle forms
//   work=single      one large tensor at a time
//   victims=R,R      the ranks that cause a fault in themselves; none if empty
//   fault=abort|throw|exit|quick_exit|kill|stuck     which; code=N for exits
//   fault=no_threads                   it can start no thread in init()
//   when=start|init|steps|shutdown     before init(), within it, in step=N,
//                     within shutdown(); delay_us=N after that
//   survivors=return|throw|quick_exit  how a rank with an error ends
//   survivors=reform                   or that it goes on
//   refuse=pidfd     as in a container that forbids pidfd_open(2)
//   held=R,R         the ranks that MPI holds in a call from SIGUSR1 on
//
// Every event is one line of JSON in the pipe EVENTS, with the rank, its pid
// and the monotonic time. An error has its whole text.
#include <fcntl.h>
#include <horovodpp/horovodpp.h>
#include <mpi.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "horovodpp/core/status.h"
#include "test/faults/held_by_mpi.h"
#include "test/support/no_threads.h"
#include "test/support/refused_call.h"

namespace {

constexpr int kSurvivorsCode = 5;
// Steps after which a cycle has begun.
constexpr int kWarmSteps = 6;

class Options {
 public:
  Options(int argc, char** argv) {
    for (int i = 2; i < argc; ++i) {
      const std::string word = argv[i];
      const std::size_t equals = word.find('=');
      if (equals == std::string::npos) {
        throw std::invalid_argument("'" + word + "' is not name=value");
      }
      values_[word.substr(0, equals)] = word.substr(equals + 1);
    }
  }

  std::string text(const std::string& name, const std::string& none) const {
    const auto found = values_.find(name);
    return found == values_.end() ? none : found->second;
  }
  double number(const std::string& name, double none) const {
    const auto found = values_.find(name);
    return found == values_.end() ? none : std::stod(found->second);
  }
  bool lists(const std::string& name, int rank) const {
    std::istringstream stream(text(name, ""));
    for (std::string item; std::getline(stream, item, ',');) {
      if (std::stoi(item) == rank) return true;
    }
    return false;
  }

 private:
  std::map<std::string, std::string> values_;
};

std::string quoted(const std::string& text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') json += '\\';
    json += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return json + "\"";
}

std::string host() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

class Diary {
 public:
  Diary(const char* path, int rank)
      : pipe_(::open(path, O_WRONLY | O_CLOEXEC)), rank_(rank) {
    if (pipe_ < 0) throw std::runtime_error("cannot open the pipe of events");
  }

  // Lines up to PIPE_BUF bytes do not mix with other ranks' lines.
  void tell(const std::string& event, const std::string& text = "") const {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    std::ostringstream line;
    line << "{\"event\": \"" << event << "\", \"rank\": " << rank_
         << ", \"pid\": " << ::getpid() << ", \"host\": " << quoted(host())
         << ", \"ns\": "
         << std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()
         << ", \"text\": " << quoted(text.substr(0, 1500)) << "}\n";
    const std::string bytes = line.str();
    while (::write(pipe_, bytes.data(), bytes.size()) < 0 && errno == EINTR) {
    }
  }

 private:
  const int pipe_;
  const int rank_;
};

[[noreturn]] void sleep_forever() {
  for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

[[noreturn]] void harm_oneself(const Options& options, const Diary& diary) {
  const std::string fault = options.text("fault", "kill");
  const int code = static_cast<int>(options.number("code", 0));
  diary.tell("fault", fault);
  if (fault == "abort") std::abort();
  if (fault == "throw") throw std::runtime_error("a bug of the program");
  if (fault == "exit") std::exit(code);
  if (fault == "quick_exit") ::_exit(code);
  if (fault == "stuck") sleep_forever();
  std::raise(SIGKILL);
  std::abort();
}

// Victims of init and shutdown die by another thread in the middle of that
// call.
class Fate {
 public:
  Fate(const Options& options, const Diary& diary, int rank)
      : options_(options),
        diary_(diary),
        is_victim_(options.lists("victims", rank)),
        when_(options.text("when", "steps")),
        step_(static_cast<int>(options.number("step", 20))) {}

  void begins(const std::string& phase) const {
    if (!is_victim_ || when_ != phase) return;
    const auto end = std::chrono::steady_clock::now() + delay();
    std::thread([this, end] {
      std::this_thread::sleep_until(end);
      harm_oneself(options_, diary_);
    }).detach();
  }
  // A victim that finishes the phase early waits for its fault.
  void ends(const std::string& phase) const {
    if (is_victim_ && when_ == phase) sleep_forever();
  }
  void step(int step) const {
    if (is_victim_ && when_ == "steps" && step == step_) {
      harm_oneself(options_, diary_);
    }
  }

 private:
  std::chrono::microseconds delay() const {
    return std::chrono::microseconds(
        static_cast<std::int64_t>(options_.number("delay_us", 0)));
  }

  const Options& options_;
  const Diary& diary_;
  const bool is_victim_;
  const std::string when_;
  const int step_;
};

class Trainer {
 public:
  Trainer(const Options& options, int number)
      : work_(options.text("work", "cycle")), mine_(double(1 << number)) {
    const std::vector<std::int64_t> sizes =
        work_ == "single"
            ? std::vector<std::int64_t>{1 << 19}
            : std::vector<std::int64_t>{16, 900, 30'000, 7, 120'000};
    for (const std::int64_t size : sizes) {
      gradients_.emplace_back(static_cast<std::size_t>(size));
    }
  }

  // Makes one step. `*more` tells whether all ranks want another.
  absl::Status step(int number, bool* more) {
    const std::string suffix =
        work_ == "changing" ? "." + std::to_string(number) : "";
    std::vector<hvd::Future<void>> pending;
    for (std::size_t i = 0; i < gradients_.size(); ++i) {
      std::fill(gradients_[i].begin(), gradients_[i].end(), mine_);
      pending.push_back(hvd::allreduce_async_(
          hvd::TensorView::of(gradients_[i].data(), {static_cast<std::int64_t>(
                                                        gradients_[i].size())}),
          {.name = "g" + std::to_string(i) + suffix,
           .op = hvd::ReduceOp::kSum}));
    }
    for (hvd::Future<void>& one : pending) {
      HVD_RETURN_IF_ERROR(one.wait());
    }
    check_sums();
    float go_on = *more ? 1 : 0;
    HVD_RETURN_IF_ERROR(
        hvd::allreduce_(hvd::TensorView::of(&go_on, {}),
                        {.name = "more" + suffix, .op = hvd::ReduceOp::kMin}));
    *more = go_on > 0;
    return absl::OkStatus();
  }

 private:
  // A sum identifies its addends: each rank of the first job adds its own bit.
  void check_sums() const {
    const auto sum = static_cast<unsigned>(gradients_[0].front());
    const bool right =
        __builtin_popcount(sum) == hvd::size() &&
        (sum & static_cast<unsigned>(mine_)) != 0 &&
        std::all_of(gradients_.begin(), gradients_.end(), [&](const auto& one) {
          return std::all_of(one.begin(), one.end(),
                             [&](double x) { return x == sum; });
        });
    if (!right) throw std::runtime_error("wrong sum " + std::to_string(sum));
  }

  const std::string work_;
  const double mine_;
  std::vector<std::vector<double>> gradients_;
};

// Starts when the job has warmed up, and continues in the survivors' job.
class TimeToTrain {
 public:
  explicit TimeToTrain(double seconds) : seconds_(seconds) {}

  void begin() {
    if (end_) return;
    end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                              std::chrono::duration<double>(seconds_));
  }
  bool is_left() const { return !end_ || Clock::now() < *end_; }

 private:
  using Clock = std::chrono::steady_clock;

  const double seconds_;
  std::optional<Clock::time_point> end_;
};

// Trains until the time is up on one rank (OK) or an error.
absl::Status train(Trainer& trainer, const Fate& fate, const Diary& diary,
                   TimeToTrain& time) {
  bool more = true;
  for (int step = 0; more; ++step) {
    if (step == kWarmSteps) {
      diary.tell("training");
      time.begin();
    }
    fate.step(step);
    more = time.is_left();
    HVD_RETURN_IF_ERROR(trainer.step(step, &more));
    // Stands in for the computation of a training step.
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  return absl::OkStatus();
}

void survive(const Options& options) {
  const std::string how = options.text("survivors", "return");
  if (how == "throw") throw std::runtime_error("the job is broken");
  if (how == "quick_exit") ::_exit(kSurvivorsCode);
}

// A "no_threads" victim enters as if its user already had the maximum number of
// processes.
absl::Status enter(const Options& options, const Diary& diary, int number) {
  if (options.text("fault", "") != "no_threads" ||
      !options.lists("victims", number)) {
    return hvd::init();
  }
  int provided = 0;  // MPI needs threads of its own.
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
  diary.tell("fault", "no threads");
  const hvd::NoThreads none;
  return hvd::init();
}

int live(const Options& options, const Diary& diary, int number) {
  const Fate fate(options, diary, number);
  const auto fail = [&](const absl::Status& status) {
    diary.tell("error", std::string(status.message()));
    survive(options);
    return kSurvivorsCode;
  };
  diary.tell("started");
  fate.begins("start");
  fate.ends("start");
  fate.begins("init");
  const absl::Status entered = enter(options, diary, number);
  if (!entered.ok()) return fail(entered);
  fate.ends("init");
  Trainer trainer(options, number);
  TimeToTrain time(options.number("seconds", 20));
  for (;;) {
    const absl::Status status = train(trainer, fate, diary, time);
    if (status.ok()) break;
    if (options.text("survivors", "return") != "reform") return fail(status);
    diary.tell("error", std::string(status.message()));
    if (const absl::Status formed = hvd::reform(); !formed.ok()) {
      return fail(formed);
    }
    diary.tell("formed", std::to_string(hvd::size()));
  }
  fate.begins("shutdown");
  const absl::Status status = hvd::shutdown();
  if (!status.ok()) return fail(status);
  fate.ends("shutdown");
  diary.tell("finished");
  return 0;
}

// The rank in the first job, known before init().
int rank_number() {
  for (const char* name :
       {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "HOROVOD_RANK"}) {
    if (const char* text = std::getenv(name)) return std::atoi(text);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const Options options(argc, argv);
  const Diary diary(argv[1], rank_number());
  if (options.text("refuse", "") == "pidfd" &&
      !hvd::refuse_call(SYS_pidfd_open, EPERM)) {
    throw std::runtime_error("this system has no filters of system calls");
  }
  if (options.lists("held", rank_number())) hvd::be_held_by_mpi_from_sigusr1();
  return live(options, diary, rank_number());
}
