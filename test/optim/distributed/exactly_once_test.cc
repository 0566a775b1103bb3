// SPDX-License-Identifier: Apache-2.0
// The gradient of each parameter is reduced once in each step, and correctly,
// even if a model uses, skips or recomputes parts.
//
// Ranks sum. So a gradient that is reduced twice, or before its last
// contribution, gives another number. After each of three steps, the numbers
// equal, to the last bit, one process that computes all ranks' gradients
// without checkpoints. Item 212.
#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "horovodpp/autograd.h"
#include "horovodpp/autograd/graph/sparse_gradient.h"
#include "horovodpp/checkpoint.h"
#include "horovodpp/core/error.h"
#include "horovodpp/optim/distributed/distributed_optimizer.h"
#include "horovodpp/optim/sgd.h"
#include "horovodpp/runtime/global.h"
#include "horovodpp/runtime/run_ranks.h"
#include "horovodpp/runtime/runtime.h"

namespace hvd::optim {
namespace {

constexpr int kSteps = 3;
constexpr double kRate = 0.125;

// How the blocks of the model run.
struct Style {
  const char* name;
  // Whether a backward within the backward adds to gradients.
  bool is_reentrant = false;
};

const Style kStyles[] = {{"plain"},  {"reentrant", true}, {"non-reentrant"},
                         {"nested"}, {"selective"},       {"sequential"},
                         {"online"}, {"offload"}};

using Blocks = std::vector<ChainFunction>;

Tensor run_blocks(const std::string& style, const Blocks& blocks, Tensor x) {
  if (style == "sequential") {
    return checkpoint_sequential(blocks,
                                 static_cast<std::int64_t>(blocks.size()), x);
  }
  CheckpointOptions options;
  if (style == "reentrant") options.use_reentrant = true;
  if (style == "selective") options.policy = {"matmul"};
  if (style == "offload") {
    options.policy = [](const CheckpointedOperation&) {
      return CheckpointPolicy::kPreferOffload;
    };
  }
  for (const ChainFunction& block : blocks) {
    if (style == "plain") {
      x = block(x);
    } else if (style == "nested") {
      x = checkpoint(
          [block](const Tensor& in) {
            return checkpoint(block, in * 1.0) * 1.0;
          },
          x);
    } else {
      x = checkpoint(block, x, options);
    }
  }
  return x;
}

// The parameters of one rank, and its progress in the program.
struct Replica {
  explicit Replica(std::string how) : style(std::move(how)) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      std::vector<double> values;
      for (int k = 0; k < 9; ++k) {
        values.push_back(0.25 * ((k * 5 + static_cast<int>(i) * 3) % 7) - 0.6);
      }
      weights[i] = from_vector<double>(values, {3, 3}, true);
    }
  }

  std::vector<nn::NamedTensor> named() const {
    return {{"w0", weights[0]}, {"w1", weights[1]}, {"w2", weights[2]}};
  }

  // The model's input on this rank in this pass of this step.
  Tensor input(int pass = 0) const {
    std::vector<double> values;
    for (int k = 0; k < 6; ++k) {
      values.push_back(0.125 * ((k + 3 * rank + 5 * step + 2 * pass) % 9) -
                       0.5);
    }
    return from_vector<double>(values, {2, 3}, true);
  }

  ChainFunction block(int i) const {
    const Tensor weight = weights[static_cast<std::size_t>(i)];
    return [weight](const Tensor& x) { return tanh(matmul(x, weight)); };
  }
  Tensor run(const Blocks& blocks, const Tensor& x) const {
    return run_blocks(style, blocks, x);
  }
  void backward_of(const Blocks& blocks, int pass = 0) const {
    run(blocks, input(pass)).sum().backward();
  }

  std::string style;
  std::vector<Tensor> weights = std::vector<Tensor>(3);
  int rank = 0;
  int step = 0;
};

// The work of a program between zero_grad() and step().
struct Structure {
  const char* name;
  std::function<void(Replica&)> backward;
  int passes = 1;
  // Whether w1 is frozen in this step, and so not reduced.
  bool (*freezes)(int step) = [](int) { return false; };
};

