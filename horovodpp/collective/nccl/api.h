// SPDX-License-Identifier: Apache-2.0
// The NcclApi is the table of NCCL's functions that the library uses, filled
// when NCCL's library is loaded. The declarations are our own, so one binary
// runs with and without NCCL, and is built without its header. A test compares
// them with the real ones.
//
// Names, arguments and numbers are NCCL's; see its documentation.
#pragma once

#include <climits>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "horovodpp/core/thread/mutex.h"
#include "horovodpp/device/cuda_api.h"

namespace hvd::collective {

using NcclResult = int;  // NCCL's enumerations are plain numbers here.
using NcclDType = int;
using NcclOp = int;
using NcclComm = struct NcclCommOfNccl*;
using NcclWindow = struct NcclWindowOfNccl*;

struct NcclUniqueId {
  char bytes[128];
};

// The first fields of NCCL's structure. NCCL reads `size` bytes; later fields
// have their defaults.
struct NcclConfig {
  std::size_t size;
  unsigned magic;
  unsigned version;
  int blocking;
  int cga_cluster_size;
};
// The version of NCCL 2.14, which introduced the structure. (The last field
// came with 2.17, and is ignored in a structure of this version.)
inline constexpr unsigned kNcclConfigVersion = 21400;
inline constexpr unsigned kNcclMagic = 0xcafebeef;
inline constexpr NcclConfig kNcclWithoutBlocking = {
    sizeof(NcclConfig), kNcclMagic, kNcclConfigVersion, 0, INT_MIN};

inline constexpr NcclResult kNcclSuccess = 0;
inline constexpr NcclResult kNcclSystemError = 2;
inline constexpr NcclResult kNcclInvalidArgument = 4;
inline constexpr NcclResult kNcclInvalidUsage = 5;
inline constexpr NcclResult kNcclRemoteError = 6;
inline constexpr NcclResult kNcclInProgress = 7;

inline constexpr NcclOp kNcclSum = 0;
inline constexpr NcclOp kNcclProd = 1;
inline constexpr NcclOp kNcclMax = 2;
inline constexpr NcclOp kNcclMin = 3;

inline constexpr NcclDType kNcclInt8 = 0;
inline constexpr NcclDType kNcclUint8 = 1;
inline constexpr NcclDType kNcclInt32 = 2;
inline constexpr NcclDType kNcclInt64 = 4;
inline constexpr NcclDType kNcclFloat16 = 6;
inline constexpr NcclDType kNcclFloat32 = 7;
inline constexpr NcclDType kNcclFloat64 = 8;
inline constexpr NcclDType kNcclBfloat16 = 9;

inline constexpr int kNcclScalarHostImmediate = 1;
inline constexpr int kNcclWindowSymmetric = 1;

#define HVD_NCCL_FUNCTIONS(F)                                                  \
  F(ncclGetVersion, NcclResult, int* version)                                  \
  F(ncclGetErrorString, const char*, NcclResult result)                        \
  F(ncclGetLastError, const char*, NcclComm comm)                              \
  F(ncclGetUniqueId, NcclResult, NcclUniqueId* id)                             \
  F(ncclCommInitRankConfig, NcclResult, NcclComm* comm, int ranks,             \
    NcclUniqueId id, int rank, NcclConfig* config)                             \
  F(ncclCommGetAsyncError, NcclResult, NcclComm comm, NcclResult* error)       \
  F(ncclCommFinalize, NcclResult, NcclComm comm)                               \
  F(ncclCommDestroy, NcclResult, NcclComm comm)                                \
  F(ncclCommAbort, NcclResult, NcclComm comm)                                  \
  F(ncclRedOpCreatePreMulSum, NcclResult, NcclOp* op, void* scalar,            \
    NcclDType type, int residence, NcclComm comm)                              \
  F(ncclRedOpDestroy, NcclResult, NcclOp op, NcclComm comm)                    \
  F(ncclGroupStart, NcclResult)                                                \
  F(ncclGroupEnd, NcclResult)                                                  \
  F(ncclAllReduce, NcclResult, const void* from, void* to, std::size_t count,  \
    NcclDType type, NcclOp op, NcclComm comm, device::CuStream stream)         \
  F(ncclReduce, NcclResult, const void* from, void* to, std::size_t count,     \
    NcclDType type, NcclOp op, int root, NcclComm comm,                        \
    device::CuStream stream)                                                   \
  F(ncclReduceScatter, NcclResult, const void* from, void* to,                 \
    std::size_t count_of_each, NcclDType type, NcclOp op, NcclComm comm,       \
    device::CuStream stream)                                                   \
  F(ncclBroadcast, NcclResult, const void* from, void* to, std::size_t count,  \
    NcclDType type, int root, NcclComm comm, device::CuStream stream)          \
  F(ncclAllGather, NcclResult, const void* from, void* to,                     \
    std::size_t count_of_each, NcclDType type, NcclComm comm,                  \
    device::CuStream stream)                                                   \
  F(ncclSend, NcclResult, const void* from, std::size_t count, NcclDType type, \
    int peer, NcclComm comm, device::CuStream stream)                          \
  F(ncclRecv, NcclResult, void* to, std::size_t count, NcclDType type,         \
    int peer, NcclComm comm, device::CuStream stream)

// Functions of later versions, with the first version that has them.
#define HVD_NCCL_LATER_FUNCTIONS(F)                                         \
  F(21900, ncclMemAlloc, NcclResult, void** memory, std::size_t bytes)      \
  F(21900, ncclMemFree, NcclResult, void* memory)                           \
  F(22700, ncclCommWindowRegister, NcclResult, NcclComm comm, void* memory, \
    std::size_t bytes, NcclWindow* window, int flags)                       \
  F(22700, ncclCommWindowDeregister, NcclResult, NcclComm comm,             \
    NcclWindow window)

struct NcclApi {
#define HVD_FUNCTION_POINTER(name, result, ...) \
  result (*name)(__VA_ARGS__) = nullptr;
  HVD_NCCL_FUNCTIONS(HVD_FUNCTION_POINTER)
#undef HVD_FUNCTION_POINTER
  // nullptr if the library has no such function.
#define HVD_LATER_POINTER(since, name, result, ...) \
  result (*name)(__VA_ARGS__) = nullptr;
  HVD_NCCL_LATER_FUNCTIONS(HVD_LATER_POINTER)
#undef HVD_LATER_POINTER

