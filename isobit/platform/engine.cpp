#include "isobit/base/text.h"
#include "isobit/kernels/correct/inner_products.h"
#include "isobit/platform/arithmetic.h"
#include "isobit/platform/platform.h"
#include "isobit/platform/vendor_product.h"

namespace isobit::platform {

namespace {

using kernels::KernelContext;

// The float64 product that the platform names.
Expected<std::unique_ptr<kernels::MatrixProduct>> open_own(const Platform& platform, const KernelContext& plain) {
  if (platform.is_ordered()) return std::make_unique<kernels::OrderedProduct>(plain);
  return open_vendor_product(platform.library, platform.core, platform.threads, plain);
}

}  // namespace

Engine::Engine(const Platform& platform)
    : Engine(platform, [platform](const KernelContext& plain) { return open_own(platform, plain); }) {}
Engine::Engine(const Platform& platform, OpenProduct product)
    : platform_(platform), open_product_(std::move(product)), pool_(platform.threads) {}
Engine::~Engine() = default;

Expected<Context> Engine::context_for(const Arithmetic& arithmetic) {
  Context context(arithmetic, {platform_.isa, &pool_});
  if (!platform_.is_ordered() && !arithmetic.any_library) {
    return usage_error(text_of("platform '", platform_.text(), "' cannot compute ", arithmetic.name,
                               ", whose order is written down: use 'ordered', or a job of arithmetic correct-1"));
  }
  if (arithmetic.corrects) {
    ISOBIT_RETURN_IF_ERROR(open_correct());
    context.kernels_.products_f32 = correct_.get();
    context.correct_ = correct_;
  } else if (!platform_.is_ordered()) {
    ISOBIT_RETURN_IF_ERROR(open_plain(arithmetic.computes_in == DType::kFloat64));
    // The other type's products may be open or not, whatever else was asked of this engine: ours compute those.
    if (arithmetic.computes_in == DType::kFloat64) {
      context.kernels_.products_f64 = float64_.get();
    } else {
      context.kernels_.products_f32 = float32_.get();
    }
  }
  return context;
}

Status Engine::open_correct() {
  if (correct_ != nullptr) return {};
  const KernelContext plain{platform_.isa, &pool_};
  ISOBIT_TRY(std::unique_ptr<kernels::MatrixProduct> product, open_product_(plain));
  correct_ = std::make_shared<kernels::correct::CorrectInnerProducts>(plain, std::move(product));
  return {};
}

Status Engine::open_plain(bool in_float64) {
  const KernelContext plain{platform_.isa, &pool_};
  if (in_float64 && float64_ == nullptr) {
    ISOBIT_TRY(float64_,
               open_vendor_inner_products<double>(platform_.library, platform_.core, platform_.threads, plain));
  }
  if (!in_float64 && float32_ == nullptr) {
    ISOBIT_TRY(float32_,
               open_vendor_inner_products<float>(platform_.library, platform_.core, platform_.threads, plain));
  }
  return {};
}

Repairs Context::repairs() const {
  if (correct_ == nullptr) return {};
  const auto& s = correct_->statistics();
  return {s.elements, s.repaired};
}

}  // namespace isobit::platform
