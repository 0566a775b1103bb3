// SPDX-License-Identifier: Apache-2.0
#include "horovodpp/ops/binary/pair_ops.h"

#include "horovodpp/autograd/record/autocast.h"
#include "horovodpp/ops/binary/logic_ops.h"
#include "horovodpp/ops/binary/pair_formulas.h"
#include "horovodpp/ops/binary/recorded_binary.h"
#include "horovodpp/ops/elementwise_ops.h"
#include "horovodpp/tensor/factories.h"

namespace hvd {
namespace autograd {
namespace {

Tensor zero_of(const Tensor& dz) { return zeros({}, {.dtype = dz.dtype()}); }

struct Copysign : formulas::Copysign {
  static constexpr PairId kVector = PairId::kCopysign;
  static constexpr const char* kNode = "CopysignBackward";
  static constexpr unsigned kFirst = kA | kOut;
  static constexpr unsigned kSecond = kNothing;
  static Tensor first(const Tensor& dz, const Saved& x) {
    const Tensor sign = div(x.out.detach(), x.a.detach());
    return where(eq(x.a, 0.0), zero_of(dz), mul(dz, sign));
  }
  static Tensor second(const Tensor& dz, const Saved&) {
    return zeros_like(dz);
  }
};

// The next number moves along, but for a that stays at b.
struct Nextafter : formulas::Nextafter {
  static constexpr const char* kNode = "NextafterBackward";
  static constexpr unsigned kFirst = kA | kB;
  static constexpr unsigned kSecond = kNothing;
  static Tensor first(const Tensor& dz, const Saved& x) {
    return where(eq(x.a, x.b), zero_of(dz), dz);
  }
  static Tensor second(const Tensor& dz, const Saved&) {
    return zeros_like(dz);
  }
};

// z = ln(e^a + e^b):  da = dz / (1 + e^(b - a)),  db = dz / (1 + e^(a - b))
struct Logaddexp : formulas::Logaddexp {
  static constexpr PairId kVector = PairId::kLogaddexp;
  static constexpr const char* kNode = "LogaddexpBackward";
  static constexpr unsigned kFirst = kA | kB;
  static constexpr unsigned kSecond = kA | kB;
  static Tensor first(const Tensor& dz, const Saved& x) {
    return div(dz, add(exp(sub(x.b, x.a)), 1.0));
  }
  static Tensor second(const Tensor& dz, const Saved& x) {
    return div(dz, add(exp(sub(x.a, x.b)), 1.0));
  }
};
struct Logaddexp2 : formulas::Logaddexp2 {
  static constexpr PairId kVector = PairId::kLogaddexp2;
  static constexpr const char* kNode = "Logaddexp2Backward";
  static constexpr unsigned kFirst = kA | kB;
  static constexpr unsigned kSecond = kA | kB;
  // dz / (1 + 2^gap)
  static Tensor share(const Tensor& dz, const Tensor& gap) {
    return div(dz, add(exp(mul(gap, std::numbers::ln2)), 1.0));
  }
  static Tensor first(const Tensor& dz, const Saved& x) {
    return share(dz, sub(x.b, x.a));
  }
  static Tensor second(const Tensor& dz, const Saved& x) {
    return share(dz, sub(x.a, x.b));
  }
};

// z = a ln b:  da = dz ln b, 0 where a is 0 and b <= 0;  db = dz a / b
struct Xlogy : formulas::Xlogy {
  static constexpr PairId kVector = PairId::kXlogy;
  static constexpr const char* kNode = "XlogyBackward";
  static constexpr unsigned kFirst = kA | kB;
  static constexpr unsigned kSecond = kA | kB;
  static Tensor first(const Tensor& dz, const Saved& x) {
    return where(logical_and(eq(x.a, 0.0), le(x.b, 0.0)), zero_of(dz),
                 recorded_binary<Xlogy>(dz, x.b));
  }
  static Tensor second(const Tensor& dz, const Saved& x) {
    return div(mul(dz, x.a), x.b);
  }
};
struct Xlog1py : formulas::Xlog1py {
  static constexpr PairId kVector = PairId::kXlog1py;
  static constexpr const char* kNode = "Xlog1pyBackward";
  static constexpr unsigned kFirst = kA | kB;
  static constexpr unsigned kSecond = kA | kB;
  static Tensor first(const Tensor& dz, const Saved& x) {
    return where(logical_and(eq(x.a, 0.0), le(x.b, -1.0)), zero_of(dz),
                 recorded_binary<Xlog1py>(dz, x.b));
  }
  static Tensor second(const Tensor& dz, const Saved& x) {
    return div(mul(dz, x.a), add(x.b, 1.0));
  }
};

// Adds to a description: the gradients are 0.
template <typename Formula>
struct Stepwise : Formula {
  static constexpr const char* kNode = "DivBackward";
  static constexpr unsigned kFirst = kNothing;
  static constexpr unsigned kSecond = kNothing;
  static Tensor first(const Tensor& dz, const Saved&) { return zeros_like(dz); }
  static Tensor second(const Tensor& dz, const Saved&) {
    return zeros_like(dz);
  }
};
using DivideToZero = Stepwise<formulas::DivideToZero>;
using DivideDown = Stepwise<formulas::FloorDivide>;

}  // namespace
}  // namespace autograd

using autograd::recorded_binary;
using autograd::unrecorded_binary;
using autograd::write_result;
namespace formulas = autograd::formulas;

Tensor copysign(const Tensor& a, const Tensor& b) {
  return recorded_binary<autograd::Copysign>(a, b);
}
Tensor nextafter(const Tensor& a, const Tensor& b) {
  return recorded_binary<autograd::Nextafter>(a, b);
}
Tensor heaviside(const Tensor& x, const Tensor& at_zero) {
  autograd::check_same_dtype(x, at_zero, "heaviside");
  return unrecorded_binary<formulas::Heaviside>(x, at_zero);
}
Tensor gcd(const Tensor& a, const Tensor& b) {
  return unrecorded_binary<formulas::Gcd>(a, b);
}
Tensor lcm(const Tensor& a, const Tensor& b) {
  return unrecorded_binary<formulas::Lcm>(a, b);
}
Tensor logaddexp(const Tensor& a, const Tensor& b) {
  return recorded_binary<autograd::Logaddexp>(a, b);
}
Tensor logaddexp2(const Tensor& a, const Tensor& b) {
  return recorded_binary<autograd::Logaddexp2>(a, b);
}
Tensor xlogy(const Tensor& a, const Tensor& b) {
  return recorded_binary<autograd::Xlogy>(a, b);
}
Tensor xlog1py(const Tensor& a, const Tensor& b) {
  return recorded_binary<autograd::Xlog1py>(a, b);
}

Tensor div(const Tensor& a, const Tensor& b, Rounding rounding) {
  return rounding == Rounding::kTrunc
             ? recorded_binary<autograd::DivideToZero>(a, b)
             : recorded_binary<autograd::DivideDown>(a, b);
}

const Tensor& copysign_(const Tensor& a, const Tensor& b) {
  return write_result<autograd::Copysign>(a, b, copysign);
}
const Tensor& nextafter_(const Tensor& a, const Tensor& b) {
  return write_result<autograd::Nextafter>(a, b, nextafter);
}
const Tensor& heaviside_(const Tensor& x, const Tensor& at_zero) {
  return write_result<formulas::Heaviside>(x, at_zero, heaviside);
}
const Tensor& gcd_(const Tensor& a, const Tensor& b) {
  return write_result<formulas::Gcd>(a, b, gcd);
}
const Tensor& lcm_(const Tensor& a, const Tensor& b) {
  return write_result<formulas::Lcm>(a, b, lcm);
}
const Tensor& xlogy_(const Tensor& a, const Tensor& b) {
  return write_result<autograd::Xlogy>(a, b, xlogy);
}

}  // namespace hvd
