// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/elastic/newcomer_watch.h"

#include <algorithm>
#include <utility>

#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd::elastic {
namespace {

// Asking costs some 40 us, and a newcomer may wait for this long.
constexpr std::chrono::milliseconds kPause(20);
constexpr int kLongestInterval = 64;

}  // namespace

bool NewcomerWatch::look() {
  if (++passed_ < interval_) return false;
  const std::shared_ptr<Runtime> job = value_or_throw(find_runtime());
  if (!job->is_elastic()) return false;
  if (const std::unique_ptr<News> last = std::move(news_)) {
    throw_if_error(last->told.wait());
    if (last->numbers[0] > 0) return true;
    interval_ = last->numbers[1];
  }
  ask(*job);
  return false;
}

// Only the numbers of rank 0 count.
void NewcomerWatch::ask(Runtime& job) {
  const Clock::time_point now = Clock::now();
  std::int64_t next = 1;
  if (since_ != Clock::time_point()) {
    const auto step = std::max((now - since_) / passed_, Clock::duration(1));
    next = std::clamp<std::int64_t>(kPause / step, 1, kLongestInterval);
  }
  since_ = now;
  passed_ = 0;
  news_ = std::make_unique<News>();
  news_->numbers = {job.waiting_newcomers(), static_cast<std::int32_t>(next)};
  news_->told =
      job.broadcast_async_(TensorView::of(news_->numbers.data(), {2}), 0,
                           {.name = "horovodpp.elastic.newcomers"});
}

}  // namespace hvd::elastic
