// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/elastic/newcomer_watch.h"

#include <utility>

#include "horovodpp/core/error.h"
#include "horovodpp/core/status.h"
#include "horovodpp/core/tensor_view.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd::elastic {

bool NewcomerWatch::look() {
  const std::shared_ptr<Runtime> job = value_or_throw(find_runtime());
  if (!job->is_elastic()) return false;
  if (const std::unique_ptr<News> last = std::move(news_)) {
    throw_if_error(last->told.wait());
    if (last->waiting > 0) return true;
  }
  news_ = std::make_unique<News>();
  news_->waiting = job->waiting_newcomers();
  news_->told = job->broadcast_async_(TensorView::of(&news_->waiting, {1}), 0,
                                      {.name = "horovodpp.elastic.newcomers"});
  return false;
}

}  // namespace hvd::elastic
