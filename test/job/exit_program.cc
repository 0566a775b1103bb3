// SPDX-License-Identifier: Apache-2.0
// Ranks of a job that fails, which come to the end of their programs all the
// same. The first argument says how it fails:
//   stall    the last rank submits nothing, until the job is given up
//   abort    the last rank breaks the job
//   stopped  all leave the job; then the last rank kills itself
//   closed   likewise, and it closes all descriptors of its process instead
// Whoever lives says so when main returns, in a handler of atexit(), in a
// destructor of static life and in text that nobody flushes; its exit code is 10
// and its rank.
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
    constexpr int kMostDescriptors = 1024;
    for (int number = 3; is_last && number < kMostDescriptors; ++number) {
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
  hvd::barrier().IgnoreError();  // The last rank may be past it already.
  return end(argv[1]);
} catch (const std::exception& error) {
  std::fprintf(stderr, "exit_program: %s\n", error.what());
  return 1;
}
