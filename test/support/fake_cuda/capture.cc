// SPDX-License-Identifier: Apache-2.0
#include "test/support/fake_cuda/capture.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace fake_cuda {

std::size_t Capture::tell(std::size_t branch) {
  branches_[branch].steps.push_back(
      {.kind = Step::Kind::kTell, .edge = edges_});
  return edges_++;
}

// Goes back from the end of the first branch, along its awaits.
bool Capture::is_joined() const {
  std::map<std::size_t, std::pair<std::size_t, std::size_t>> told;
  for (std::size_t b = 0; b < branches_.size(); ++b) {
    const auto& steps = branches_[b].steps;
    for (std::size_t s = 0; s < steps.size(); ++s) {
      if (steps[s].kind == Step::Kind::kTell) told[steps[s].edge] = {b, s};
    }
  }
  std::vector<std::size_t> reached(branches_.size(), 0);
  reached[0] = branches_[0].steps.size();
  for (bool moved = true; std::exchange(moved, false);) {
    for (std::size_t b = 0; b < branches_.size(); ++b) {
      for (std::size_t s = 0; s < reached[b]; ++s) {
        const Step& step = branches_[b].steps[s];
        if (step.kind != Step::Kind::kAwait) continue;
        const auto [from, at] = told.at(step.edge);
        if (reached[from] > at) continue;
        reached[from] = at + 1;
        moved = true;
      }
    }
  }
  for (std::size_t b = 0; b < branches_.size(); ++b) {
    const auto& steps = branches_[b].steps;
    const auto is_work = [](const Step& step) {
      return step.kind == Step::Kind::kWork;
    };
    if (std::any_of(steps.begin() + static_cast<std::ptrdiff_t>(reached[b]),
                    steps.end(), is_work)) {
      return false;
    }
  }
  return true;
}

Graph::Graph(std::vector<Branch> branches)
    : branches_(
          std::make_shared<const std::vector<Branch>>(std::move(branches))) {
  for (const Branch& branch : *branches_) {
    queues_.push_back(
        std::make_shared<Stream>(branch.device, /*has_limit=*/false));
  }
}

void Graph::launch(Stream& stream) {
  struct Run {
    Event begun;
    std::map<std::size_t, Event> edges;
    std::vector<Event> ends;
    std::atomic<int> error{0};
  };
  const auto run = std::make_shared<Run>();
  run->ends = std::vector<Event>(branches_->size());
  for (const Branch& branch : *branches_) {
    for (const Step& step : branch.steps) {
      if (step.kind == Step::Kind::kTell) run->edges.try_emplace(step.edge);
    }
  }
  stream.put([run] {
    run->begun.happen(1);
    return 0;
  });
  for (std::size_t b = 0; b < branches_->size(); ++b) {
    Stream& queue = *queues_[b];
    queue.put([run] {
      run->begun.wait(1);
      return 0;
    });
    for (const Step& step : (*branches_)[b].steps) {
      // A separate put per step, because each put may idle.
      queue.put([run, all = branches_, &step] {
        if (step.kind == Step::Kind::kTell) run->edges.at(step.edge).happen(1);
        if (step.kind == Step::Kind::kAwait) run->edges.at(step.edge).wait(1);
        if (step.kind != Step::Kind::kWork) return 0;
        const int error = step.work();
        if (error != 0) run->error.store(error);
        return error;
      });
    }
    queue.put([run, b] {
      run->ends[b].happen(1);
      return 0;
    });
  }
  stream.put([run] {
    for (const Event& end : run->ends) end.wait(1);
    return run->error.load();
  });
}

}  // namespace fake_cuda
