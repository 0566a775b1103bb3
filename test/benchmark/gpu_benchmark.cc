// SPDX-License-Identifier: Apache-2.0
// The cost of moving tensors on a GPU; see scripts/gpu_check.sh. Prints a line
// for each measurement: name, number, unit.
//
//   gpu_benchmark kernels [MEGABYTES]        kernels against driver's copies
//   gpu_benchmark allreduce [MEGABYTES]      in a job: horovodrun -np 2 --no-mpi
//   gpu_benchmark step                       likewise, by NCCL: many small
//                                            allreduces, called and as a graph
//   gpu_benchmark enqueue [COUNT]            likewise, one small prepared
//                                            allreduce, repeated: to count
//                                            instructions
//   gpu_benchmark nccl                       the version of NCCL, or 0
//
// HOROVODPP_CUDA_LIBRARY names another driver, as for the library.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "horovodpp/device/cuda_kernels.h"
#include "horovodpp/device/cuda_memory.h"
#include "horovodpp/device/cuda_stream.h"
#include "horovodpp/device/gpus.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/global_collectives.h"
#include "horovodpp/runtime/gpu/captured_step.h"
#include "horovodpp/runtime/gpu/gpu_choice.h"
#include "horovodpp/runtime/gpu/gpu_clip.h"
#include "horovodpp/runtime/runtime.h"
#include "horovodpp/runtime/settings/config.h"

namespace hvd {
namespace {

using Clock = std::chrono::steady_clock;
using Piece = device::CudaKernels::Piece;

constexpr int kRounds = 20;
constexpr std::size_t kTensors = 100;

void print(const std::string& name, double value, const char* unit) {
  std::printf("%s\t%.3f\t%s\n", name.c_str(), value, unit);
}

void check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "gpu_benchmark: %s\n", status.ToString().c_str());
  std::exit(1);
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// The median of `rounds`, after a warm-up round.
double median_of(const std::function<double()>& round) {
  round();
  std::vector<double> rounds;
  for (int i = 0; i < kRounds; ++i) rounds.push_back(round());
  std::nth_element(rounds.begin(), rounds.begin() + kRounds / 2, rounds.end());
  return rounds[kRounds / 2];
}

class Bench {
 public:
  Bench(device::Gpus& gpus, int gpu, std::size_t bytes)
      : context_(gpus.driver().value()->context(gpu).value()),
        kernels_(*gpus.kernels(gpu).value()),
        stream_(device::CudaStream::create(context_).value()),
        bytes_(bytes / kTensors / 16 * 16 * kTensors),
        from_(device::allocate_on(context_, bytes_).value()),
        to_(device::allocate_on(context_, bytes_).value()) {}

  void kernels() {
    const double copy =
        on_gpu([&] { return stream_.copy(to_.get(), from_.get(), bytes_); });
    const std::vector<Piece> pieces = cut();
    const double pack = on_gpu([&] { return kernels_.copy(stream_, pieces); });
    print("copy of the driver", per_second(copy), "GB/s");
    print("pack kernel, 100 tensors", per_second(pack), "GB/s");
    print("pack kernel / copy", copy / pack, "x");
    const std::string cpu = "CPU time of an enqueue, ";
    print(cpu + "copy of the driver",
          on_host([&] { return stream_.copy(to_.get(), from_.get(), bytes_); }),
          "us");
    print(cpu + "1 tensor", on_host([&] {
            return kernels_.copy(stream_, std::span(pieces).first(1));
          }),
          "us");
    print(cpu + "100 tensors",
          on_host([&] { return kernels_.copy(stream_, pieces); }), "us");
    reduce();
    clip();
    over_pcie();
  }

 private:
  double per_second(double seconds) const {
    return static_cast<double>(bytes_) / seconds * 1e-9;
  }

  double on_gpu(const std::function<absl::Status()>& enqueue) {
    constexpr int kTimes = 10;
    return median_of([&] {
      const auto begin = Clock::now();
      for (int i = 0; i < kTimes; ++i) check(enqueue());
      check(stream_.synchronize());
      return seconds_since(begin) / kTimes;
    });
  }

  // The host's microseconds for one of several calls, of which the first finds
  // an idle GPU.
  double on_host(const std::function<absl::Status()>& enqueue) {
    constexpr int kTimes = 10;
    return 1e6 * median_of([&] {
             const auto begin = Clock::now();
             for (int i = 0; i < kTimes; ++i) check(enqueue());
             const double seconds = seconds_since(begin) / kTimes;
             check(stream_.synchronize());
             return seconds;
           });
  }

