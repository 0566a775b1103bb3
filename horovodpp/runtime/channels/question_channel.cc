// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/runtime/channels/question_channel.h"

#include "horovodpp/core/thread/clock.h"

namespace hvd::runtime {

std::optional<std::string> QuestionChannel::ask(
    const coordinator::Key& key, const std::function<void()>& ring,
    std::chrono::nanoseconds timeout) {
  const auto deadline = deadline_after(timeout);
  std::uint32_t number = 0;
  {
    MutexLock lock(mutex_);
    number = next_++;
    unsent_.push_back({number, key});
    answers_[number] = std::nullopt;
    has_unsent_.store(true);
  }
  ring();
  MutexLock lock(mutex_);
  while (!answers_[number] && answered_.wait_until(mutex_, deadline)) {
  }
  std::optional<std::string> answer = std::move(answers_[number]);
  answers_.erase(number);
  return answer;
}

void QuestionChannel::answer(std::uint32_t number, std::string text) {
  MutexLock lock(mutex_);
  const auto found = answers_.find(number);
  if (found == answers_.end()) return;  // Too late.
  found->second = std::move(text);
  answered_.notify_all();
}

}  // namespace hvd::runtime
