// SPDX-License-Identifier: Apache-2.0
// The library that --debug-on-crash preloads into ranks (crash_library.h). It
// handles the signals of a crash. It lets horovodrun print the stacks of the
// process (stacks.h), or else prints its own stack, and dies by the signal.
//
// It changes no process that does not crash, except that these signals have a
// handler. It leaves handlers alone that are there before it, and a program may
// set its own. It links the C library alone, and a handler calls only functions
// that a signal may interrupt; backtrace() is called last, under a limit.
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char** environ;

namespace {

constexpr int kSignals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr int kMaxFrames = 64;
constexpr size_t kMaxVariables = 4096;
// More than horovodrun itself waits for a debugger.
constexpr int kLimitSeconds = 45;
constexpr int kBacktraceSeconds = 5;

char program[4096];                // horovodrun; empty: none.
char* variables[kMaxVariables];    // Its environment.
alignas(16) char stack[64 << 10];  // For a handler after a stack overflow.
int crashed = 0;                   // A thread has crashed.
int crash_signal = 0;

void write_text(const char* text) {
  const ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
  static_cast<void>(ignored);
}

// The decimal digits, in `text`.
const char* digits_of(long number, char (&text)[24]) {
  char* at = text + sizeof text;
  *--at = '\0';
  do {
    *--at = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number > 0);
  return at;
}

// Without this library, which the debugger needs not.
void copy_environment() {
  size_t count = 0;
  for (char** one = environ; *one != nullptr && count + 1 < kMaxVariables;
       ++one) {
    if (strncmp(*one, "LD_PRELOAD=", 11) != 0) variables[count++] = *one;
  }
  variables[count] = nullptr;
}

// The status of `pid`; -1: it has not ended in time, or another thread has
// reaped it.
int wait_for(pid_t pid) {
  timespec begin = {};
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (;;) {
    int status = 0;
    const pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended == pid) return status;
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (ended < 0 || now.tv_sec - begin.tv_sec > kLimitSeconds) break;
    const timespec pause = {0, 20'000'000};
    nanosleep(&pause, nullptr);
  }
  kill(pid, SIGKILL);
  return -1;
}

// Whether horovodrun has printed the stacks.
bool print_stacks() {
  if (program[0] == '\0') return false;
  char pid[24];
  char thread[24];
  char signal[24];
  const char* const argv[] = {program,
                              "--print-stacks",
                              digits_of(getpid(), pid),
                              digits_of(syscall(SYS_gettid), thread),
                              digits_of(crash_signal, signal),
                              nullptr};
  copy_environment();
  // The kernel may let only parents attach, unless the process allows others.
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  // fork() takes locks of malloc, which the crash may have left held.
  const pid_t child = vfork();
  if (child == 0) {
    execve(program, const_cast<char* const*>(argv), variables);
    _exit(127);
  }
  return child > 0 && wait_for(child) == 0;
}

void die(int signal) {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigaction(signal, &action, nullptr);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  raise(signal);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

// backtrace() may hang after a crash within the dynamic loader.
void die_at_limit(int) { die(crash_signal); }

void print_own_stack() {
  struct sigaction action = {};
  action.sa_handler = die_at_limit;
  sigaction(SIGALRM, &action, nullptr);
  alarm(kBacktraceSeconds);
  void* frames[kMaxFrames];
  const int count = backtrace(frames, kMaxFrames);
  write_text("horovodrun: the stack of the thread that crashed:\n");
  backtrace_symbols_fd(frames, count, STDERR_FILENO);
  alarm(0);
}

void handle(int signal) {
  if (__atomic_exchange_n(&crashed, 1, __ATOMIC_ACQ_REL) != 0) {
    for (;;) pause();  // The first thread ends the process.
  }
  crash_signal = signal;
  if (!print_stacks()) print_own_stack();
  die(signal);
}

[[gnu::constructor]] void install() {
  if (const char* path = getenv("HOROVODRUN_CRASH_PROGRAM")) {
    strncpy(program, path, sizeof program - 1);
  }
  // Its first call loads a library, which a handler must not.
  void* frame[1];
  backtrace(frame, 1);
  stack_t present = {};
  if (sigaltstack(nullptr, &present) == 0 &&
      (present.ss_flags & SS_DISABLE) != 0) {
    stack_t own = {};
    own.ss_sp = stack;
    own.ss_size = sizeof stack;
    sigaltstack(&own, nullptr);
  }
  for (const int signal : kSignals) {
    struct sigaction action = {};
    if (sigaction(signal, nullptr, &action) != 0 ||
        action.sa_handler != SIG_DFL) {
      continue;
    }
    action.sa_handler = handle;
    action.sa_flags = SA_ONSTACK;
    sigaction(signal, &action, nullptr);
  }
}

}  // namespace
