// SPDX-License-Identifier: Apache-2.0
#include "test/simulation/cost_model.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <queue>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "horovodpp/coordinator/coordinator.h"
#include "horovodpp/core/thread/clock.h"

namespace hvd::simulation {
namespace {

using coordinator::Batch;
using coordinator::Coordinator;
using coordinator::Outgoing;
using coordinator::Request;
using coordinator::SharedBoard;
// Picoseconds as integers: the sum does not depend on the order.
using Time = std::int64_t;

Time from_us(double us) { return std::llround(us * 1e6); }

struct alignas(128) CacheBlock {
  std::byte bytes[128] = {};
};

// One of the job's ranks.
struct Rank {
  std::unique_ptr<SharedBoard> board;
  std::unique_ptr<Coordinator> coordinator;
  Time free_at = 0;      // The processor.
  Time may_send_at = 0;  // The network card.
  Time turn_at = -1;     // The next turn; -1: none.
  std::vector<std::uint32_t> inbox;
  std::uint32_t executed = 0;  // Operations of this step.
  bool executing = false;
  bool has_submitted = false;  // In this step.
};

struct Letter {
  int from = 0;
  int to = 0;
  std::string bytes;
};

struct Happening {
  Time at = 0;
  std::uint64_t order = 0;
  int rank = 0;
  std::uint32_t letter = 0;                       // 1 + its index; 0: a turn.
  bool operator<(const Happening& other) const {  // The earliest is greatest.
    return at != other.at ? at > other.at : order > other.order;
  }
};

class CostedJob {
 public:
  explicit CostedJob(const CostOptions& options);

  // Runs a step: every rank submits every tensor, each node `apart` after the
  // previous one.
  bool step(Time apart = 0);
  StepCost last_step() const { return cost_; }
  bool in_cycle() const { return in_cycle_; }

 private:
  Rank& rank(int index) { return ranks_[static_cast<std::size_t>(index)]; }
  bool same_node(int a, int b) const {
    return a / options_.ranks_per_node == b / options_.ranks_per_node;
  }
  void add(Time at, int rank, std::uint32_t letter = 0);
  void wake(int index, Time at);
  bool turn(int index);
  bool take_mail(int index);
  void send(int index);
  void ring(int index);
  bool execute(int index);
  void meet(int index, Batch batch);
  std::shared_ptr<const Request> shared_copy(
      std::shared_ptr<const Request> request);

  const CostOptions options_;
  ManualClock clock_;
  std::shared_ptr<const coordinator::Tree> tree_;
  std::vector<Request> requests_;
  // Agreed requests, shared by all ranks. Ranks as processes would have a copy
  // each.
  absl::flat_hash_map<coordinator::Key, std::shared_ptr<const Request>> agreed_;
  std::vector<CacheBlock> memory_;
  std::vector<Rank> ranks_;
  std::deque<Letter> letters_;
  std::vector<std::uint32_t> free_letters_;
  std::priority_queue<Happening> queue_;
  std::uint64_t next_order_ = 0;
  Time now_ = 0;