const std::vector<Structure>& structures() {
  static const std::vector<Structure> all = {
      {"plain",
       [](Replica& r) {
         r.backward_of({r.block(0), r.block(1), r.block(2)});
       }},
      {"tied weights",
       [](Replica& r) {
         const Tensor w = r.weights[0];
         const auto transposed = [w](const Tensor& x) {
           return tanh(matmul(x, w.t()));
         };
         r.backward_of({r.block(0), r.block(1), transposed, r.block(2)});
       }},
      {"a module used twice",
       [](Replica& r) {
         r.backward_of({r.block(0), r.block(1), r.block(0), r.block(2)});
       }},
      {"in a region and outside",
       [](Replica& r) {
         const Tensor y =
             r.run({r.block(0), r.block(1), r.block(2)}, r.input());
         (y * r.weights[1].sum()).sum().backward();
       }},
      {"retain_graph twice",
       [](Replica& r) {
         const Tensor loss =
             r.run({r.block(0), r.block(1), r.block(2)}, r.input()).sum();
         loss.backward({}, {.retain_graph = true});
         loss.backward();
       },
       2},
      {"an unused parameter",
       [](Replica& r) {
         r.backward_of({r.block(0), r.block(2)});
       }},
      {"a branch that differs by rank",
       [](Replica& r) {
         r.backward_of({r.block(0), r.block(r.rank % 2 == 0 ? 1 : 2)});
       }},
      {"frozen later",
       [](Replica& r) {
         r.weights[1].set_requires_grad(r.step != 1);
         r.backward_of({r.block(0), r.block(1), r.block(2)});
       },
       1, [](int step) { return step == 1; }},
      {"a frozen base with adapters",
       [](Replica& r) {
         r.weights[1].set_requires_grad(false);
         const ChainFunction base = r.block(1);
         const ChainFunction adapter = r.block(2);
         const auto adapted = [base, adapter](const Tensor& x) {
           return base(x) + adapter(x);
         };
         r.backward_of({r.block(0), adapted, adapted});
       },
       1, [](int) { return true; }},
      {"two losses",
       [](Replica& r) {
         r.backward_of({r.block(0), r.block(1)});
         r.backward_of({r.block(0), r.block(2)}, 1);
       },
       2},
      {"four passes",
       [](Replica& r) {
         for (int pass = 0; pass < 4; ++pass) {
           r.backward_of({r.block(0), r.block(1), r.block(2)}, pass);
         }
       },
       4},
      {"sparse embedding",
       [](Replica& r) {
         // Rows differ between ranks and steps; sometimes none.
         std::vector<std::int64_t> rows;
         for (int i = 0; i < (r.rank + r.step) % 3; ++i) {
           rows.push_back((2 * r.rank + r.step + i) % 3);
         }
         const Tensor places =
             from_vector(rows, {static_cast<std::int64_t>(rows.size())});
         const Tensor table = r.weights[1];
         autograd::expect_sparse_grad(table);
         const auto look_up = [table, places](const Tensor& x) {
           return tanh(x + embedding(table, places, {.sparse = true}).sum({0}));
         };
         r.backward_of({r.block(0), look_up, r.block(2), look_up});
       }},
      {"grad() before backward", [](Replica& r) {
         // Uses functions outside regions, which reentrant regions would
         // refuse.
         const Tensor x = r.input();
         const Tensor y = matmul(x, r.weights[2]).sum();
         autograd::grad({y}, {x, r.weights[2]});
         r.backward_of({r.block(0), r.block(1), r.block(2)});
       }}};
  return all;
}

// How the step is made; each of `optimizers` has its own parameters.
struct Protocol {
  const char* name;
  std::function<void(std::vector<std::unique_ptr<DistributedOptimizer>>&,
                     const std::function<void()>& backward)>
      step;
  bool two_optimizers = false;
  bool joins = false;
  bool every_backward_counts = false;
  int groups = 0;
};

using Optimizers = std::vector<std::unique_ptr<DistributedOptimizer>>;

void plain_step(Optimizers& optimizers, const std::function<void()>& backward) {
  for (const auto& optimizer : optimizers) optimizer->zero_grad();
  backward();
  for (const auto& optimizer : optimizers) optimizer->step();
}

