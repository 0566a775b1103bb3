// SPDX-License-Identifier: Apache-2.0
// The coordinators of a small job. Between their lawful moves, mail arrives
// that is invalid, damaged, lost, repeated or no message at all. A coordinator
// may return an error or ignore the mail, but must not crash. Without such
// mail, no coordinator may return an error.
#include <fuzzer/FuzzedDataProvider.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "test/fuzz/arbitrary.h"
#include "test/fuzz/fuzz_job.h"

namespace hvd::coordinator {
namespace {

Request request_of(RequestKind kind, ProcessSetId set, std::string name) {
  Request request;
  request.kind = kind;
  request.key = {set, std::move(name)};
  request.tensors = {{DType::kF32, Shape({8})}};
  return request;
}

// The requests that ranks may submit.
std::vector<Request> programs() {
  using enum RequestKind;
  std::vector<Request> all;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    all.push_back(request_of(kAllreduce, kGlobalSet, name));
  }
  for (const ProcessSetId set : {1u, 2u, 3u}) {
    all.push_back(request_of(kAllreduce, set, "a"));
  }
  Request other_shape = request_of(kAllreduce, kGlobalSet, "a");
  other_shape.tensors[0].shape = Shape({9});
  all.push_back(other_shape);
  Request group = request_of(kAllreduce, kGlobalSet, "g");
  group.tensors.push_back(group.tensors[0]);
  all.push_back(group);
  Request broadcast = request_of(kBroadcast, kGlobalSet, "f");
  broadcast.root = 2;
  all.push_back(broadcast);
  all.push_back(request_of(kAllgather, 1, "h"));
  all.push_back(request_of(kAlltoall, kGlobalSet, "h"));
  Request barrier = request_of(kBarrier, kGlobalSet, "barrier");
  barrier.tensors.clear();
  barrier.once = true;
  all.push_back(barrier);
  for (const ProcessSetId set : {kGlobalSet, 1u}) {
    all.push_back(barrier);
    all.back().kind = kJoin;
    all.back().key = {set, "join"};
  }
  all.push_back(barrier);
  all.back().kind = kAddProcessSet;
  all.back().key.name = "add";
  all.back().ranks = {1, 2, 3};
  all.push_back(all.back());
  all.back().kind = kNewProcessSet;
  all.back().key.name = "new";
  all.back().ranks = {0, 2};
  all.push_back(all.back());
  all.back().kind = kFreeProcessSet;
  all.back().key.name = "free";
  all.back().subject = 3;
  for (const ProcessSetId set : {1u, 3u}) {
    all.push_back(barrier);
    all.back().kind = kRemoveProcessSet;
    all.back().key.name = "remove";
    all.back().subject = set;
  }
  return all;
}

class Play {
 public:
  explicit Play(FuzzedDataProvider& data)
      : data_(data),
        job_(data.ConsumeIntegralInRange<std::uint32_t>(0, 4)),
        is_lawful_(data.ConsumeBool()),
        programs_(programs()) {}

  void run() {
    constexpr int kMaxMoves = 100;
    for (int i = 0; i < kMaxMoves && data_.remaining_bytes() > 0; ++i) move();
  }

 private:
  int any_rank() {
    return data_.ConsumeIntegralInRange(0, FuzzJob::kRanks - 1);
  }
  const Request& any_request() {
    return programs_[data_.ConsumeIntegralInRange<std::size_t>(
        0, programs_.size() - 1)];
  }

  void move() {
    // An unlawful move usually ends the job for some rank, so they are rare.
    const int kind = data_.ConsumeIntegralInRange(0, is_lawful_ ? 10 : 31);
    switch (kind < 16 ? kind : kind % 11) {
      case 0:
        return job_.submit(any_rank(), any_request());
      case 1:
        return submit_everywhere(any_request());
      case 2:
        return job_.move(any_rank());
      case 3:
        return job_.deliver(any_rank(), any_rank());
      case 4:
        return job_.finish(any_rank());
      case 5:
      case 6:
        return all_ranks_move();
      case 7:
        return steps();
      case 8:
        return job_.wait_for(any_rank(), any_request().key);
      case 9:
        return job_.clock.advance(
            std::chrono::milliseconds(data_.ConsumeIntegral<std::uint16_t>()));
      case 10:
        return job_.leave(any_rank());
      case 11:
        return damage(job_.damaged_wire(any_rank(), any_rank()));
      case 12:
        return job_.inject(any_rank(), any_rank(),
                           data_.ConsumeRandomLengthString(64));
      default:
        return inject(Arbitrary(data_, programs_).message());
    }
  }

  // Mostly from a rank that may send the message, because others are refused at
  // once.
  void inject(const Message& message) {
    const int to = any_rank();
    const auto which = data_.ConsumeIntegral<std::uint8_t>();
    const std::optional<int> expected = job_.sender_of(message, to, which);
    if (!expected || which % 16 == 0) {
      return job_.inject(data_.ConsumeIntegralInRange(-1, FuzzJob::kRanks), to,
                         message);
    }
    job_.inject(*expected, to, message);
    // A definition or rejection takes effect only when it is scheduled.
    if (const auto* define = std::get_if<Define>(&message)) {
      job_.inject(*expected, to,
                  Round{{{.kind = RecordKind::kRun, .id = define->id}}});
    } else if (const auto* reject = std::get_if<Reject>(&message)) {
      job_.inject(*expected, to,
                  Round{{{.kind = RecordKind::kReject, .id = reject->number}}});
    }
  }

  void submit_everywhere(const Request& request) {
    for (int rank = 0; rank < FuzzJob::kRanks; ++rank) {
      job_.submit(rank, request);
    }
  }
  void all_ranks_move() {
    for (int turn = 0; turn < 4; ++turn) {
      for (int rank = 0; rank < FuzzJob::kRanks; ++rank) job_.move(rank);
      job_.deliver_everything();
      for (int rank = 0; rank < FuzzJob::kRanks; ++rank) job_.finish(rank);
    }
  }
  // Repeats a step until its order is fixed.
  void steps() {
    for (int step = 0; step < 4; ++step) {
      submit_everywhere(programs_[0]);
      submit_everywhere(programs_[1]);
      all_ranks_move();
    }
  }

  void damage(std::deque<std::string>& wire) {
    if (wire.empty()) return;
    std::string& mail = wire.front();
    switch (data_.ConsumeIntegralInRange(0, 3)) {
      case 0:
        return wire.pop_front();
      case 1:
        return wire.push_back(std::string(mail));
      case 2:
        std::swap(mail, wire.back());
        return;
      default:
        mail[data_.ConsumeIntegralInRange<std::size_t>(0, mail.size() - 1)] =
            data_.ConsumeIntegral<char>();
    }
  }

  FuzzedDataProvider& data_;
  FuzzJob job_;
  const bool is_lawful_;
  const std::vector<Request> programs_;
};

}  // namespace
}  // namespace hvd::coordinator

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  FuzzedDataProvider provider(data, size);
  hvd::coordinator::Play(provider).run();
  return 0;
}
