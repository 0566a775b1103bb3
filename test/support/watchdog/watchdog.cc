// SPDX-License-Identifier: Apache-2.0
#include "test/support/watchdog/watchdog.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "absl/debugging/symbolize.h"

// Not in a header, and not intercepted by sanitizers, which would install their
// own handlers in front of ours.
extern "C" int __sigaction(int, const struct sigaction*, struct sigaction*);

namespace {

// SIGSETXID of glibc.
const int kSignal = __SIGRTMIN + 1;
// Any other signal: shows how glibc returns from handlers.
const int kLender = __SIGRTMIN + 20;
constexpr int kSecondsForAnswer = 2;
constexpr int kSecondsForStacks = 20;
// Other ranks of the job, which end with this one, write their stacks.
constexpr int kMillisecondsForOthers = 2000;

std::array<char, 512> g_name;
int g_seconds = 0;
int g_output = STDERR_FILENO;
timer_t g_timer;
std::atomic<bool> g_is_over{false};
std::atomic<pid_t> g_asked{0};
std::atomic<pid_t> g_answered{0};

// All code below runs in a signal handler: it must not allocate or lock.

__attribute__((format(printf, 1, 2))) void say(const char* format, ...) {
  std::array<char, 1024> line;
  va_list arguments;
  va_start(arguments, format);
  const int size = vsnprintf(line.data(), line.size(), format, arguments);
  va_end(arguments);
  const auto most = static_cast<int>(line.size()) - 1;
  if (write(g_output, line.data(),
            static_cast<std::size_t>(size < most ? size : most)) < 0) {
    _exit(1);
  }
}

pid_t my_id() { return static_cast<pid_t>(syscall(SYS_gettid)); }

// The first line of a file; "" if the file cannot be read.
struct Line {
  std::array<char, 512> text{};

