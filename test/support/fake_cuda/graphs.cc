// SPDX-License-Identifier: Apache-2.0
// The functions of CUDA's driver for graphs that are captured from streams.
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "test/support/fake_cuda/capture.h"
#include "test/support/fake_cuda/world.h"

using namespace fake_cuda;  // NOLINT: C follows.

namespace {

constexpr int kGlobal = 0;

thread_local int mode_of_thread = kGlobal;

// The capture of an existing stream; nullptr: none. Called under the lock.
std::shared_ptr<Capture> capture_of(CuStream stream) {
  return world().streams.count(stream) > 0 ? stream->capture : nullptr;
}

// If `stream` is the legacy default stream, the capture of a stream that is
// ordered with it.
std::shared_ptr<Capture> capture_of_ordered(CuStream stream) {
  const CuContext context = current_context();
  if (stream != nullptr || context == nullptr) return nullptr;
  for (const CuStream other : world().streams) {
    if (other->is_ordered && other->capture != nullptr &&
        other->stream->device() == context->device) {
      return other->capture;
    }
  }
  return nullptr;
}

CuResult refuse(Capture& capture, CuResult why) {
  capture.invalidate();
  return why;
}

}  // namespace

namespace fake_cuda {

CuResult put(CuStream stream, Stream::Work work) {
  if (const CuResult forbidden = implicit(stream)) return forbidden;
  std::shared_ptr<Stream> queue;
  {
    const std::lock_guard lock(world().mutex);
    if (const auto capture = capture_of(stream)) {
      capture->put(stream->branch, std::move(work));
      return kSuccess;
    }
  }
  queue = queue_of(stream);
  if (queue == nullptr) return kInvalidHandle;
  queue->put(std::move(work));
  return kSuccess;
}

std::optional<CuResult> record_captured(CuEvent event, CuStream stream) {
  const std::lock_guard lock(world().mutex);
  const auto capture = capture_of(stream);
  if (world().events.count(event) == 0) return kInvalidHandle;
  event->captured = {};
  event->was_captured = capture != nullptr;
  if (capture == nullptr) return std::nullopt;
  if (std::dynamic_pointer_cast<SharedEvent>(event->event) != nullptr) {
    return refuse(*capture, kCaptureUnsupported);
  }
  event->captured = capture;
  event->edge = capture->tell(stream->branch);
  return kSuccess;
}

std::optional<CuResult> await_captured(CuStream stream, CuEvent event) {
  const std::lock_guard lock(world().mutex);
  const auto mine = capture_of(stream);
  if (world().events.count(event) == 0) return kInvalidHandle;
  if (!event->was_captured) {
    if (mine == nullptr) return std::nullopt;
    return refuse(*mine, kCaptureIsolation);
  }
  const auto theirs = event->captured.lock();
  if (theirs == nullptr) return kCapturedEvent;  // The capture has ended.
  if (stream == nullptr) return refuse(*theirs, kCaptureImplicit);
  if (mine != nullptr && mine != theirs) return refuse(*mine, kCaptureMerge);
  if (mine == nullptr) {
    if (world().streams.count(stream) == 0) return kInvalidHandle;
    stream->capture = theirs;
    stream->branch = theirs->join(stream->stream->device());
  }
  theirs->await(stream->branch, event->edge);
  return kSuccess;
}

bool is_captured(CuEvent event) {
  const std::lock_guard lock(world().mutex);
  return world().events.count(event) > 0 && event->was_captured;
}

// As in CUDA, a call that might interfere with a capture invalidates the
// capture, unless the thread uses the relaxed mode.
CuResult unsafe() {
  if (mode_of_thread == hvd::device::kCuCaptureRelaxed) return kSuccess;
  const std::lock_guard lock(world().mutex);
  CuResult result = kSuccess;
  for (const CuStream stream : world().streams) {
    if (stream->capture == nullptr) continue;
    Capture& capture = *stream->capture;
    const bool is_mine = capture.thread() == std::this_thread::get_id() &&
                         capture.mode() != hvd::device::kCuCaptureRelaxed;
    const bool is_for_all =
        capture.mode() == kGlobal && mode_of_thread == kGlobal;
    if (is_mine || is_for_all) result = refuse(capture, kCaptureUnsupported);
  }
  return result;
}

CuResult implicit(CuStream stream) {
  const std::lock_guard lock(world().mutex);
  const auto capture = capture_of_ordered(stream);
  return capture == nullptr ? kSuccess : refuse(*capture, kCaptureImplicit);
}

}  // namespace fake_cuda

