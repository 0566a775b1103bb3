// SPDX-License-Identifier: Apache-2.0
// Writes by indices and masks compute the values and gradients of PyTorch, have
// second derivatives, and are the same in place.
// test/fixtures/make_index_fixtures.py makes the expected numbers.
#include "horovodpp/ops.h"
#include "test/autograd/grid.h"
#include "test/ops/torch_cases.h"

namespace hvd {
namespace {

using autograd::Dims;

const std::vector<Dims> kRowsAndParts = {{3, 4}, {2, 4}};
const std::vector<Dims> kRowsAndRows = {{3, 4}, {3, 4}};
const std::vector<Dims> kThreeRows = {{3, 4}};

Tensor int64s(const std::vector<std::int64_t>& values, const Dims& shape) {
  return from_vector(values, shape);
}

Tensor repeated_places() { return int64s({0, 2, 2, 0, 1, 0, 2, 0}, {2, 4}); }
Tensor distinct_places() { return int64s({0, 2, 1, 0, 1, 0, 2, 2}, {2, 4}); }
Tensor repeated_rows() { return int64s({2, 0, 2}, {3}); }
Tensor distinct_rows() { return int64s({2, 0, 1}, {3}); }
Tensor some_mask() {
  return int64s({1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 0}, {3, 4}).to(DType::kBool);
}
Tensor elements() {
  return int64s({0, 5, -1, 5, 0, 1, 2, 3, 4, 6, 7, 8}, {12});
}

TorchCases reductions_by_index() {
  TorchCases all;
  const std::map<std::string, ScatterReduce> names = {
      {"sum", ScatterReduce::kSum},
      {"prod", ScatterReduce::kProd},
      {"mean", ScatterReduce::kMean},
      {"amax", ScatterReduce::kMax},
      {"amin", ScatterReduce::kMin}};
  for (const auto& [name, reduce] : names) {
    for (const bool include : {true, false}) {
      all["scatter_" + name + (include ? "" : "_alone")] = {
          kRowsAndParts, [r = reduce, include](X x) {
            return scatter_reduce(x[0], 0, repeated_places(), x[1], r, include);
          }};
    }
  }
  return all;
}

TorchCases writes() {
  return {
      {"scatter",
       {kRowsAndParts,
        [](X x) { return scatter(x[0], 0, distinct_places(), x[1]); }}},
      {"scatter_number",
       {kThreeRows,
        [](X x) { return scatter(x[0], 0, distinct_places(), 0.75); }}},
      {"index_add",
       {kRowsAndRows,
        [](X x) { return index_add(x[0], 0, repeated_rows(), x[1], 1.5); }}},
      {"index_copy",
       {kRowsAndRows,
        [](X x) { return index_copy(x[0], 0, distinct_rows(), x[1]); }}},
      {"index_put",
       {kRowsAndRows,
        [](X x) { return index_put(x[0], {distinct_rows()}, x[1]); }}},
      {"index_put_accumulate",
       {kRowsAndRows,
        [](X x) { return index_put(x[0], {repeated_rows()}, x[1], true); }}},
      {"index_fill",
       {kThreeRows,
        [](X x) {
          return index_fill(x[0], 1, int64s({-1, 1}, {2}), 0.5);
        }}},
      {"put_accumulate",
       {kRowsAndRows,
        [](X x) { return put(x[0], elements(), x[1].reshape({12}), true); }}},
      {"masked_scatter",
       {kRowsAndRows,
        [](X x) { return masked_scatter(x[0], some_mask(), x[1]); }}},
      {"masked_fill_tensor", {{{3, 4}, {}}, [](X x) {
                                return masked_fill(x[0], some_mask(), x[1]);
                              }}}};
}

TorchCases reads() {
  return {{"take",
           {kThreeRows,
            [](X x) {
              return take(x[0], int64s({0, -1, 3, 3, 3, 11}, {2, 3}));
            }}},
          {"take_along_dim",
           {kThreeRows,
            [](X x) {
              return take_along_dim(x[0], int64s({1, 0, 3}, {3, 1}), 1);
            }}},
          {"masked_select",
           {kThreeRows, [](X x) { return masked_select(x[0], some_mask()); }}}};
}

// The same writes, to a transposed tensor that an operation made.
TorchCases in_place() {
  const auto on = [](void (*write)(const Tensor&, X)) {
    return [write](X x) {
      const Tensor target = (x[0].t() * 1.0).t();
      write(target, x);
      return target;
    };
  };
  return {{"scatter", {kRowsAndParts, on([](const Tensor& t, X x) {
                         scatter_(t, 0, distinct_places(), x[1]);
                       })}},
          {"scatter_number", {kThreeRows, on([](const Tensor& t, X) {
                                scatter_(t, 0, distinct_places(), 0.75);
                              })}},
          {"scatter_sum", {kRowsAndParts, on([](const Tensor& t, X x) {
                             scatter_add_(t, 0, repeated_places(), x[1]);
                           })}},
          {"scatter_amax", {kRowsAndParts, on([](const Tensor& t, X x) {
                              scatter_reduce_(t, 0, repeated_places(), x[1],
                                              ScatterReduce::kMax);
                            })}},
          {"index_add", {kRowsAndRows, on([](const Tensor& t, X x) {
                           index_add_(t, 0, repeated_rows(), x[1], 1.5);
                         })}},
          {"index_copy", {kRowsAndRows, on([](const Tensor& t, X x) {
                            index_copy_(t, 0, distinct_rows(), x[1]);
                          })}},
          {"index_fill", {kThreeRows, on([](const Tensor& t, X) {
                            index_fill_(t, 1, int64s({-1, 1}, {2}), 0.5);
                          })}},
          {"index_put_accumulate", {kRowsAndRows, on([](const Tensor& t, X x) {
                                      index_put_(t, {repeated_rows()}, x[1],
                                                 true);
                                    })}},
          {"put_accumulate", {kRowsAndRows, on([](const Tensor& t, X x) {
                                put_(t, elements(), x[1].reshape({12}), true);
                              })}},
          {"masked_scatter", {kRowsAndRows, on([](const Tensor& t, X x) {
                                masked_scatter_(t, some_mask(), x[1]);
                              })}},
          {"masked_fill_tensor", {{{3, 4}, {}}, on([](const Tensor& t, X x) {
                                    masked_fill_(t, some_mask(), x[1]);
                                  })}}};
}

TorchCases index_cases() {
  TorchCases all = writes();
  all.merge(reads());
  all.merge(reductions_by_index());
  return all;
}

TEST(Indices, AreThoseOfPyTorch) {
  hold_all_to_pytorch(read_fixture("indices.safetensors"), index_cases());
}

TEST(Indices, AreThoseOfPyTorchInPlace) {
  const Fixture fixture = read_fixture("indices.safetensors");
  for (const auto& [name, c] : in_place()) {
    SCOPED_TRACE(name);
    hold_to_pytorch(fixture, name, c, DType::kF32, 1e-5);
    hold_to_pytorch(fixture, name, c, DType::kF64, 1e-12);
  }
}

TEST(Indices, HaveTheirDerivatives) {
  TorchCases all = index_cases();
  all.merge(in_place());
  for (const auto& [name, c] : all) {
    SCOPED_TRACE(name);
    const bool is_extreme = name.find("_am") != std::string::npos;
    check_grid(
        [&, run = c.run](const Inputs& x) {
          const Tensor y = run(x);
          return y * y;
        },
        c.shapes, {.repeated = !is_extreme});
  }
}

}  // namespace
}  // namespace hvd