  bool has_memory() const {
    return ncclMemAlloc != nullptr && ncclMemFree != nullptr;
  }
  bool has_windows() const {
    return has_memory() && ncclCommWindowRegister != nullptr &&
           ncclCommWindowDeregister != nullptr;
  }

  // Drops functions that are newer than `version`.
  void keep_up_to(int version);

  // Loads the functions from `file`, a path or a name that the dynamic linker
  // knows.
  //   NotFound  there is no such file, or it lacks a function of the oldest
  //             version; names it
  static absl::StatusOr<NcclApi> load(const std::string& file);
};

// The NcclLibrary gives access to NCCL in this process: its functions, its
// version, and errors as text. It loads NCCL at the first use, so a program
// without tensors on GPUs never loads it.
//
//   HVD_ASSIGN_OR_RETURN(const NcclApi* nccl, library.api());
//
// Thread-safe.
class NcclLibrary {
 public:
  static constexpr const char* kFile = "libnccl.so.2";
  // 2.14: the first version that creates communicators without blocking.
  static constexpr int kOldestVersion = 21400;
  // 2.30: the first version that lets ranks share a GPU, if so configured.
  static constexpr int kSharingVersion = 23000;

  explicit NcclLibrary(std::string file = kFile) : file_(std::move(file)) {}

  // Valid as long as this object; never nullptr. The same answer each time.
  //   NotFound            there is no library; the message names the file and
  //                       says what installs it
  //   FailedPrecondition  the library is too old
  absl::StatusOr<const NcclApi*> api();
  // 22703 is 2.27.3; 0 without a library.
  int version();

 private:
  struct Loaded {
    NcclApi api = {};
    int version = 0;
    absl::Status status = {};
  };
  const Loaded& loaded();
  static Loaded load(const std::string& file);

  const std::string file_;
  Mutex mutex_;
  std::unique_ptr<const Loaded> loaded_ ABSL_GUARDED_BY(mutex_);
};

// "2.27.3".
std::string nccl_version_text(int version);

// OK, or an Internal error "<call>: <NCCL's words>". `comm` may be nullptr.
absl::Status status_of(const NcclApi& api, NcclResult result, const char* call,
                       NcclComm comm = nullptr);

}  // namespace hvd::collective
