// SPDX-License-Identifier: Apache-2.0
// The ranks of a test job. The first argument chooses the test:
//
//   idle SECONDS   enter the job and sleep; print the CPU seconds of the sleep
//   late RANK      all ranks reduce once, RANK four seconds after the others
//   steps COUNT    all ranks reduce 1 MB in each of COUNT steps
//   victim RANK    all ranks reduce in a loop; RANK kills itself in the middle
//   stop RANK      the same, but RANK exits with code 3
//   reduce -1      all ranks print "reduces", and reduce until the job breaks
//   unready RANK   RANK kills itself while the others wait for a tensor that it
//                  has not submitted
//   suspend RANK   the same, but RANK suspends itself (SIGSTOP)
//   close RANK     the same, but RANK closes all descriptors of its process, as
//                  a library that makes it a daemon does, opens others under
//                  their numbers, and continues
//
// A survivor prints "seconds <from the death to the error>" and the errors of
// the pending and of a later call. It exits with code 5.
#include <horovodpp/horovodpp.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) +
           1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void idle(int seconds) {
  const double before = cpu_seconds();
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
  std::printf("cpu %.6f\n", cpu_seconds() - before);
}

int be_late(int rank) {
  if (hvd::rank() == rank) std::this_thread::sleep_for(std::chrono::seconds(4));
  float value = 1;
  const hvd::TensorView view = hvd::TensorView::of(&value, {1});
  return hvd::allreduce_(view, {.name = "awaited"}).ok() ? 0 : 1;
}

int take_steps(int count) {
  std::vector<float> gradient(250'000);
  const hvd::TensorView view = hvd::TensorView::of(gradient.data(), {250'000});
  for (int i = 0; i < count; ++i) {
    hvd::throw_if_error(hvd::allreduce_(view, {.name = "gradient"}));
    hvd::throw_if_error(hvd::mark_step());
  }
  hvd::throw_if_error(hvd::shutdown());
  return 0;
}

double wall_seconds() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// Prints a whole line at once, so that the ranks' lines do not mix.
void say(const std::string& event, const hvd::Status& status) {
  const std::string line = "rank " + std::to_string(hvd::rank()) + " " + event +
                           ": " + std::string(status.message()) + "\n";
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

[[noreturn]] void die(const std::string& how) {
  std::printf("death %.6f\n", wall_seconds());
  std::fflush(stdout);
  if (how == "stop") std::exit(3);
  std::raise(SIGKILL);
  std::abort();
}

void close_descriptors() {
  constexpr int kFirst = 3;
  constexpr int kMaxDescriptors = 1024;
  constexpr int kOpened = 20;
  for (int number = kFirst; number < kMaxDescriptors; ++number) {
    ::close(number);
  }
  for (int i = 0; i < kOpened; ++i) ::eventfd(0, 0);
}

int lose(const std::string& how, int victim) {
  constexpr int kSteps = 50;
  const bool dies = hvd::rank() == victim;
  std::vector<float> values(1 << 20, 1);
  const hvd::TensorView view = hvd::TensorView::of(values.data(), {1 << 20});
  for (int step = 0;; ++step) {
    if (dies && step == kSteps) {
      if (how == "suspend") {
        std::raise(SIGSTOP);
      } else if (how == "close") {
        close_descriptors();
      } else if (how == "busy") {
        std::thread([] { die("busy"); }).detach();
      } else {
        die(how);
      }
    }
    const hvd::Status status = hvd::allreduce_(view, {.name = "x"});
    if (status.ok()) continue;
    std::printf("error %.6f\n", wall_seconds());
    say("pending", status);
    say("later", hvd::allreduce_(view, {.name = "y"}));
    return 5;
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 3) return 2;
  hvd::throw_if_error(hvd::init());
  hvd::throw_if_error(hvd::barrier());
  if (std::strcmp(argv[1], "idle") == 0) {
    idle(std::atoi(argv[2]));
    return 0;
  }
  if (std::strcmp(argv[1], "reduce") == 0) {
    std::printf("reduces\n");
    std::fflush(stdout);
  }
  if (std::strcmp(argv[1], "late") == 0) return be_late(std::atoi(argv[2]));
  if (std::strcmp(argv[1], "steps") == 0) return take_steps(std::atoi(argv[2]));
  return lose(argv[1], std::atoi(argv[2]));
} catch (const std::exception& error) {
  std::fprintf(stderr, "job_program: %s\n", error.what());
  return 1;
}