const std::vector<Protocol>& protocols() {
  static const std::vector<Protocol> all = {
      {"step()", plain_step},
      {"skip_synchronize()",
       [](Optimizers& optimizers, const std::function<void()>& backward) {
         optimizers[0]->zero_grad();
         backward();
         optimizers[0]->synchronize();
         const auto skip = optimizers[0]->skip_synchronize();
         optimizers[0]->step();
       }},
      {"a closure",
       [](Optimizers& optimizers, const std::function<void()>& backward) {
         optimizers[0]->step({.closure = [&] {
           optimizers[0]->zero_grad();
           backward();
           return Tensor();
         }});
       }},
      {"two optimizers", plain_step, /*two_optimizers=*/true},
      {"groups", plain_step, false, false, false, /*groups=*/2},
      {"every_backward_counts", plain_step, false, false,
       /*every_backward_counts=*/true},
      {"join", plain_step, false, /*joins=*/true}};
  return all;
}

using WeightValues = std::vector<std::vector<double>>;

WeightValues weights_of(const Replica& replica) {
  WeightValues result;
  for (const Tensor& weight : replica.weights) {
    result.push_back(weight.to_vector<double>());
  }
  return result;
}

// The number of steps for which a rank has data.
int steps_of(const Protocol& protocol, int rank) {
  return protocol.joins && rank == 0 ? 1 : kSteps;
}

// The weights after each step, from one process that does all ranks' work,
// without checkpoints.
std::vector<WeightValues> expected_weights(const Structure& structure,
                                           const Protocol& protocol,
                                           int ranks) {
  std::vector<WeightValues> result;
  Replica replica("plain");
  SGD sgd(replica.named(), SGDOptions{.learning_rate = kRate});
  for (replica.step = 0; replica.step < kSteps; ++replica.step) {
    std::vector<Tensor> sums(replica.weights.size());
    for (replica.rank = 0; replica.rank < ranks; ++replica.rank) {
      if (replica.step >= steps_of(protocol, replica.rank)) continue;
      sgd.zero_grad();
      structure.backward(replica);
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const Tensor grad = autograd::dense_grad(replica.weights[i]);
        if (!grad.defined()) continue;
        sums[i] = sums[i].defined() ? sums[i] + grad : grad.clone();
      }
    }
    for (std::size_t i = 0; i < sums.size(); ++i) {
      replica.weights[i].set_grad(sums[i]);
    }
    sgd.step();
    result.push_back(weights_of(replica));
  }
  return result;
}

Optimizers optimizers_of(const Replica& replica, const Structure& structure,
                         const Protocol& protocol) {
  Optimizers result;
  const auto add = [&](std::vector<nn::NamedTensor> parameters,
                       const char* name) {
    result.push_back(std::make_unique<DistributedOptimizer>(
        std::make_unique<SGD>(std::move(parameters),
                              SGDOptions{.learning_rate = kRate}),
        DistributedOptions{
            .op = ReduceOp::kSum,
            .backward_passes_per_step = structure.passes,
            .every_backward_counts = protocol.every_backward_counts,
            .groups = protocol.groups,
            .name = name}));
  };
  const std::vector<nn::NamedTensor> all = replica.named();
  if (protocol.two_optimizers) {
    add({all[0], all[2]}, "first");
    add({all[1]}, "second");
  } else {
    add(all, "gradient");
  }
  return result;
}

// Runs and checks a program in one style, as one rank.
void check_rank(const Structure& structure, const Protocol& protocol,
                const std::string& style,
                const std::vector<WeightValues>& expected) {
  Replica replica(style);
  replica.rank = rank();
  Optimizers optimizers = optimizers_of(replica, structure, protocol);
  std::uint64_t before = 0;
  for (; replica.step < steps_of(protocol, rank()); ++replica.step) {
    protocol.step(optimizers, [&] {
      if (style != "online") return structure.backward(replica);
      const MemoryBudget budget(0);
      structure.backward(replica);
    });
    EXPECT_EQ(weights_of(replica),
              expected[static_cast<std::size_t>(replica.step)])
        << "after step " << replica.step;
    std::uint64_t reduced = 0;
    for (const auto& each : optimizers) reduced += each->reduced().gradients;
    const std::uint64_t moving = structure.freezes(replica.step) ? 2 : 3;
    EXPECT_EQ(reduced - before, moving) << "in step " << replica.step;
    before = reduced;
  }
  if (!protocol.joins) return;
  const auto joined = current_runtime().join_async().wait();
  EXPECT_TRUE(joined.ok()) << joined.status();
}

