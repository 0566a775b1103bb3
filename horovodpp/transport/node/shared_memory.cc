// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/transport/node/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>
#include <fstream>
#include <future>
#include <limits>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/system/file_error.h"
#include "horovodpp/core/thread/threads.h"

namespace hvd::transport {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
// MADV_COLLAPSE, since Linux 6.1; C libraries define it later.
constexpr int kCollapse = 25;

// Closes its descriptor unless that is released.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

absl::Status exhausted(std::size_t bytes, const std::string& why) {
  return absl::ResourceExhaustedError(
      absl::StrCat("no shared memory of ", bytes, " bytes: ", why));
}

std::optional<std::uint64_t> number_in(const char* path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

// Memory left on the machine, or under the container's limit.
std::uint64_t available_memory() {
  std::uint64_t available = std::numeric_limits<std::uint64_t>::max();
  std::ifstream meminfo("/proc/meminfo");
  std::string word;
  while (meminfo >> word) {
    std::uint64_t kilobytes = 0;
    if (word == "MemAvailable:" && meminfo >> kilobytes) {
      available = kilobytes * 1024;
      break;
    }
  }
  const auto limit = number_in("/sys/fs/cgroup/memory.max");
  const auto used = number_in("/sys/fs/cgroup/memory.current");
  if (limit && used) {
    available = std::min(available, *limit - std::min(*limit, *used));
  }
  return available;
}

// Check first: the kernel does not refuse pages of a memfd; it kills processes
// to free memory.
absl::Status set_size(int descriptor, std::size_t bytes) {
  const std::uint64_t available = available_memory();
  if (bytes > available ||
      bytes > static_cast<std::size_t>(std::numeric_limits<off_t>::max())) {
    return exhausted(bytes, absl::StrCat(available, " bytes are available"));
  }
  if (::ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
    return exhausted(bytes, errno == EFBIG
                                ? "this process may have no file of that size; "
                                  "raise its limit (ulimit -f)"
                                : std::strerror(errno));
  }
  return absl::OkStatus();
}

// Allocates the missing pages.
absl::Status allocate(int descriptor, std::size_t bytes) {
  // In steps, because a signal restarts fallocate.
  constexpr std::size_t kStep = std::size_t{16} << 20;
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t step = std::min(kStep, bytes - done);
    if (::fallocate(descriptor, 0, static_cast<off_t>(done),
                    static_cast<off_t>(step)) == 0) {
      done += step;
    } else if (errno != EINTR) {
      return exhausted(bytes, std::strerror(errno));
    }
  }
  return absl::OkStatus();
}

// Allocates the missing pages and maps all. Returns false if this kernel
// cannot, or memory is short: some pages may then be missing. If all pages
// exist, kRead suffices and takes a third of the time: it maps many at once,
// writable if the mapping is.
enum Populate : int {
  kRead = MADV_POPULATE_READ,
  kWrite = MADV_POPULATE_WRITE
};
bool populate(std::byte* data, std::size_t bytes, Populate how) {
  return ::madvise(data, bytes, how) == 0;
}

// Processor time of this thread.
std::chrono::nanoseconds thread_time() {
  timespec time = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) +
         std::chrono::nanoseconds(time.tv_nsec);
}

// Allocates whole huge pages, in a tenth of the time of small ones.
// MADV_COLLAPSE works even if the kernel gives no huge pages by itself. Stops
// when huge pages take as long as small ones, as on virtual machines that
// return free pages to their host. Small pages then fill the rest.
void make_huge(std::byte* data, std::size_t bytes) {
  constexpr std::chrono::microseconds kMaxTimePerPage(600);
  constexpr std::size_t kMaxAtOnce = 8;
  const std::size_t all = bytes / kHugePage;
  for (std::size_t done = 0, count = 1; done < all; done += count) {
    if (done > 0) count = std::min(kMaxAtOnce, all - done);
    std::byte* const first = data + done * kHugePage;
    const auto start = thread_time();
    // Each huge page is collapsed from small pages, at least one of which must
    // exist.
    for (std::size_t i = 0; i < count; ++i) {
      if (!populate(first + i * kHugePage, 1, kWrite)) return;
    }
    if (::madvise(first, count * kHugePage, kCollapse) != 0) return;
    if (thread_time() - start > count * kMaxTimePerPage) return;
  }
}

// How to allocate the pages of a mapping.
struct Allocation {
  Populate how;
  SharedMemory::Pages pages;
};

bool make_pages(std::byte* data, std::size_t bytes, Allocation allocation) {
  if (allocation.pages == SharedMemory::Pages::kHuge) make_huge(data, bytes);
  return populate(data, bytes, allocation.how);
}

// The same with several threads: allocating a page takes longer than filling
// it.
bool populate_together(std::byte* data, std::size_t bytes,
                       Allocation allocation) {
  constexpr std::size_t kPart = std::size_t{32} << 20;
  constexpr std::size_t kMaxThreads = 4;
  const auto cores = static_cast<std::size_t>(cores_for_ranks());
  const std::size_t threads = std::min({bytes / kPart, kMaxThreads, cores});
  std::vector<std::future<bool>> others;
  std::size_t begin = 0;
  try {
    for (; others.size() + 1 < threads; begin += kPart) {
      others.push_back(std::async(std::launch::async, make_pages, data + begin,
                                  kPart, allocation));
    }
  } catch (const std::system_error&) {  // No more threads available.
  }
  bool all = make_pages(data + begin, bytes - begin, allocation);
  for (std::future<bool>& other : others) all = other.get() && all;
  return all;
}

