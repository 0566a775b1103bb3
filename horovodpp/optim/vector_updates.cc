// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/optim/vector_updates.h"

#include <cstddef>

#include "horovodpp/kernel/loops/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "horovodpp/optim/vector_updates.cc"
#include <hwy/foreach_target.h>
// Highway requires this include first.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace hvd::optim::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Calls lanes(d, i) for vectors, then for the remaining single elements.
template <typename T, class Lanes>
HWY_INLINE void for_each_vector(std::int64_t count, Lanes lanes) {
  const hn::ScalableTag<T> d;
  const auto end = static_cast<std::size_t>(count);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= end; i += hn::Lanes(d)) lanes(d, i);
  const hn::CappedTag<T, 1> one;
  for (; i < end; ++i) lanes(one, i);
}

template <class D>
HWY_INLINE hn::Vec<D> scaled(D d, hn::Vec<D> vector, double factor) {
  return hn::Mul(vector, hn::Set(d, static_cast<hn::TFromD<D>>(factor)));
}

template <typename T>
void update_sgd(const SgdUpdate<T>& u) {
  for_each_vector<T>(u.count, [&u](auto d, std::size_t i) HWY_ATTR {
    auto p = hn::LoadU(d, u.parameter + i);
    auto g = hn::LoadU(d, u.gradient + i);
    if (u.maximize) g = hn::Neg(g);
    if (u.decay != 0.0) g = hn::Add(g, scaled(d, p, u.decay));
    if (u.momentum != nullptr) {
      const auto b = hn::Add(scaled(d, hn::LoadU(d, u.momentum + i), u.mu),
                             scaled(d, g, u.keep));
      hn::StoreU(b, d, u.momentum + i);
      g = u.nesterov ? hn::Add(g, scaled(d, b, u.look_ahead)) : b;
    }
    hn::StoreU(hn::Sub(p, scaled(d, g, u.rate)), d, u.parameter + i);
  });
}

template <typename T>
void update_adam(const AdamUpdate<T>& u) {
  for_each_vector<T>(u.count, [&u](auto d, std::size_t i) HWY_ATTR {
    auto p = hn::LoadU(d, u.parameter + i);
    auto g = hn::LoadU(d, u.gradient + i);
    if (u.maximize) g = hn::Neg(g);
    if (u.shrink != 1.0) p = scaled(d, p, u.shrink);
    if (u.decay != 0.0) g = hn::Add(g, scaled(d, p, u.decay));
    auto m = hn::LoadU(d, u.average + i);
    m = hn::Add(m, scaled(d, hn::Sub(g, m), 1.0 - u.beta1));
    hn::StoreU(m, d, u.average + i);
    auto v = scaled(d, hn::LoadU(d, u.average_square + i), u.beta2);
    v = hn::Add(v, hn::Mul(scaled(d, g, 1.0 - u.beta2), g));
    hn::StoreU(v, d, u.average_square + i);
    if (u.max_square != nullptr) {
      v = hn::Max(hn::LoadU(d, u.max_square + i), v);
      hn::StoreU(v, d, u.max_square + i);
    }
    using Lane = hn::TFromD<decltype(d)>;
    const auto root =
        hn::Div(hn::Sqrt(v), hn::Set(d, static_cast<Lane>(u.root_correction)));
    const auto divisor = hn::Add(root, hn::Set(d, static_cast<Lane>(u.eps)));
    const auto step = hn::Div(scaled(d, m, u.step_size), divisor);
    hn::StoreU(hn::Sub(p, step), d, u.parameter + i);
  });
}

template <typename T>
void scale_all(T* elements, std::int64_t count, double factor) {
  for_each_vector<T>(count, [&](auto d, std::size_t i) HWY_ATTR {
    const auto x = hn::LoadU(d, elements + i);
    hn::StoreU(scaled(d, x, factor), d, elements + i);
  });
}

void sgd_float(const SgdUpdate<float>& u) { update_sgd(u); }
void sgd_double(const SgdUpdate<double>& u) { update_sgd(u); }
void adam_float(const AdamUpdate<float>& u) { update_adam(u); }
void adam_double(const AdamUpdate<double>& u) { update_adam(u); }
void scale_float(float* x, std::int64_t n, double by) { scale_all(x, n, by); }
void scale_double(double* x, std::int64_t n, double by) { scale_all(x, n, by); }

}  // namespace
}  // namespace hvd::optim::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hvd::optim {

HWY_EXPORT(sgd_float);
HWY_EXPORT(sgd_double);
HWY_EXPORT(adam_float);
HWY_EXPORT(adam_double);
HWY_EXPORT(scale_float);
HWY_EXPORT(scale_double);

template <>
void update(const SgdUpdate<float>& u) {
  HWY_DYNAMIC_DISPATCH(sgd_float)(u);
}
template <>
void update(const SgdUpdate<double>& u) {
  HWY_DYNAMIC_DISPATCH(sgd_double)(u);
}
template <>
void update(const AdamUpdate<float>& u) {
  HWY_DYNAMIC_DISPATCH(adam_float)(u);
}
template <>
void update(const AdamUpdate<double>& u) {
  HWY_DYNAMIC_DISPATCH(adam_double)(u);
}
template <>
double sum_of_squares(const float* elements, std::int64_t count) {
  return autograd::rows::sum_of_squares(elements,
                                        static_cast<std::size_t>(count));
}
template <>
double sum_of_squares(const double* elements, std::int64_t count) {
  return autograd::rows::sum_of_squares(elements,
                                        static_cast<std::size_t>(count));
}
template <>
void scale(float* elements, std::int64_t count, double factor) {
  HWY_DYNAMIC_DISPATCH(scale_float)(elements, count, factor);
}
template <>
void scale(double* elements, std::int64_t count, double factor) {
  HWY_DYNAMIC_DISPATCH(scale_double)(elements, count, factor);
}

}  // namespace hvd::optim
#endif  // HWY_ONCE