  std::vector<Piece> cut() const {
    const std::size_t each = bytes_ / kTensors;
    std::vector<Piece> pieces;
    for (std::size_t i = 0; i < kTensors; ++i) {
      pieces.push_back({.from = from_.get() + i * each,
                        .to = to_.get() + i * each,
                        .count = static_cast<std::int64_t>(each)});
    }
    return pieces;
  }

  void reduce() {
    device::kernels::ReduceArguments two = {
        .memory = {from_.get(), to_.get()},
        .members = 2,
        .outputs = 2,
        .count = static_cast<std::int64_t>(bytes_ / sizeof(float))};
    const double seconds =
        on_gpu([&] { return kernels_.reduce(stream_, DType::kF32, two); });
    print("reduce kernel, 2 f32 buffers in place", per_second(seconds), "GB/s");
  }

  void clip() {
    std::vector<TensorView> gradients;
    for (const Piece& piece : cut()) {
      const auto count = piece.count / static_cast<std::int64_t>(sizeof(float));
      gradients.emplace_back(const_cast<void*>(piece.from), DType::kF32,
                             Shape({count}), Device::cuda(context_.index));
    }
    // Sums are finite, so that the second pass is made.
    const std::vector<float> values(bytes_ / sizeof(float), 1.5f);
    check(stream_.copy(from_.get(), values.data(), bytes_));
    GpuClip clip = value_or_throw(GpuClip::of(std::move(gradients)));
    const double seconds = on_gpu([&] {
      throw_if_error(clip.start({.factor = 0.999, .stream = stream_.handle()}));
      return absl::OkStatus();
    });
    print("scale and clip, 100 f32 tensors", per_second(seconds), "GB/s");
  }

  void over_pcie() {
    device::PinnedMemory pinned(context_);
    std::byte* const host = pinned.at_least(bytes_).value();
    const double down =
        on_gpu([&] { return stream_.copy(host, from_.get(), bytes_); });
    const double up =
        on_gpu([&] { return stream_.copy(to_.get(), host, bytes_); });
    print("copy to pinned memory", per_second(down), "GB/s");
    print("copy from pinned memory", per_second(up), "GB/s");
  }

  const device::CudaContext context_;
  const device::CudaKernels& kernels_;
  device::CudaStream stream_;
  const std::size_t bytes_;
  const std::shared_ptr<std::byte> from_;
  const std::shared_ptr<std::byte> to_;
};

// Reduces one tensor repeatedly, and checks the result once.
int allreduce(std::size_t bytes) {
  throw_if_error(init());
  const Device gpu = local_gpu().value();
  device::Gpus& gpus = device::Gpus::of_process();
  const device::CudaContext context =
      gpus.driver().value()->context(gpu.index).value();
  device::CudaStream stream = device::CudaStream::create(context).value();
  const auto memory = device::allocate_on(context, bytes).value();
  std::vector<float> values(bytes / sizeof(float), 1.0f);
  check(stream.copy(memory.get(), values.data(), bytes));
  const TensorView tensor(memory.get(), DType::kF32,
                          Shape({static_cast<std::int64_t>(values.size())}),
                          gpu);
  throw_if_error(
      allreduce_(tensor, {.name = "x",
                          .op = ReduceOp::kSum,
                          .stream = static_cast<void*>(stream.handle())}));
  check(stream.copy(values.data(), memory.get(), bytes));
  check(stream.synchronize());
  const auto right = static_cast<float>(size());
  const bool well = std::all_of(values.begin(), values.end(),
                                [&](float x) { return x == right; });
  const double seconds = median_of([&] {
    const auto begin = Clock::now();
    throw_if_error(allreduce_(tensor, {.name = "x", .op = ReduceOp::kMax}));
    return seconds_since(begin);
  });
  if (rank() == 0) {
    print("allreduce", static_cast<double>(bytes) / seconds * 1e-9, "GB/s");
    print("right", well ? 1 : 0, "");
  }
  throw_if_error(shutdown());
  return well ? 0 : 1;
}

// A step of many small tensors; each becomes the maximum over the ranks.
class SmallStep {
 public:
  SmallStep()
      : gpu_(local_gpu().value()),
        context_(device::Gpus::of_process()
                     .driver()
                     .value()
                     ->context(gpu_.index)
                     .value()),
        stream_(device::CudaStream::create(context_).value()),
        memory_(device::allocate_on(context_, kTensors * kBytes).value()),
        values_(kTensors * kCount, static_cast<float>(rank())) {
    check(stream_.copy(memory_.get(), values_.data(), kTensors * kBytes));
    for (std::size_t i = 0; i < kTensors; ++i) {
      const TensorView tensor(memory_.get() + i * kBytes, DType::kF32,
                              Shape({std::int64_t{kCount}}), gpu_);
      calls_.push_back(value_or_throw(current_runtime().prepare_allreduce_(
          tensor, {.name = "small." + std::to_string(i),
                   .op = ReduceOp::kMax,
                   .stream = stream()})));
    }
  }