struct Cell {
  Structure structure;
  Protocol protocol;
  int ranks;

  std::string name() const {
    std::string text =
        absl::StrCat(structure.name, "_", protocol.name, "_on_", ranks);
    for (char& letter : text) {
      if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
    }
    return text;
  }
  friend void PrintTo(const Cell& cell, std::ostream* out) {
    *out << cell.name();
  }
};

// Each structure with each protocol, in jobs of each size.
std::vector<Cell> all_cells() {
  std::vector<Cell> result;
  for (const Structure& structure : structures()) {
    for (const Protocol& protocol : protocols()) {
      for (const int ranks : {2, 3, 4}) {
        result.push_back({structure, protocol, ranks});
      }
    }
  }
  return result;
}

class ExactlyOnce : public ::testing::TestWithParam<Cell> {};

TEST_P(ExactlyOnce, InEveryStyle) {
  const Cell& cell = GetParam();
  const std::vector<WeightValues> expected =
      expected_weights(cell.structure, cell.protocol, cell.ranks);
  for (const Style& style : kStyles) {
    SCOPED_TRACE(style.name);
    try {
      run_ranks(cell.ranks, [&] {
        check_rank(cell.structure, cell.protocol, style.name, expected);
      });
    } catch (const std::exception& error) {
      ADD_FAILURE() << style.name << ": " << error.what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Matrix, ExactlyOnce, ::testing::ValuesIn(all_cells()),
                         [](const auto& cell) { return cell.param.name(); });

// The tables of docs/exactly_once.md match this test.
TEST(ExactlyOnceDocument, ListsTheTestedModels) {
  std::vector<std::string> names;
  std::vector<std::string> rules;
  for (const Style& style : kStyles) {
    names.push_back(style.name);
    rules.push_back(":-:");
  }
  std::string table =
      absl::StrCat("| model | ", absl::StrJoin(names, " | "), " |\n|---|",
                   absl::StrJoin(rules, "|"), "|\n");
  for (const Structure& structure : structures()) {
    absl::StrAppend(&table, "| ", structure.name, " |");
    for (std::size_t i = 0; i < std::size(kStyles); ++i) {
      absl::StrAppend(&table, " 1 |");
    }
    absl::StrAppend(&table, "\n");
  }
  std::ifstream file(HVD_FIXTURES "/../../docs/exactly_once.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(text.find(table), std::string::npos) << "the table should be:\n\n"
                                                 << table;
  for (const Protocol& protocol : protocols()) {
    EXPECT_NE(text.find(absl::StrCat("| `", protocol.name, "` |")),
              std::string::npos)
        << "lacks the row of " << protocol.name;
  }
}

// The document has the result of PyTorch's DDP, made by a script, for each of
// these models.
TEST(ExactlyOnceDocument, HasPyTorchsResults) {
  std::ifstream file(HVD_FIXTURES "/../../docs/exactly_once.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto begin = text.find("<!-- exactly_once_of_peers.py writes");
  ASSERT_NE(begin, std::string::npos);
  const auto table = text.substr(begin);
  for (const Structure& structure : structures()) {
    const std::string row = absl::StrCat("\n| ", structure.name, " | ");
    const auto at = table.find(row);
    ASSERT_NE(at, std::string::npos) << "lacks " << structure.name;
    const auto end = table.find('\n', at + 1);
    std::istringstream cells(
        table.substr(at + row.size(), end - at - row.size()));
    int count = 0;
    for (std::string cell; std::getline(cells, cell, '|');) {
      cell = std::string(absl::StripAsciiWhitespace(cell));
      if (cell.empty()) continue;
      ++count;
      EXPECT_TRUE(cell == "equal" || cell == "**wrong**" || cell == "hangs" ||
                  absl::StartsWith(cell, "error "))
          << structure.name << ": " << cell;
    }
    EXPECT_EQ(count, 6) << structure.name;
  }
}

}  // namespace
}  // namespace hvd::optim
