// SPDX-License-Identifier: Apache-2.0
// The functions of NCCL that horovodpp uses (horovodpp/collective/nccl/api.h), between GPUs
// that do not exist. Their use is checked more strictly than NCCL does.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "horovodpp/collective/nccl/api.h"
#include "horovodpp/core/half.h"
#include "test/support/fake_cuda/control.h"
#include "test/support/fake_nccl/control.h"
#include "test/support/fake_nccl/operation.h"
#include "test/support/fake_nccl/shared.h"

using hvd::collective::NcclComm;
using hvd::collective::NcclConfig;
using hvd::collective::NcclDType;
using hvd::collective::NcclOp;
using hvd::collective::NcclResult;
using hvd::collective::NcclUniqueId;
using hvd::collective::NcclWindow;
using hvd::device::CuAddress;
using hvd::device::CuStream;

namespace fake_nccl {
namespace {

using namespace hvd::collective;  // NOLINT: NCCL's numbers.

constexpr NcclOp kFirstOpOfUsers = 5;
constexpr int kMostLooksForGraphs = 20'000;

int number_from_environment(const char* name, int otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

// The stand-in for CUDA, which has been loaded by then.
template <typename Function>
Function* of_cuda(const char* name) {
  static void* const library = [] {
    const char* const file = std::getenv("FAKE_NCCL_CUDA");
    return dlopen(file != nullptr ? file : FAKE_CUDA_FILE,
                  RTLD_NOW | RTLD_LOCAL);
  }();
  return reinterpret_cast<Function*>(dlsym(library, name));
}

struct Fault {
  std::string kind = {};
  int rank = -1;
  int n = 0;
};

struct World {
  std::mutex mutex;
  Fault fault;
  std::atomic<unsigned> delay{
      static_cast<unsigned>(number_from_environment("FAKE_NCCL_DELAY", 0))};
  std::set<NcclComm> comms;
  std::map<std::uintptr_t, std::size_t> memory;  // Its own, with its sizes.
  std::map<std::uintptr_t, int> registered;      // How often.
  std::atomic<unsigned> made{0};
  // Communicators that ended while a graph had something of theirs, and memory that was
  // to be freed while it was registered.
  std::atomic<std::size_t> ended_too_early{0};

  World() {
    const char* const text = std::getenv("FAKE_NCCL_FAULT");
    if (text == nullptr) return;
    std::istringstream in(text);
    std::string number;
    std::getline(in, fault.kind, ':');
    std::getline(in, number, ':');
    fault.rank = std::atoi(number.c_str());
    std::getline(in, number, ':');
    fault.n = std::atoi(number.c_str());
  }
};

// Never destroyed: streams may be at work while the process ends.
World& world() {
  static World* const one = new World;
  return *one;
}

bool has_fault(const char* kind, int rank, int n) {
  World& all = world();
  const std::lock_guard lock(all.mutex);
  return all.fault.kind == kind && all.fault.rank == rank && all.fault.n == n;
}

// What the communicator and its work in streams share.
struct Connection {
  Connection(std::unique_ptr<Mapping> shared, int my_rank, int all_ranks,
             int on_device)
      : memory(std::move(shared)),
        rank(my_rank),
        ranks(all_ranks),
        device(on_device),
        exchange(*memory, my_rank, all_ranks, aborted) {}

  const std::unique_ptr<Mapping> memory;
  const int rank;
  const int ranks;
  const int device;
  std::atomic<bool> aborted{false};
  std::atomic<NcclResult> error{kNcclSuccess};
  Exchange exchange;             // Of the thread of the stream.
  int done = 0;                  // Likewise.
  std::atomic<int> captured{0};  // Groups that graphs have.
};

// A group on its way through a stream, once or, in a graph, often.
struct Launch {
  std::shared_ptr<Connection> by;
  std::vector<Operation> group;
  bool is_captured;

  static void release(void* argument) {
    const std::unique_ptr<Launch> launch(static_cast<Launch*>(argument));
    if (launch->is_captured) --launch->by->captured;
  }

  static int run(void* argument) {
    const auto* const launch = static_cast<const Launch*>(argument);
    Connection& by = *launch->by;
    const unsigned longest = world().delay.load();
    if (longest > 0) {
      thread_local std::minstd_rand random(static_cast<unsigned>(by.rank + 1));
      usleep(static_cast<useconds_t>(random()) % (longest + 1));
    }
    const int n = by.done++;
    const bool errs = has_fault("async error", by.rank, n);
    if (errs) by.error.store(kNcclSystemError);
    if (errs || has_fault("hang", by.rank, n)) {
      while (!by.aborted.load()) usleep(50);
    }
    if (!by.aborted.load() && !by.exchange.run(launch->group) &&
        !by.aborted.load()) {
      by.error.store(kNcclInvalidUsage);
    }
    return 0;
  }
};

}  // namespace
}  // namespace fake_nccl

namespace hvd::collective {
struct NcclWindowOfNccl {
  std::uintptr_t memory;
  std::size_t bytes;
};

struct NcclCommOfNccl {
  std::shared_ptr<fake_nccl::Connection> connection;
  bool is_made = false;
  bool is_finalizing = false;
  bool is_finalized = false;
  CuStream stream = nullptr;  // The only one that it may be used with.
  int polls = 0;              // "In progress" so many times still.
  std::vector<std::pair<CuStream, std::vector<fake_nccl::Operation>>> waiting;
  std::vector<NcclWindow> windows;
  std::vector<NcclWindow*>
      told;  // Who gets the handles that are not there yet.
  // Changed under the lock of the world: other ranks count them.
  std::map<NcclOp, double> factors;
  NcclOp next_op = fake_nccl::kFirstOpOfUsers;
  std::minstd_rand random;
};
}  // namespace hvd::collective

namespace fake_nccl {
namespace {

struct Grouped {
  NcclComm comm;
  CuStream stream;
  Operation operation;
};
thread_local int group_depth = 0;
thread_local std::vector<Grouped> grouped;
thread_local NcclResult group_error = kNcclSuccess;

bool exists(NcclComm comm) {
  const std::lock_guard lock(world().mutex);
  return world().comms.count(comm) > 0;
}

bool is_usable(NcclComm comm) {
  return exists(comm) && comm->is_made && comm->polls == 0 &&
         comm->told.empty() && !comm->is_finalizing;
}

bool is_capturing(CuStream stream) {
  return of_cuda<decltype(fake_cuda_is_capturing)>("fake_cuda_is_capturing")(
             stream) != 0;
}

void launch_waiting(NcclComm comm) {
  for (auto& [stream, group] : std::exchange(comm->waiting, {})) {
    const bool captured = is_capturing(stream);
    if (captured) ++comm->connection->captured;
    auto* const launch =
        new Launch{comm->connection, std::move(group), captured};
    of_cuda<decltype(fake_cuda_put_owned)>("fake_cuda_put_owned")(
        stream, &Launch::run, launch, &Launch::release);
  }
}

// NCCL, too, may still be at it when a call returns.
NcclResult under_way(NcclComm comm) {
  comm->polls = static_cast<int>(comm->random() % 3);
  if (comm->polls > 0) return kNcclInProgress;
  launch_waiting(comm);
  return kNcclSuccess;
}

NcclResult end_group() {
  if (std::exchange(group_error, kNcclSuccess) != kNcclSuccess) {
    grouped.clear();
    return kNcclInvalidUsage;
  }
  std::set<NcclComm> comms;
  for (Grouped& one : std::exchange(grouped, {})) {
    if (!is_capturing(one.stream)) {
      if (one.comm->stream != nullptr && one.comm->stream != one.stream) {
        return kNcclInvalidUsage;  // Not wrong for NCCL, but nothing we do.
      }
      one.comm->stream = one.stream;
    }
    auto& waiting = one.comm->waiting;
    if (comms.insert(one.comm).second) waiting.push_back({one.stream, {}});
    waiting.back().second.push_back(one.operation);
  }
  NcclResult result = kNcclSuccess;
  for (NcclComm comm : comms) result = std::max(result, under_way(comm));
  return result;
}

NcclResult refuse() {
  if (group_depth > 0) group_error = kNcclInvalidUsage;
  return kNcclInvalidArgument;
}

// All memory of an operation, of the communicator's GPU.
template <typename Pointer>
bool touch(Pointer& memory, std::size_t bytes, int device) {
  if (bytes == 0) return true;
  int found = -1;
  void* const place = of_cuda<decltype(fake_cuda_touch)>("fake_cuda_touch")(
      memory, bytes, &found);
  memory = static_cast<Pointer>(place);
  return place != nullptr && found == device;
}

// 0: in none.
std::uint64_t place_of(NcclComm comm, const void* memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  for (std::size_t i = 0; i < comm->windows.size(); ++i) {
    const NcclWindow window = comm->windows[i];
    if (window != nullptr && address >= window->memory &&
        address < window->memory + window->bytes) {
      return (std::uint64_t{i} + 1) << 40 | (address - window->memory);
    }
  }
  return 0;
}

void let_go(NcclWindow window) {
  const std::lock_guard lock(world().mutex);
  --world().registered[window->memory];
  delete window;
}

// What a call reads and writes.
struct Memory {
  const void* from;
  void* to;
};

NcclResult put(Operation operation, const Memory& memory, NcclComm comm,
               CuStream stream) {
  if (!is_usable(comm)) return refuse();
  operation.from = static_cast<const std::byte*>(memory.from);
  operation.to = static_cast<std::byte*>(memory.to);
  const Connection& connection = *comm->connection;
  const std::size_t bytes = operation.count * size_of(operation.type);
  const auto ranks = static_cast<std::size_t>(connection.ranks);
  const bool is_root = operation.peer == connection.rank;
  std::size_t from = bytes;
  std::size_t to = bytes;
  switch (operation.kind) {
    case Kind::kReduceScatter:
      from *= ranks;
      break;
    case Kind::kAllGather:
      to *= ranks;
      break;
    case Kind::kBroadcast:
      if (!is_root) from = 0;
      break;
    case Kind::kReduce:
      if (!is_root) to = 0;
      break;
    case Kind::kSend:
      to = 0;
      break;
    case Kind::kRecv:
      from = 0;
      break;
    default:
      break;
  }
  if (operation.peer < 0 || operation.peer >= connection.ranks ||
      !touch(operation.from, from, connection.device) ||
      !touch(operation.to, to, connection.device)) {
    return refuse();
  }
  if (operation.op >= kFirstOpOfUsers) {
    const auto found = comm->factors.find(operation.op);
    if (found == comm->factors.end()) return refuse();
    operation.factor = found->second;
    operation.op = kNcclSum;
  }
  const bool all_read = operation.kind != Kind::kBroadcast;
  const bool all_write = operation.kind != Kind::kReduce;
  if (all_read) operation.place = 3 * place_of(comm, memory.from);
  if (all_write) operation.place += place_of(comm, memory.to);
  grouped.push_back({comm, stream, operation});
  return group_depth > 0 ? kNcclSuccess : end_group();
}

// Whether all ranks have come, each with a GPU of its own; an error if not.
NcclResult look_at_others(Connection& connection) {
  if (has_fault("init hang", connection.rank, 0)) return kNcclInProgress;
  if (has_fault("init error", connection.rank, 0)) return kNcclSystemError;
  const bool may_share =
      number_from_environment("NCCL_MULTI_RANK_GPU_ENABLE", 0) != 0 &&
      number_from_environment("FAKE_NCCL_VERSION", 22803) >= 23000;
  std::set<int> gpus;
  for (int rank = 0; rank < connection.ranks; ++rank) {
    const int gpu = (*connection.memory)->slots[rank].joined.load();
    if (gpu == 0) return kNcclInProgress;
    if (!gpus.insert(gpu).second && !may_share) return kNcclInvalidUsage;
  }
  return kNcclSuccess;
}

// Whether all ranks have registered as much as this one; an error if it is not alike.
NcclResult look_at_windows(NcclComm comm) {
  Shared& shared = *comm->connection->memory->operator->();
  const Slot& mine = shared.slots[comm->connection->rank];
  const int count = mine.windows.load();
  for (int rank = 0; rank < comm->connection->ranks; ++rank) {
    const Slot& theirs = shared.slots[rank];
    if (theirs.windows.load() < count) return kNcclInProgress;
    if (std::memcmp(theirs.window_bytes, mine.window_bytes,
                    static_cast<std::size_t>(count) *
                        sizeof(mine.window_bytes[0])) != 0) {
      return kNcclInvalidArgument;
    }
  }
  std::size_t next = comm->windows.size() - comm->told.size();
  for (NcclWindow* const place : std::exchange(comm->told, {})) {
    *place = comm->windows[next++];
  }
  return kNcclSuccess;
}

bool all_have_left(Connection& connection) {
  for (int rank = 0; rank < connection.ranks; ++rank) {
    if ((*connection.memory)->slots[rank].left.load() == 0) return false;
  }
  return true;
}

}  // namespace
}  // namespace fake_nccl

using namespace fake_nccl;  // NOLINT: what follows is C.

extern "C" {

void fake_nccl_fault(const char* kind, int rank, int n) {
  const std::lock_guard lock(world().mutex);
  world().fault = {kind, rank, n};
}

void fake_nccl_set_delay(unsigned microseconds) {
  world().delay = microseconds;
}

std::size_t fake_nccl_objects() {
  const std::lock_guard lock(world().mutex);
  std::size_t count = world().comms.size() + world().ended_too_early;
  for (const NcclComm comm : world().comms) count += comm->factors.size();
  return count + world().memory.size();
}

std::size_t fake_nccl_windows() {
  const std::lock_guard lock(world().mutex);
  std::size_t count = 0;
  for (const auto& [memory, times] : world().registered) {
    count += static_cast<std::size_t>(times);
  }
  return count;
}

NcclResult ncclGetVersion(int* version) {
  *version = number_from_environment("FAKE_NCCL_VERSION", 22803);
  return kNcclSuccess;
}

const char* ncclGetErrorString(NcclResult result) {
  switch (result) {
    case kNcclSystemError:
      return "unhandled system error";
    case kNcclInvalidUsage:
      return "invalid usage";
    case kNcclInvalidArgument:
      return "invalid argument";
    case kNcclRemoteError:
      return "remote process exited or there was a network error";
    default:
      return "another error";
  }
}

const char* ncclGetLastError(NcclComm) { return "as the stand-in sees it"; }

NcclResult ncclGetUniqueId(NcclUniqueId* id) {
  return Mapping::make(id) ? kNcclSuccess : kNcclSystemError;
}

NcclResult ncclCommInitRankConfig(NcclComm* comm, int ranks, NcclUniqueId id,
                                  int rank, NcclConfig* config) {
  const int device =
      of_cuda<decltype(fake_cuda_current_device)>("fake_cuda_current_device")();
  if (device < 0 || rank < 0 || rank >= ranks || ranks > kMostRanks ||
      config->magic != kNcclMagic || config->blocking != 0) {
    return kNcclInvalidArgument;
  }
  std::unique_ptr<Mapping> memory = Mapping::open(id);
  if (memory == nullptr) return kNcclSystemError;
  auto* const made = new hvd::collective::NcclCommOfNccl;
  made->connection =
      std::make_shared<Connection>(std::move(memory), rank, ranks, device);
  made->random.seed(++world().made);
  (*made->connection->memory)->slots[rank].joined.store(device + 1);
  {
    const std::lock_guard lock(world().mutex);
    world().comms.insert(made);
  }
  *comm = made;
  return kNcclInProgress;
}

NcclResult ncclCommGetAsyncError(NcclComm comm, NcclResult* error) {
  if (!exists(comm)) return kNcclInvalidArgument;
  Connection& connection = *comm->connection;
  *error = kNcclSuccess;
  if (!comm->is_made) {
    *error = look_at_others(connection);
    comm->is_made = *error == kNcclSuccess;
  } else if (comm->polls > 0) {
    *error = kNcclInProgress;
    if (--comm->polls == 0) launch_waiting(comm);
  } else if (!comm->told.empty()) {
    *error = look_at_windows(comm);
  } else if (const NcclResult now = connection.error.load()) {
    *error = now;
  } else if (comm->is_finalizing && !comm->is_finalized) {
    comm->is_finalized = all_have_left(connection);
    if (!comm->is_finalized) *error = kNcclInProgress;
  }
  return kNcclSuccess;
}

NcclResult ncclCommFinalize(NcclComm comm) {
  if (!is_usable(comm)) return kNcclInvalidUsage;
  comm->is_finalizing = true;
  (*comm->connection->memory)->slots[comm->connection->rank].left.store(1);
  return kNcclInProgress;
}

NcclResult ncclCommAbort(NcclComm comm) {
  {
    const std::lock_guard lock(world().mutex);
    if (world().comms.erase(comm) == 0) return kNcclInvalidArgument;
  }
  comm->connection->aborted.store(true);
  // NCCL, too, waits for the launches of graphs that have something of it; and for the
  // graphs themselves for ever.
  for (int looks = 0; comm->connection->captured.load() > 0; ++looks) {
    if (looks == kMostLooksForGraphs) {
      ++world().ended_too_early;
      break;
    }
    usleep(100);
  }
  for (NcclWindow window : comm->windows) {
    if (window != nullptr) let_go(window);
  }
  delete comm;
  return kNcclSuccess;
}

NcclResult ncclCommDestroy(NcclComm comm) {
  if (!exists(comm) || !comm->is_finalized) return kNcclInvalidUsage;
  return ncclCommAbort(comm);
}

NcclResult ncclMemAlloc(void** memory, std::size_t bytes) {
  CuAddress address = 0;
  if (of_cuda<int(CuAddress*, std::size_t)>("cuMemAlloc_v2")(&address, bytes)) {
    return kNcclSystemError;
  }
  const std::lock_guard lock(world().mutex);
  world().memory[address] = bytes;
  *memory = reinterpret_cast<void*>(address);
  return kNcclSuccess;
}

NcclResult ncclMemFree(void* memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  {
    const std::lock_guard lock(world().mutex);
    if (world().memory.count(address) == 0) return kNcclInvalidArgument;
    if (world().registered[address] > 0) {
      ++world().ended_too_early;
      return kNcclInvalidUsage;
    }
    world().memory.erase(address);
    world().registered.erase(address);
  }
  const bool is_free = of_cuda<int(CuAddress)>("cuMemFree_v2")(address) == 0;
  return is_free ? kNcclSuccess : kNcclSystemError;
}

NcclResult ncclCommWindowRegister(NcclComm comm, void* memory,
                                  std::size_t bytes, NcclWindow* window,
                                  int flags) {
  // Some of a group may be under way.
  const bool may = is_usable(comm) || (exists(comm) && !comm->told.empty());
  if (!may || flags != kNcclWindowSymmetric) return kNcclInvalidUsage;
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  Slot& slot = (*comm->connection->memory)->slots[comm->connection->rank];
  const int number = slot.windows.load();
  {
    const std::lock_guard lock(world().mutex);
    const auto found = world().memory.find(address);
    if (found == world().memory.end() || found->second < bytes ||
        number == kMostWindows) {
      return kNcclInvalidArgument;
    }
    ++world().registered[address];
  }
  comm->windows.push_back(
      new hvd::collective::NcclWindowOfNccl{address, bytes});
  comm->told.push_back(window);
  slot.window_bytes[number] = bytes;
  slot.windows.store(number + 1);
  return kNcclInProgress;
}

NcclResult ncclCommWindowDeregister(NcclComm comm, NcclWindow window) {
  if (!is_usable(comm)) return kNcclInvalidUsage;
  for (NcclWindow& one : comm->windows) {
    if (one != window || window == nullptr) continue;
    let_go(std::exchange(one, nullptr));
    return kNcclSuccess;
  }
  return kNcclInvalidArgument;
}

NcclResult ncclRedOpCreatePreMulSum(NcclOp* op, void* scalar, NcclDType type,
                                    int, NcclComm comm) {
  if (!is_usable(comm)) return kNcclInvalidUsage;
  double factor = 0;
  if (type == kNcclFloat64) {
    std::memcpy(&factor, scalar, sizeof(factor));
  } else if (type == kNcclFloat32) {
    float value = 0;
    std::memcpy(&value, scalar, sizeof(value));
    factor = value;
  } else if (type == kNcclFloat16) {
    hvd::f16 value;
    std::memcpy(&value, scalar, sizeof(value));
    factor = static_cast<float>(value);
  } else if (type == kNcclBfloat16) {
    hvd::bf16 value;
    std::memcpy(&value, scalar, sizeof(value));
    factor = static_cast<float>(value);
  } else {
    return kNcclInvalidArgument;
  }
  *op = comm->next_op++;
  const std::lock_guard lock(world().mutex);
  comm->factors[*op] = factor;
  return kNcclSuccess;
}

NcclResult ncclRedOpDestroy(NcclOp op, NcclComm comm) {
  if (!exists(comm)) return kNcclInvalidArgument;
  const std::lock_guard lock(world().mutex);
  return comm->factors.erase(op) > 0 ? kNcclSuccess : kNcclInvalidArgument;
}

NcclResult ncclGroupStart() {
  ++group_depth;
  return kNcclSuccess;
}

NcclResult ncclGroupEnd() {
  if (group_depth == 0) return kNcclInvalidUsage;
  return --group_depth > 0 ? kNcclSuccess : end_group();
}

NcclResult ncclAllReduce(const void* from, void* to, std::size_t count,
                         NcclDType type, NcclOp op, NcclComm comm,
                         CuStream stream) {
  return put({.kind = Kind::kAllReduce, .count = count, .type = type, .op = op},
             {from, to}, comm, stream);
}

NcclResult ncclReduce(const void* from, void* to, std::size_t count,
                      NcclDType type, NcclOp op, int root, NcclComm comm,
                      CuStream stream) {
  return put({.kind = Kind::kReduce,
              .count = count,
              .type = type,
              .op = op,
              .peer = root},
             {from, to}, comm, stream);
}

NcclResult ncclReduceScatter(const void* from, void* to, std::size_t count,
                             NcclDType type, NcclOp op, NcclComm comm,
                             CuStream stream) {
  return put(
      {.kind = Kind::kReduceScatter, .count = count, .type = type, .op = op},
      {from, to}, comm, stream);
}

NcclResult ncclBroadcast(const void* from, void* to, std::size_t count,
                         NcclDType type, int root, NcclComm comm,
                         CuStream stream) {
  return put(
      {.kind = Kind::kBroadcast, .count = count, .type = type, .peer = root},
      {from, to}, comm, stream);
}

NcclResult ncclAllGather(const void* from, void* to, std::size_t count,
                         NcclDType type, NcclComm comm, CuStream stream) {
  return put({.kind = Kind::kAllGather, .count = count, .type = type},
             {from, to}, comm, stream);
}

NcclResult ncclSend(const void* from, std::size_t count, NcclDType type,
                    int peer, NcclComm comm, CuStream stream) {
  return put({.kind = Kind::kSend, .count = count, .type = type, .peer = peer},
             {from, nullptr}, comm, stream);
}

NcclResult ncclRecv(void* to, std::size_t count, NcclDType type, int peer,
                    NcclComm comm, CuStream stream) {
  return put({.kind = Kind::kRecv, .count = count, .type = type, .peer = peer},
             {nullptr, to}, comm, stream);
}

}  // extern "C"
