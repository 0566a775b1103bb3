// SPDX-License-Identifier: Apache-2.0
// An NcclSession is the state that a rank's NCCL planes share: the library, a
// stream on each GPU, and the watch over running work. All communicators of a
// GPU use one stream. So calls of several process sets run in the order of the
// schedule, which is the same on all ranks. Out of order they could wait for
// each other.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "horovodpp/collective/nccl/api.h"
#include "horovodpp/collective/nccl/memory.h"
#include "horovodpp/collective/nccl/watch.h"
#include "horovodpp/collective/stream_throttle.h"
#include "horovodpp/device/cuda_graph.h"
#include "horovodpp/device/cuda_stream.h"
#include "horovodpp/device/gpus.h"

namespace hvd::collective {

// The collectives that use NCCL where possible. Equal on all ranks.
struct NcclUse {
  bool allreduce = true;
  bool allgather = true;
  bool broadcast = true;
  bool alltoall = true;
  bool reducescatter = true;

  bool any() const {
    return allreduce || allgather || broadcast || alltoall || reducescatter;
  }
};

class NcclSession {
 public:
  struct Options {
    std::string library = NcclLibrary::kFile;
    NcclUse use = {};
    // NCCL_MULTI_RANK_GPU_ENABLE.
    bool may_share_gpus = false;
    // How long NCCL may take to connect ranks.
    std::chrono::nanoseconds connect_timeout = std::chrono::seconds(30);
    // This rank's, also in its earlier jobs.
    std::shared_ptr<NcclArena> arena = std::make_shared<NcclArena>();
    // Receives the choices, for a log.
    std::function<void(const std::string& text)> report =
        [](const std::string&) {};
  };
  // `gpus` outlives this object.
  NcclSession(device::Gpus& gpus, Options options, NcclWatch::Job job)
      : gpus_(gpus),
        options_(std::move(options)),
        library_(options_.library),
        watch_(std::move(job)) {}

  device::Gpus& gpus() { return gpus_; }
  const Options& options() const { return options_; }
  NcclLibrary& library() { return library_; }
  NcclWatch& watch() { return watch_; }

  const std::shared_ptr<NcclArena>& arena() const { return options_.arena; }
  // Allocates on GPU `gpu`: in the arena if NCCL is used and can allocate.
  // Thread-safe.
  //   ResourceExhausted  the GPU has not enough memory left
  //   (errors)           CUDA's errors
  absl::StatusOr<std::shared_ptr<std::byte>> allocate(int gpu,
                                                      std::size_t bytes);

  // A stream of the highest priority, the same each time; never nullptr, and
  // valid as long as this object. For one thread.
  absl::StatusOr<device::CudaStream*> stream_on(int gpu) {
    return stream_in(streams_, gpu);
  }
  // The room in that stream.
  StreamThrottle& throttle_on(int gpu) { return throttles_[gpu]; }
  // Likewise, for captured calls: the stream takes part in a capture until that
  // ends.
  absl::StatusOr<device::CudaStream*> captured_stream_on(int gpu) {
    return stream_in(captured_streams_, gpu);
  }

  // The graphs captured in this job.
  const std::shared_ptr<device::CudaGraphs>& graphs() const { return graphs_; }

 private:
  using Streams = std::map<int, std::unique_ptr<device::CudaStream>>;
  absl::StatusOr<device::CudaStream*> stream_in(Streams& streams, int gpu);

  device::Gpus& gpus_;
  const Options options_;
  NcclLibrary library_;
  Streams streams_;
  std::map<int, StreamThrottle> throttles_;
  Streams captured_streams_;
  const std::shared_ptr<device::CudaGraphs> graphs_ =
      std::make_shared<device::CudaGraphs>();
  NcclWatch watch_;  // Ends first: its work is in the streams.
};

}  // namespace hvd::collective
