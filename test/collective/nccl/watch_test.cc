// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/collective/nccl/watch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "horovodpp/collective/nccl/api.h"
#include "horovodpp/device/cuda_memory.h"
#include "test/support/fake_cuda/fake_cuda.h"
#include "test/support/fake_nccl/fake_nccl.h"

namespace hvd::collective {
namespace {

// A sum of one rank, with its own communicator and stream.
class Sum {
 public:
  Sum(const NcclApi& nccl, const device::CudaContext& gpu)
      : stream_(device::CudaStream::create(gpu).value()),
        memory_(device::allocate_on(gpu, sizeof(float)).value()) {
    NcclUniqueId id = {};
    EXPECT_EQ(nccl.ncclGetUniqueId(&id), kNcclSuccess);
    communicator_ = NcclCommunicator::begin(nccl, id, {.gpu = gpu}).value();
    await();
  }

  void start(NcclWatch& watch) {
    ASSERT_EQ(watch.adopt(communicator_), absl::OkStatus());
    device::CudaEvent began = point();
    ASSERT_EQ(communicator_->put([&](const NcclApi& api, NcclComm comm) {
      return api.ncclAllReduce(memory_.get(), memory_.get(), 1, kNcclFloat32,
                               kNcclSum, comm, stream_.handle());
    }),
              absl::OkStatus());
    await();
    const auto work = std::make_shared<device::GpuWork>(
        device::GpuWork::Span{std::move(began), point()}, "a sum");
    work->on_end(
        [this](const absl::Status& status) { outcome_.set_value(status); });
    watch.watch(work, communicator_);
  }

  std::future<absl::Status> outcome() { return outcome_.get_future(); }

 private:
  void await() {
    while (!communicator_->is_ready().value()) std::this_thread::yield();
  }
  device::CudaEvent point() {
    return device::CudaEvent::after(stream_.context(), stream_.handle())
        .value();
  }

  device::CudaStream stream_;
  const std::shared_ptr<std::byte> memory_;
  std::shared_ptr<NcclCommunicator> communicator_;
  std::promise<absl::Status> outcome_;
};

// NCCL's abort waits for the whole GPU. Sequential aborts would deadlock: the
// first waits for work that only the second abort ends.
TEST(NcclWatch, EndsTheHungWorkOfSeveralCommunicators) {
  const auto cuda = device::CudaDriver::load(testing::FakeCuda::file()).value();
  const device::CudaContext gpu = cuda->context(0).value();
  NcclLibrary library(testing::FakeNccl::file());
  const NcclApi& nccl = *library.api().value();
  testing::FakeNccl::fault("hang", 0, 0);
  std::atomic<bool> is_broken{false};
  Sum first(nccl, gpu);
  Sum second(nccl, gpu);
  {
    NcclWatch watch(
        {.verdict =
             [&] {
               return is_broken ? absl::AbortedError("rank 7 was killed")
                                : absl::OkStatus();
             },
         .is_broken = [&] { return is_broken.load(); },
         .give_up = [](const std::string& why) { ADD_FAILURE() << why; },
         .ring = [] {}});
    first.start(watch);
    second.start(watch);
    is_broken = true;
    for (Sum* const sum : {&first, &second}) {
      auto outcome = sum->outcome();
      ASSERT_EQ(outcome.wait_for(std::chrono::seconds(30)),
                std::future_status::ready);
      EXPECT_EQ(outcome.get().message(), "rank 7 was killed");
    }
  }
  testing::FakeNccl::fault("");
  EXPECT_EQ(testing::FakeNccl::objects(), 0u);
}

}  // namespace
}  // namespace hvd::collective
