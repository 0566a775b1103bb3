// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/core/trace/recorder.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <new>

namespace hvd::trace {
namespace {

std::byte* map_shared(int fd) {
  void* const mapped =
      ::mmap(nullptr, kRingBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return mapped == MAP_FAILED ? nullptr : static_cast<std::byte*>(mapped);
}

std::byte* private_memory() {
  void* const mapped =
      ::mmap(nullptr, kRingBytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(mapped);
}

// Only a memfd, which has seals, can be a launcher's memory. A program may have
// opened a file under the number since.
bool can_be_memory(int fd) {
  struct stat found = {};
  return ::fcntl(fd, F_GET_SEALS) >= 0 && ::fstat(fd, &found) == 0 &&
         found.st_size >= static_cast<off_t>(kRingBytes);
}

bool is_alive(std::int64_t pid) {
  return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM;
}

// Several processes may inherit the memory. The first has it while it lives.
bool claim(std::byte* memory) {
  if (!RingReader::is_ring(memory)) return false;
  auto& pid = reinterpret_cast<RingHeader*>(memory)->pid;
  std::int64_t owner = pid.load();
  if (owner != 0 && owner != ::getpid() && is_alive(owner)) return false;
  return pid.compare_exchange_strong(owner, ::getpid());
}

// The launcher's memory; nullptr: it offers none to this process.
std::byte* launcher_memory(int fd) {
  if (!can_be_memory(fd)) return nullptr;
  std::byte* const memory = map_shared(fd);
  if (memory == nullptr) return nullptr;
  if (!claim(memory)) {
    ::munmap(memory, kRingBytes);
    return nullptr;
  }
  ::close(fd);
  return memory;
}

// The process's recorder in the launcher's memory, and whether a rank uses it.
// Never destroyed: the next job of the process goes on with it.
struct OfLauncher {
  Mutex mutex;
  Recorder* recorder ABSL_GUARDED_BY(mutex) = nullptr;
  pid_t owner ABSL_GUARDED_BY(mutex) = 0;
  bool is_used ABSL_GUARDED_BY(mutex) = false;

  void release() {
    MutexLock lock(mutex);
    is_used = false;
  }
};

OfLauncher& process() {
  static auto* const instance = new OfLauncher;
  return *instance;
}

}  // namespace

Recorder::Recorder(std::byte* memory) : memory_(memory), ring_(memory) {
  ring_.begin();
}

Recorder::~Recorder() { ::munmap(memory_, kRingBytes); }

std::shared_ptr<Recorder> Recorder::of_launcher(int fd) {
  OfLauncher& mine = process();
  MutexLock lock(mine.mutex);
  // A forked child looks for itself: its parent's memory is not its own.
  if (mine.owner != ::getpid()) {
    std::byte* const memory = launcher_memory(fd);
    mine.recorder = memory == nullptr ? nullptr : new Recorder(memory);
    mine.owner = ::getpid();
    mine.is_used = false;
  }
  if (mine.recorder == nullptr || mine.is_used) return nullptr;
  mine.is_used = true;
  return std::shared_ptr<Recorder>(mine.recorder,
                                   [](Recorder*) { process().release(); });
}

std::shared_ptr<Recorder> Recorder::open(int launcher) {
  if (launcher >= 0) {
    if (auto launchers = of_launcher(launcher)) return launchers;
  }
  return std::shared_ptr<Recorder>(new Recorder(private_memory()));
}

int Recorder::make_memory() {
  const int fd = ::memfd_create(kMemoryName, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return -1;
  const std::uint64_t magic = RingHeader::kMagic;
  // With a size that cannot change, no access by a reader can fail.
  if (::ftruncate(fd, static_cast<off_t>(kRingBytes)) == 0 &&
      ::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0 &&
      ::pwrite(fd, &magic, sizeof magic, 0) == sizeof magic) {
    return fd;
  }
  ::close(fd);
  return -1;
}

std::uint32_t Recorder::name(std::string_view operation,
                             std::string_view text) {
  std::string key(operation);
  key += '\0';
  key += text;
  MutexLock lock(mutex_);
  const auto found = names_.find(key);
  if (found != names_.end()) return found->second;
  const std::uint32_t number = ring_.add_name(operation, text);
  // Without room the table must not grow for ever, either.
  if (number != kNoName) names_.emplace(std::move(key), number);
  return number;
}

std::uint32_t Recorder::add_once(std::string_view text) {
  MutexLock lock(mutex_);
  return ring_.add_name("", text);
}

std::uint16_t Recorder::label(std::string_view text) {
  const std::uint32_t number = name("", text);
  constexpr std::uint32_t kMax = std::numeric_limits<std::uint16_t>::max();
  return static_cast<std::uint16_t>(number <= kMax ? number : kNoName);
}

}  // namespace hvd::trace
