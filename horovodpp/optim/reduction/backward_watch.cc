// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/reduction/backward_watch.h"

#include <utility>

namespace hvd::optim {

class BackwardWatch::Watching {
 public:
  Watching(std::vector<Tensor> parameters, BackwardEvents events,
           bool every_backward_counts)
      : parameters_(std::move(parameters)),
        is_watched_(parameters_.size()),
        events_(std::move(events)),
        every_backward_counts_(every_backward_counts) {}

  void begin(const autograd::BackwardPlan& plan);
  void end(const autograd::BackwardPlan& plan);
  void reached(std::size_t index);
  void watch(std::size_t index) { is_watched_[index] = true; }
  void leave() {
    MutexLock lock(mutex_);
    is_left_ = true;
  }

 private:
  // A backward of the user's that may reach more parameters than its plan
  // lists.
  struct Open {
    const autograd::BackwardPlan* plan = nullptr;
    bool is_ours = false;  // It reaches a parameter, as far as known.
    std::vector<std::size_t> reached = {};  // In this order.
    std::set<std::size_t> counted = {};     // The same.
  };

  bool is_ours(const autograd::BackwardPlan& plan) const;
  Open take(const autograd::BackwardPlan& plan);

  const std::vector<Tensor> parameters_;
  std::vector<std::atomic<bool>> is_watched_;
  const BackwardEvents events_;
  const bool every_backward_counts_;
  std::atomic<int> open_count_ = 0;
  mutable Mutex mutex_;
  bool is_left_ ABSL_GUARDED_BY(mutex_) = false;
  // A thread runs one backward of the user's at a time.
  std::map<std::thread::id, Open> open_ ABSL_GUARDED_BY(mutex_);
};

// The optimizer lives until all backward calls of its parameters have ended.
bool BackwardWatch::Watching::is_ours(
    const autograd::BackwardPlan& plan) const {
  {
    MutexLock lock(mutex_);
    if (is_left_) return false;
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (is_watched_[i] && plan.reaches(parameters_[i])) return true;
  }
  return false;
}

void BackwardWatch::Watching::begin(const autograd::BackwardPlan& plan) {
  if (plan.depth() > 0) {
    // If this backward is ours, so is the one around it.
    if (!every_backward_counts_ || !is_ours(plan)) return;
    MutexLock lock(mutex_);
    const auto found = open_.find(std::this_thread::get_id());
    if (found != open_.end()) found->second.is_ours = true;
    return;
  }
  const bool may_reach_more = plan.may_reach_more();
  const bool ours = every_backward_counts_ && is_ours(plan);
  {
    MutexLock lock(mutex_);
    // A backward that failed to begin was not ended.
    open_.erase(std::this_thread::get_id());
    if (may_reach_more && !is_left_) {
      open_[std::this_thread::get_id()] = {.plan = &plan, .is_ours = ours};
    }
    open_count_ = static_cast<int>(open_.size());
  }
  if (may_reach_more || !ours) return;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!parameters_[i].requires_grad() || plan.reaches(parameters_[i])) {
      continue;
    }
    if (events_.owed(i) > 0) events_.contribute(i);
  }
}

void BackwardWatch::Watching::end(const autograd::BackwardPlan& plan) {
  if (plan.depth() > 0 || open_count_ == 0) return;
  const Open open = take(plan);
  if (open.plan == nullptr || !plan.completed()) return;
  for (const std::size_t index : open.reached) events_.contribute(index);
  if (!every_backward_counts_ || (!open.is_ours && open.reached.empty())) {
    return;
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!parameters_[i].requires_grad() || open.counted.count(i) > 0) continue;
    if (events_.owed(i) > 0) events_.contribute(i);
  }
}

BackwardWatch::Watching::Open BackwardWatch::Watching::take(
    const autograd::BackwardPlan& plan) {
  MutexLock lock(mutex_);
  const auto found = open_.find(std::this_thread::get_id());
  if (is_left_ || found == open_.end() || found->second.plan != &plan) {
    return {};
  }
  Open open = std::move(found->second);
  open_.erase(found);
  open_count_ = static_cast<int>(open_.size());
  return open;
}

void BackwardWatch::Watching::reached(std::size_t index) {
  if (open_count_ > 0) {
    MutexLock lock(mutex_);
    const auto found = open_.find(std::this_thread::get_id());
    if (found != open_.end()) {
      Open& open = found->second;
      if (open.counted.insert(index).second) open.reached.push_back(index);
      return;
    }
  }
  events_.contribute(index);
}

BackwardWatch::BackwardWatch(std::vector<Tensor> parameters,
                             BackwardEvents events, bool every_backward_counts)
    : watching_(std::make_shared<Watching>(
          std::move(parameters), std::move(events), every_backward_counts)),
      observer_(autograd::add_backward_observer(
          {.on_start = [watching = watching_](
                           const auto& plan) { watching->begin(plan); },
           .on_end = [watching = watching_](
                         const auto& plan) { watching->end(plan); }})) {}

BackwardWatch::~BackwardWatch() {
  watching_->leave();
  observer_.remove();
}

void BackwardWatch::watch(std::size_t index) { watching_->watch(index); }
void BackwardWatch::reached(std::size_t index) { watching_->reached(index); }

}  // namespace hvd::optim