  int entered_ = 0;  // Ranks in the current batch.
  Time submitted_at_ = 0;
  StepCost cost_;
  bool in_cycle_ = false;
};

CostedJob::CostedJob(const CostOptions& options)
    : options_(options), ranks_(static_cast<std::size_t>(options.ranks)) {
  std::vector<std::vector<int>> nodes;
  for (int index = 0; index < options.ranks; ++index) {
    if (index % options.ranks_per_node == 0) nodes.emplace_back();
    nodes.back().push_back(index);
  }
  tree_ = std::make_shared<coordinator::Tree>(nodes);
  for (int i = 0; i < options.tensors; ++i) {
    Request request;
    request.key.name = absl::StrCat("layer.", i);
    request.tensors.push_back({DType::kF32, Shape({16})});
    requests_.push_back(std::move(request));
  }
  const auto slots = static_cast<std::uint32_t>(options.tensors);
  const auto length = static_cast<std::uint32_t>(coordinator::kMaxAppend);
  const std::size_t blocks =
      SharedBoard::bytes_needed(slots, length) / sizeof(CacheBlock) + 1;
  memory_.resize(blocks * nodes.size());
  const std::size_t before = live_bytes();
  Coordinator::ShareCopy share;
  if (!options.own_requests) {
    share = [this](auto request) { return shared_copy(std::move(request)); };
  }
  for (int index = 0; index < options.ranks; ++index) {
    const int node = index / options.ranks_per_node;
    const std::span<CacheBlock> region(
        memory_.data() + blocks * static_cast<std::size_t>(node), blocks);
    Rank& mine = rank(index);
    mine.board = std::make_unique<SharedBoard>(
        std::as_writable_bytes(region), index % options.ranks_per_node,
        static_cast<int>(nodes[static_cast<std::size_t>(node)].size()), slots,
        length);
    mine.coordinator = std::make_unique<Coordinator>(
        Coordinator::Options{
            .rank = index,
            .tree = tree_,
            .cache_capacity = slots,
            .steps_before_schedule = options.steps_before_schedule,
            .stall_warning = Clock::Duration(0),
            .stall_shutdown = Clock::Duration(0),
            .shared_copy = share},
        *mine.board, clock_);
  }
  cost_.board_bytes_per_rank =
      static_cast<double>(memory_.size() * sizeof(CacheBlock)) / options.ranks;
  cost_.state_bytes_per_rank = -static_cast<double>(before);
}

std::shared_ptr<const Request> CostedJob::shared_copy(
    std::shared_ptr<const Request> request) {
  std::shared_ptr<const Request>& known = agreed_[request->key];
  if (known == nullptr || *known != *request) known = std::move(request);
  return known;
}

void CostedJob::add(Time at, int rank, std::uint32_t letter) {
  queue_.push({at, next_order_++, rank, letter});
}

void CostedJob::wake(int index, Time at) {
  Rank& mine = rank(index);
  at = std::max(at, mine.free_at);
  if (mine.turn_at >= 0 && mine.turn_at <= at) return;
  mine.turn_at = at;
  add(at, index);
}

bool CostedJob::step(Time apart) {
  const double state = cost_.state_bytes_per_rank;
  cost_ = {.state_bytes_per_rank = state,
           .board_bytes_per_rank = cost_.board_bytes_per_rank};
  submitted_at_ = now_;
  for (int index = 0; index < options_.ranks; ++index) {
    rank(index).executed = 0;
    rank(index).has_submitted = false;
    // A leader sees the board's changes later. In a cycle it reads no changes.
    const bool leads = index % options_.ranks_per_node == 0 && !in_cycle_;
    const Time begin = now_ + apart * tree_->node_of(index);
    wake(index, leads ? begin + from_us(options_.network.node_us) : begin);
  }
  while (!queue_.empty()) {
    const Happening next = queue_.top();
    queue_.pop();
    now_ = next.at;
    if (next.letter != 0) {
      rank(next.rank).inbox.push_back(next.letter - 1);
      wake(next.rank, now_);
    } else if (rank(next.rank).turn_at == now_) {
      rank(next.rank).turn_at = -1;
      if (!turn(next.rank)) return false;
    }
  }
  letters_ = {};
  free_letters_ = {};
  queue_ = {};
  for (const Rank& mine : ranks_) {
    if (mine.executed == requests_.size()) continue;
    std::fprintf(stderr, "a rank executed %u operations of %zu\n",
                 mine.executed, requests_.size());
    return false;
  }
  return true;
}

bool CostedJob::turn(int index) {
  Rank& mine = rank(index);
  mine.free_at = std::max(mine.free_at, now_);
  // Submitted late, so that not all ranks' proposals are in memory at once.
  if (!std::exchange(mine.has_submitted, true)) {
    for (const Request& request : requests_) mine.coordinator->submit(request);
  }
  if (!take_mail(index)) return false;
  if (const auto status = mine.coordinator->step(); !status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return false;
  }
  send(index);
  ring(index);
  if (!execute(index)) return false;
  if (mine.coordinator->wants_step()) wake(index, mine.free_at);
  return true;
}

bool CostedJob::take_mail(int index) {
  Rank& mine = rank(index);
  for (const std::uint32_t number : std::exchange(mine.inbox, {})) {
    Letter& letter = letters_[number];
    if (!same_node(letter.from, index)) {
      mine.free_at += from_us(options_.network.overhead_us);
    }
    const auto status = mine.coordinator->receive(letter.from, letter.bytes);
    letter.bytes = std::string();
    free_letters_.push_back(number);
    if (status.ok()) continue;
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return false;
  }
  return true;
}

void CostedJob::send(int index) {
  Rank& mine = rank(index);
  const LogGP& network = options_.network;
  for (Outgoing& mail : mine.coordinator->take_outgoing()) {
    const std::size_t bytes = mail.bytes.size();
    Time arrival = mine.free_at + from_us(network.node_us);
    if (same_node(index, mail.to)) {
      ++cost_.node_messages;
    } else {
      ++cost_.messages;
      cost_.bytes += bytes;
      const Time start = std::max(mine.free_at, mine.may_send_at);
      mine.free_at = start + from_us(network.overhead_us);
      mine.may_send_at =
          start + from_us(std::max(network.gap_us, network.overhead_us));
      arrival =
          mine.free_at + from_us(network.latency_us) +
          from_us(static_cast<double>(bytes) * 1e-3 / network.gigabytes_per_s);
    }
    std::uint32_t number = static_cast<std::uint32_t>(letters_.size());
    if (free_letters_.empty()) {
      letters_.emplace_back();
    } else {
      number = free_letters_.back();
      free_letters_.pop_back();
    }
    letters_[number] = {index, mail.to, std::move(mail.bytes)};
    add(arrival, mail.to, number + 1);
  }
}

void CostedJob::ring(int index) {
  const coordinator::Bells bells = rank(index).coordinator->take_bells();
  const Time at = rank(index).free_at + from_us(options_.network.node_us);
  const int node = tree_->node_of(index);
  if (bells.leader) wake(tree_->leader_of(node), at);
  if (!bells.node) return;
  for (const int other : tree_->ranks_of(node)) {
    if (other != index) wake(other, at);
  }
}

bool CostedJob::execute(int index) {
  Rank& mine = rank(index);
  while (!mine.executing) {
    auto batch = mine.coordinator->next_batch();
    if (!batch.ok() || !mine.coordinator->take_failures().empty()) {
      std::fprintf(stderr, "%s\n", batch.status().ToString().c_str());
      return false;
    }
    if (*batch == nullptr) break;
    meet(index, **batch);
  }
  return true;
}

// Moving data takes no time, but no rank finishes before all have begun.
void CostedJob::meet(int index, Batch batch) {
  Rank& mine = rank(index);
  mine.executing = true;
  in_cycle_ = !batch.certain;
  mine.executed += static_cast<std::uint32_t>(batch.entries.size());
  cost_.us_after_last_arrival =
      std::max(cost_.us_after_last_arrival,
               static_cast<double>(mine.free_at - submitted_at_) * 1e-6);
  if (++entered_ < options_.ranks) return;
  entered_ = 0;
  for (int other = 0; other < options_.ranks; ++other) {
    rank(other).executing = false;
    rank(other).coordinator->finished();
    wake(other, mine.free_at);
  }
}

}  // namespace

std::optional<StepCost> measure_step(const CostOptions& options) {
  CostedJob job(options);
  // The first step negotiates the names, which needs many messages. Nodes start
  // one after the other, so that not all messages are in memory at once.
  if (!job.step(from_us(1000))) return std::nullopt;
  // A few more steps reach mode 0.
  for (int step = 0; step < 1 + 2 * options.steps_before_schedule; ++step) {
    if (!job.step()) return std::nullopt;
  }
  if (!job.step()) return std::nullopt;
  StepCost cost = job.last_step();
  cost.in_cycle = job.in_cycle();
  cost.state_bytes_per_rank =
      (cost.state_bytes_per_rank + static_cast<double>(live_bytes())) /
      options.ranks;
  return cost;
}

}  // namespace hvd::simulation
