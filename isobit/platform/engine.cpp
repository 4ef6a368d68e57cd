#include "isobit/base/text.h"
#include "isobit/kernels/correct/inner_products.h"
#include "isobit/platform/arithmetic.h"
#include "isobit/platform/platform.h"
#include "isobit/platform/vendor_product.h"

namespace isobit::platform {

Engine::Engine(const Platform& platform) : platform_(platform), pool_(platform.threads) {}
Engine::~Engine() = default;

kernels::KernelContext Engine::context() {
  kernels::KernelContext context{platform_.isa, &pool_};
  if (arithmetic_ == nullptr) return context;
  if (arithmetic_->corrects) {
    context.products_f32 = correct_.get();
  } else if (arithmetic_->any_library) {
    context.products_f32 = float32_.get();
    context.products_f64 = float64_.get();
  }
  return context;
}

Status Engine::use_arithmetic(std::string_view name) {
  const Arithmetic* arithmetic = find_arithmetic(name);
  if (arithmetic == nullptr) {
    std::vector<std::string> names;
    for (const Arithmetic& a : arithmetics()) names.push_back(a.name);
    return unreadable(text_of("arithmetic '", name, "' is not one of this version: ", join_or(names)));
  }
  const bool ordered = platform_.backend == "ordered";
  if (!ordered && !arithmetic->any_library) {
    return usage_error(text_of("platform '", platform_.text(), "' cannot compute ", name,
                               ", whose order is written down: use 'ordered', or a job of arithmetic correct-1"));
  }
  if (arithmetic->corrects) {
    ISOBIT_RETURN_IF_ERROR(open_correct());
  } else if (!ordered) {
    ISOBIT_RETURN_IF_ERROR(open_plain(arithmetic->computes_in == DType::kFloat64));
  }
  arithmetic_ = arithmetic;
  return {};
}

Status Engine::open_correct() {
  if (correct_ != nullptr) return {};
  const kernels::KernelContext plain{platform_.isa, &pool_};
  std::unique_ptr<kernels::MatrixProduct> product;
  if (platform_.product_for_test) {
    product = platform_.product_for_test(plain);
  } else if (platform_.backend == "ordered") {
    product = std::make_unique<kernels::OrderedProduct>(plain);
  } else {
    ISOBIT_TRY(product, open_vendor_product(platform_.backend, platform_.core, platform_.threads, plain));
  }
  correct_ = std::make_unique<kernels::correct::CorrectInnerProducts>(plain, std::move(product));
  return {};
}

Status Engine::open_plain(bool in_float64) {
  const kernels::KernelContext plain{platform_.isa, &pool_};
  if (in_float64 && float64_ == nullptr) {
    ISOBIT_TRY(float64_,
               open_vendor_inner_products<double>(platform_.backend, platform_.core, platform_.threads, plain));
  }
  if (!in_float64 && float32_ == nullptr) {
    ISOBIT_TRY(float32_,
               open_vendor_inner_products<float>(platform_.backend, platform_.core, platform_.threads, plain));
  }
  return {};
}

Repairs Engine::repairs() const {
  if (correct_ == nullptr) return {};
  const auto& s = correct_->statistics();
  return {s.elements, s.repaired};
}

}  // namespace isobit::platform
