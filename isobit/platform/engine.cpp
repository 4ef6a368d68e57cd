#include <chrono>

#include "isobit/base/text.h"
#include "isobit/kernels/correct/inner_products.h"
#include "isobit/kernels/dispatch/dispatch.h"
#include "isobit/platform/arithmetic.h"
#include "isobit/platform/convolutions.h"
#include "isobit/platform/platform.h"
#include "isobit/platform/vendor_product.h"

namespace isobit::platform {

namespace {

using kernels::KernelContext;
using kernels::correct::integer::Backend;

// The float64 product that the platform names.
Expected<std::unique_ptr<kernels::MatrixProduct>> open_own(const Platform& platform, const KernelContext& plain) {
  if (platform.is_ordered() || platform.is_integer()) return std::make_unique<kernels::OrderedProduct>(plain);
  return open_vendor_product(platform.library, platform.core, platform.threads, plain);
}

// The integer products that the platform names; beside our own float64 product at its fastest those of a matrix unit,
// where there is one, for what is large enough. Else null.
std::unique_ptr<Backend> open_integer(const Platform& platform) {
  namespace integer = kernels::correct::integer;
  if (platform.is_integer()) {
    return std::make_unique<Backend>(platform.core == "amx" ? integer::amx_unit() : integer::plain_unit(platform.isa));
  }
  return platform.is_ordered() && platform.isa == kernels::best_isa() ? integer::open_matrix_unit() : nullptr;
}

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

OpenProduct own_product_of(const Platform& platform) {
  return [platform](const KernelContext& plain) { return open_own(platform, plain); };
}

}  // namespace

Engine::Engine(const Platform& platform) : Engine(platform, Clock(seconds_now)) {}
Engine::Engine(const Platform& platform, Clock clock)
    : platform_(platform),
      own_product_(true),
      open_product_(own_product_of(platform)),
      clock_(std::move(clock)),
      pool_(platform.threads) {}
Engine::Engine(const Platform& platform, OpenProduct product)
    : platform_(platform),
      own_product_(false),
      open_product_(std::move(product)),
      clock_(seconds_now),
      pool_(platform.threads) {}
Engine::~Engine() = default;

Status Engine::check_algorithm(const Arithmetic& arithmetic) const {
  if (platform_.algorithm.empty()) return {};
  if (arithmetic.computes_in == DType::kFloat32 && !arithmetic.promises) return {};
  return usage_error(text_of("platform '", platform_.text(), "' cannot compute ", arithmetic.name, ": convolution by ",
                             platform_.algorithm, " is there in float32 only and promises no bits; use arithmetic ",
                             "float32, or the platform without '+", platform_.algorithm, "'"));
}

Expected<Context> Engine::context_for(const Arithmetic& arithmetic) {
  Context context(arithmetic, {platform_.isa, &pool_});
  ISOBIT_RETURN_IF_ERROR(check_algorithm(arithmetic));
  if (!platform_.is_ordered() && !arithmetic.any_library) {
    return usage_error(text_of("platform '", platform_.text(), "' cannot compute ", arithmetic.name,
                               ", whose order is written down: use 'ordered', or a job of arithmetic correct-1"));
  }
  if (platform_.is_integer() && !arithmetic.corrects) {
    return usage_error(text_of("platform '", platform_.text(), "' cannot compute ", arithmetic.name,
                               ": its integer products stand behind the rounding of correct-1 alone; use 'ordered', ",
                               "or a job of arithmetic correct-1"));
  }
  if (arithmetic.corrects) {
    ISOBIT_RETURN_IF_ERROR(open_correct());
    context.kernels_.products_f32 = correct_.get();
    context.correct_ = correct_;
  } else if (arithmetic.computes_in == DType::kFloat64) {
    // The other type's products may be open or not, whatever else was asked of this engine: ours compute those.
    if (!platform_.is_ordered()) ISOBIT_RETURN_IF_ERROR(open_float64());
    context.kernels_.products_f64 = float64_.get();
  } else if (!arithmetic.promises) {
    if (!platform_.is_ordered() || !platform_.algorithm.empty()) ISOBIT_RETURN_IF_ERROR(open_float32());
    context.kernels_.products_f32 = float32_.get();
  }
  return context;
}

Status Engine::open_correct() {
  if (correct_ != nullptr) return {};
  const KernelContext plain{platform_.isa, &pool_};
  ISOBIT_TRY(std::unique_ptr<kernels::MatrixProduct> product, open_product_(plain));
  correct_ = std::make_shared<kernels::correct::CorrectInnerProducts>(plain, std::move(product),
                                                                      own_product_ ? open_integer(platform_) : nullptr);
  return {};
}

Status Engine::open_float32() {
  if (float32_ != nullptr) return {};
  const KernelContext plain{platform_.isa, &pool_};
  if (!platform_.algorithm.empty()) {
    ISOBIT_TRY(float32_, open_convolutions(platform_, plain, clock_));
    return {};
  }
  ISOBIT_TRY(float32_, open_vendor_inner_products<float>(platform_.library, platform_.core, platform_.threads, plain));
  return {};
}

Status Engine::open_float64() {
  if (float64_ != nullptr) return {};
  const KernelContext plain{platform_.isa, &pool_};
  ISOBIT_TRY(float64_, open_vendor_inner_products<double>(platform_.library, platform_.core, platform_.threads, plain));
  return {};
}

Repairs Context::repairs() const {
  if (correct_ == nullptr) return {};
  const auto& s = correct_->statistics();
  return {s.elements, s.repaired};
}

}  // namespace isobit::platform