  __attribute__((format(printf, 2, 3))) explicit Line(const char* format, ...) {
    std::array<char, 128> path;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path.data(), path.size(), format, arguments);
    va_end(arguments);
    const int file = open(path.data(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    const ssize_t size = read(file, text.data(), text.size() - 1);
    close(file);
    text[size < 0 ? 0 : static_cast<std::size_t>(size)] = '\0';
    if (char* const end = std::strchr(text.data(), '\n')) *end = '\0';
  }
};

_Unwind_Reason_Code say_frame(_Unwind_Context* context, void* number) {
  auto& count = *static_cast<int*>(number);
  auto* const address = reinterpret_cast<void*>(_Unwind_GetIP(context));
  if (address == nullptr || count >= 64) return _URC_END_OF_STACK;
  std::array<char, 400> name;
  const auto* const within = static_cast<const char*>(address) - 1;
  const bool is_known = absl::Symbolize(within, name.data(), name.size());
  say("    #%d %p %s\n", count++, address, is_known ? name.data() : "?");
  return _URC_NO_REASON;
}

void say_stack() {
  const pid_t thread = my_id();
  const Line name("/proc/self/task/%d/comm", thread);
  say("  thread %d, %s\n", thread, name.text.data());
  int count = 0;
  _Unwind_Backtrace(say_frame, &count);
}

void nap(int milliseconds) { poll(nullptr, 0, milliseconds); }

void say_stack_of(pid_t thread) {
  g_asked.store(thread);
  syscall(SYS_tgkill, getpid(), thread, kSignal);
  for (int i = 0; i < 1000 * kSecondsForAnswer; ++i) {
    if (g_answered.load() == thread) return;
    nap(1);
  }
  const Line name("/proc/self/task/%d/comm", thread);
  const Line stat("/proc/self/task/%d/stat", thread);
  const Line place("/proc/self/task/%d/wchan", thread);
  const char* const state = std::strrchr(stat.text.data(), ')');
  say("  thread %d, %s, does not answer: state%.2s, in %s\n", thread,
      name.text.data(), state == nullptr ? "" : state + 1, place.text.data());
}

// Calls visit(number) for each entry of a folder whose name is a number.
template <typename Visit>
void for_each_number(const char* folder, const Visit& visit) {
  const int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  // struct linux_dirent64: the length is at offset 16, the name at 19.
  alignas(8) std::array<char, 4096> entries;
  long size = 0;
  while ((size = syscall(SYS_getdents64, file, entries.data(),
                         entries.size())) > 0) {
    std::uint16_t length = 0;
    for (long at = 0; at < size; at += length) {
      const char* const entry = entries.data() + at;
      std::memcpy(&length, entry + 16, sizeof length);
      if (const int number = std::atoi(entry + 19); number > 0) visit(number);
    }
  }
  close(file);
}

void end_descendants(pid_t parent) {
  std::array<char, 64> folder;
  snprintf(folder.data(), folder.size(), "/proc/%d/task", parent);
  for_each_number(folder.data(), [&](pid_t thread) {
    const Line children("/proc/%d/task/%d/children", parent, thread);
    for (const char* at = children.text.data(); *at != '\0';) {
      char* end = nullptr;
      const auto child = static_cast<pid_t>(std::strtol(at, &end, 10));
      if (end == at || child <= 0) break;
      at = end + (*end == ' ' ? 1 : 0);
      end_descendants(child);
      const Line name("/proc/%d/comm", child);
      const Line place("/proc/%d/wchan", child);
      say("  descendant %d, %s, in %s, is ended\n", child, name.text.data(),
          place.text.data());
      kill(child, SIGKILL);
    }
  });
}

const char* rank_of_job() {
  for (const char* name :
       {"HOROVOD_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"}) {
    if (const char* const rank = getenv(name)) return rank;
  }
  return "";
}

void end() {
  if (g_is_over.exchange(true)) {
    say("  the stacks take too long\n");
    _exit(1);
  }
  const char* const rank = rank_of_job();
  say("\n%s%s%s%s takes more than %d s. The threads of process %d:\n",
      *rank == '\0' ? "" : "rank ", rank, *rank == '\0' ? "" : ": ",
      g_name.data(), g_seconds, getpid());
  for_each_number("/proc/self/task", [](pid_t thread) {
    if (thread != my_id()) say_stack_of(thread);
  });
  say_stack();
  end_descendants(getpid());
  say("[  FAILED  ] %s, which took more than %d s\n", g_name.data(), g_seconds);
  nap(kMillisecondsForOthers);
  _exit(1);
}

void on_signal(int, siginfo_t* info, void*) {
  const int error = errno;
  if (info->si_code == SI_TIMER) end();
  if (info->si_code == SI_TKILL && g_asked.load() == my_id()) {
    say_stack();
    g_answered.store(my_id());
  }
  errno = error;
}

// The kernel's layout; the mask is one word.
struct KernelAction {
  void (*handler)();
  unsigned long flags;
  void (*restorer)();
  unsigned long mask;
};

void install() {
  struct sigaction action = {};
  action.sa_sigaction = on_signal;
  // A second signal interrupts a handler that hangs.
  action.sa_flags = SA_SIGINFO | SA_RESTART | SA_NODEFER;
  __sigaction(kLender, &action, nullptr);
  KernelAction kernel = {};
  syscall(SYS_rt_sigaction, kLender, nullptr, &kernel, sizeof kernel.mask);
  action.sa_handler = SIG_DFL;
  __sigaction(kLender, &action, nullptr);
  syscall(SYS_rt_sigaction, kSignal, &kernel, nullptr, sizeof kernel.mask);
  sigevent event = {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = kSignal;
  if (timer_create(CLOCK_MONOTONIC, &event, &g_timer) != 0) std::abort();
}

}  // namespace

void hvd_watch_writes_to(int descriptor) { g_output = descriptor; }

void hvd_watch(const char* name, int seconds) {
  static const bool installed = [] {
    install();
    return true;
  }();
  static_cast<void>(installed);
  const itimerspec never = {};
  timer_settime(g_timer, 0, &never, nullptr);
  snprintf(g_name.data(), g_name.size(), "%s", name);
  g_seconds = seconds;
  const itimerspec limit = {.it_interval = {kSecondsForStacks, 0},
                            .it_value = {seconds, 0}};
  timer_settime(g_timer, 0, &limit, nullptr);
}