extern "C" {

CuResult cuThreadExchangeStreamCaptureMode(int* mode) {
  std::swap(*mode, mode_of_thread);
  return kSuccess;
}

CuResult cuStreamIsCapturing(CuStream stream, int* status) {
  const std::lock_guard lock(world().mutex);
  if (stream == nullptr) {
    *status = hvd::device::kCuNotCapturing;
    return capture_of_ordered(stream) == nullptr ? kSuccess : kCaptureImplicit;
  }
  if (world().streams.count(stream) == 0) return kInvalidHandle;
  constexpr int kActive = 1;
  constexpr int kInvalidated = 2;
  *status = stream->capture == nullptr    ? hvd::device::kCuNotCapturing
            : stream->capture->is_valid() ? kActive
                                          : kInvalidated;
  return kSuccess;
}

CuResult cuStreamBeginCapture_v2(CuStream stream, int mode) {
  const std::lock_guard lock(world().mutex);
  if (stream == nullptr) return kCaptureUnsupported;
  if (world().streams.count(stream) == 0) return kInvalidHandle;
  if (stream->capture != nullptr) return kInvalidValue;
  stream->capture = std::make_shared<Capture>(std::this_thread::get_id(), mode,
                                              stream->stream->device());
  stream->branch = 0;
  return kSuccess;
}

CuResult cuStreamEndCapture(CuStream stream, CuGraph* graph) {
  const std::lock_guard lock(world().mutex);
  const auto capture = capture_of(stream);
  if (capture == nullptr || stream->branch != 0) return kInvalidValue;
  for (const CuStream other : world().streams) {
    if (other->capture == capture) other->capture = nullptr;
  }
  if (capture->mode() != hvd::device::kCuCaptureRelaxed &&
      capture->thread() != std::this_thread::get_id()) {
    return kCaptureWrongThread;
  }
  if (!capture->is_valid()) return kCaptureInvalidated;
  if (!capture->is_joined()) return kCaptureUnjoined;
  *graph = new hvd::device::CuGraphOfDriver{capture->take()};
  world().graphs.insert(*graph);
  return kSuccess;
}

CuResult cuGraphDestroy(CuGraph graph) {
  const std::lock_guard lock(world().mutex);
  if (world().graphs.erase(graph) == 0) return kInvalidHandle;
  delete graph;
  return kSuccess;
}

CuResult cuGraphInstantiateWithFlags(CuGraphExec* made, CuGraph graph,
                                     unsigned long long) {
  if (current_context() == nullptr) return kInvalidContext;
  const std::lock_guard lock(world().mutex);
  if (world().graphs.count(graph) == 0) return kInvalidHandle;
  *made = new hvd::device::CuGraphExecOfDriver{
      std::make_shared<Graph>(graph->branches)};
  world().launchable.insert(*made);
  return kSuccess;
}

CuResult cuGraphLaunch(CuGraphExec graph, CuStream stream) {
  if (current_context() == nullptr) return kInvalidContext;
  const auto queue = queue_of(stream);
  std::shared_ptr<Graph> launched;
  {
    const std::lock_guard lock(world().mutex);
    if (queue == nullptr || world().launchable.count(graph) == 0) {
      return kInvalidHandle;
    }
    if (capture_of(stream) != nullptr) return kCaptureUnsupported;
    launched = graph->graph;
  }
  launched->launch(*queue);
  return kSuccess;
}

// Launches in flight still finish.
CuResult cuGraphExecDestroy(CuGraphExec graph) {
  if (current_context() == nullptr) return kInvalidContext;
  const std::lock_guard lock(world().mutex);
  if (world().launchable.erase(graph) == 0) return kInvalidHandle;
  for (auto& queue : graph->graph->queues()) {
    world().ending.push_back(std::move(queue));
  }
  delete graph;
  return kSuccess;
}

}  // extern "C"