// Maps the file at an address aligned for huge pages, if it is long enough for
// one.
void* map_aligned(int descriptor, std::size_t bytes, int protection) {
  if (bytes < kHugePage) {
    return ::mmap(nullptr, bytes, protection, MAP_SHARED, descriptor, 0);
  }
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t length = (bytes + page - 1) / page * page;
  void* const room = ::mmap(nullptr, length + kHugePage, PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return MAP_FAILED;
  auto* const begin = static_cast<std::byte*>(room);
  const std::size_t head = -reinterpret_cast<std::uintptr_t>(begin) % kHugePage;
  std::byte* const end = begin + head + length;
  if (head > 0) ::munmap(begin, head);
  if (head < kHugePage) ::munmap(end, kHugePage - head);
  void* const memory = ::mmap(begin + head, bytes, protection,
                              MAP_SHARED | MAP_FIXED, descriptor, 0);
  if (memory == MAP_FAILED) {
    const int why = errno;
    ::munmap(begin + head, length);
    errno = why;
  }
  return memory;
}

struct Mapped {
  std::byte* data;
  bool is_populated;
};

absl::StatusOr<Mapped> map(int descriptor, std::size_t bytes, int protection,
                           Allocation allocation) {
  void* const memory = map_aligned(descriptor, bytes, protection);
  if (memory == MAP_FAILED) return exhausted(bytes, std::strerror(errno));
  // Both are optional: a kernel may support neither.
  ::madvise(memory, bytes, MADV_HUGEPAGE);
  auto* const data = static_cast<std::byte*>(memory);
  return Mapped{data, populate_together(data, bytes, allocation)};
}

}  // namespace

std::string SharedMemory::Ticket::to_string() const {
  return absl::StrCat(pid, " ", descriptor, " ", device, " ", file, " ", bytes);
}

absl::StatusOr<SharedMemory::Ticket> SharedMemory::Ticket::from_string(
    const std::string& text) {
  Ticket ticket;
  const std::vector<std::string> fields = absl::StrSplit(text, ' ');
  if (fields.size() != 5 || !absl::SimpleAtoi(fields[0], &ticket.pid) ||
      !absl::SimpleAtoi(fields[1], &ticket.descriptor) ||
      !absl::SimpleAtoi(fields[2], &ticket.device) ||
      !absl::SimpleAtoi(fields[3], &ticket.file) ||
      !absl::SimpleAtoi(fields[4], &ticket.bytes)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is no ticket for shared memory"));
  }
  return ticket;
}

absl::StatusOr<std::unique_ptr<SharedMemory>> SharedMemory::create(
    std::size_t bytes, Pages pages) {
  Descriptor descriptor(
      ::memfd_create("horovodpp", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (descriptor.get() < 0) return exhausted(bytes, std::strerror(errno));
  const FileSizeSignal as_error;
  HVD_RETURN_IF_ERROR(set_size(descriptor.get(), bytes));
  if (::fcntl(descriptor.get(), F_ADD_SEALS,
              F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return errno_error("fcntl(F_ADD_SEALS)");
  }
  struct stat about = {};
  if (::fstat(descriptor.get(), &about) != 0) return errno_error("fstat");
  HVD_ASSIGN_OR_RETURN(
      const Mapped mapped,
      map(descriptor.get(), bytes, PROT_READ | PROT_WRITE, {kWrite, pages}));
  const Ticket ticket = {.pid = ::getpid(),
                         .descriptor = descriptor.release(),
                         .device = about.st_dev,
                         .file = about.st_ino,
                         .bytes = bytes};
  std::unique_ptr<SharedMemory> memory(new SharedMemory(ticket, mapped.data));
  // Only after the mapping has requested huge pages, which go only to places
  // without pages.
  if (!mapped.is_populated) {
    HVD_RETURN_IF_ERROR(allocate(ticket.descriptor, bytes));
  }
  return memory;
}

absl::StatusOr<std::unique_ptr<SharedMemory>> SharedMemory::attach(
    const Ticket& ticket, bool read_only) {
  const std::string path =
      absl::StrCat("/proc/", ticket.pid, "/fd/", ticket.descriptor);
  const Descriptor descriptor(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (descriptor.get() < 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "process ", ::getpid(), " cannot open the shared memory of process ",
        ticket.pid, " (", path, ": ", std::strerror(errno),
        "); run the ranks of a node as one user and in one PID namespace"));
  }
  struct stat about = {};
  if (::fstat(descriptor.get(), &about) != 0) return errno_error("fstat");
  if (about.st_dev != ticket.device || about.st_ino != ticket.file ||
      about.st_size < 0 ||
      static_cast<std::size_t>(about.st_size) != ticket.bytes) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, " is not the shared memory that process ", ticket.pid,
        " offered; are the ranks of this node in one PID namespace?"));
  }
  HVD_ASSIGN_OR_RETURN(const Mapped mapped,
                       map(descriptor.get(), ticket.bytes,
                           read_only ? PROT_READ : PROT_READ | PROT_WRITE,
                           {kRead, Pages::kAny}));
  Ticket mine = ticket;
  mine.descriptor = -1;
  return std::unique_ptr<SharedMemory>(new SharedMemory(mine, mapped.data));
}

SharedMemory::~SharedMemory() {
  close_descriptor();
  ::munmap(data_, ticket_.bytes);
}

// The program may have closed the descriptor, and another file may have its
// number.
void SharedMemory::close_descriptor() {
  const int descriptor = std::exchange(ticket_.descriptor, -1);
  struct stat about = {};
  if (descriptor >= 0 && ::fstat(descriptor, &about) == 0 &&
      about.st_dev == ticket_.device && about.st_ino == ticket_.file) {
    ::close(descriptor);
  }
}

}  // namespace hvd::transport
