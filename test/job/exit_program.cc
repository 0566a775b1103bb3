// SPDX-License-Identifier: Apache-2.0
// Ranks of a job that fails, although each rank reaches the end of its program.
// The first argument says how the job fails:
//
//   stall    the last rank submits nothing until the job is given up
//   abort    the last rank breaks the job
//   stopped  all leave the job; then the last rank kills itself
//   closed   likewise, but it closes all descriptors of its process instead
//
// A survivor reports that main returns, and reports from an atexit() handler,
// from a static destructor and by unflushed text. Its exit code is 10 plus its
// rank.
#include <horovodpp/horovodpp.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

int rank_here = -1;

void say(const char* what) { std::printf("rank %d %s\n", rank_here, what); }

struct Static {
  ~Static() { say("destroyed"); }
} static_object;

void wait_for_the_end() {
  while (hvd::current_runtime().status().ok()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

int end(const std::string& how) {
  const bool is_last = hvd::rank() == hvd::size() - 1;
  if (how == "stopped") {
    hvd::throw_if_error(hvd::shutdown());
    if (is_last) std::raise(SIGKILL);
    return 10 + rank_here;
  }
  if (how == "closed") {
    constexpr int kMaxDescriptors = 1024;
    for (int number = 3; is_last && number < kMaxDescriptors; ++number) {
      ::close(number);
    }
    hvd::throw_if_error(hvd::shutdown());
    return 10 + rank_here;
  }
  if (is_last && how == "abort") hvd::current_runtime().abort("has had enough");
  if (is_last) {
    wait_for_the_end();
    return 10 + rank_here;
  }
  float value = 1;
  const hvd::Status status =
      hvd::allreduce_(hvd::TensorView::of(&value, {}), {.name = "x"});
  return status.code() == hvd::StatusCode::kAborted ? 10 + rank_here : 1;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) return 2;
  std::atexit([] { say("at exit"); });
  hvd::throw_if_error(hvd::init());
  rank_here = hvd::rank();
  hvd::barrier().IgnoreError();  // The last rank may already be past.
  return end(argv[1]);
} catch (const std::exception& error) {
  std::fprintf(stderr, "exit_program: %s\n", error.what());
  return 1;
}