  Status run() {
    for (Prepared& call : calls_) call.start();
    for (Prepared& call : calls_) {
      if (Status status = call.wait(stream()); !status.ok()) return status;
    }
    return {};
  }
  Status run_first() {
    calls_.front().start();
    return calls_.front().wait(stream());
  }
  // Returns when the GPU has finished all work.
  void settle() {
    check(stream_.synchronize());
    for (Prepared& call : calls_) call.wait().ignore_error();
  }
  CapturedStep capture() {
    return value_or_throw(CapturedStep::capture(
        current_runtime(), {.name = "step", .device = gpu_, .stream = stream()},
        [&] { return run(); }));
  }

  void* stream() const { return stream_.handle(); }
  // The host's time in microseconds, without the wait for the GPU that follows.
  double host_time(const std::function<Status()>& work) {
    return 1e6 * median_of([&] {
             const auto begin = Clock::now();
             throw_if_error(work());
             const double seconds = seconds_since(begin);
             settle();
             return seconds;
           });
  }
  bool is_right() {
    check(stream_.copy(values_.data(), memory_.get(), kTensors * kBytes));
    check(stream_.synchronize());
    const auto most = static_cast<float>(size() - 1);
    return std::all_of(values_.begin(), values_.end(),
                       [&](float x) { return x == most; });
  }

 private:
  static constexpr std::size_t kCount = 1024;
  static constexpr std::size_t kBytes = kCount * sizeof(float);

  const Device gpu_;
  const device::CudaContext context_;
  device::CudaStream stream_;
  const std::shared_ptr<std::byte> memory_;
  std::vector<float> values_;
  std::vector<Prepared> calls_;
};

int step() {
  throw_if_error(init());
  bool well = false;
  {
    SmallStep small;
    const double whole = small.host_time([&] { return small.run(); });
    const double one = small.host_time([&] { return small.run_first(); });
    well = small.is_right();
    CapturedStep captured = small.capture();
    const double replay =
        small.host_time([&] { return captured.replay().wait(small.stream()); });
    well = well && small.is_right();
    if (rank() == 0) {
      print("one allreduce of 4 KiB", one, "us");
      print("a step of 100", whole, "us");
      print("its replay", replay, "us");
      print("right", well ? 1 : 0, "");
    }
  }
  throw_if_error(shutdown());
  return well ? 0 : 1;
}

// Waits for the GPU now and then, so that it does not fall far behind.
int enqueue(std::size_t count) {
  constexpr std::size_t kBetweenWaits = 50;
  throw_if_error(init());
  bool well = false;
  {
    SmallStep small;
    for (std::size_t i = 0; i < count; ++i) {
      throw_if_error(small.run_first());
      if (i % kBetweenWaits == 0) small.settle();
    }
    small.settle();
    throw_if_error(small.run());
    well = small.is_right();
  }
  throw_if_error(shutdown());
  return well ? 0 : 1;
}

int run(const std::vector<std::string>& words) {
  const std::size_t bytes = (words.size() > 1 ? std::stoul(words[1]) : 256)
                            << 20;
  if (!words.empty() && words[0] == "allreduce") return allreduce(bytes);
  if (!words.empty() && words[0] == "step") return step();
  if (!words.empty() && words[0] == "enqueue") {
    return enqueue(words.size() > 1 ? std::stoul(words[1]) : 1000);
  }
  if (!words.empty() && words[0] == "nccl") {
    std::printf("%d\n", nccl_built());
    return 0;
  }
  if (words.empty() || words[0] != "kernels") {
    std::fputs(
        "usage: gpu_benchmark kernels|allreduce [MEGABYTES]\n"
        "       gpu_benchmark step|nccl\n"
        "       gpu_benchmark enqueue [COUNT]\n",
        stderr);
    return 2;
  }
  const auto config = Config::from_env();
  throw_if_error(config.status());
  auto& gpus = device::Gpus::of_process();
  gpus.look_for(config->cuda_library);
  const auto cuda = gpus.driver();
  check(cuda.status());
  check(gpus.kernels(0).status());
  std::printf("GPU\t%s\tCUDA %d\n", (*cuda)->name_of(0).value().c_str(),
              (*cuda)->version());
  Bench(gpus, 0, bytes).kernels();
  return 0;
}

}  // namespace
}  // namespace hvd

int main(int argc, char** argv) {
  try {
    return hvd::run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpu_benchmark: %s\n", error.what());
    return 1;
  }
}
