#include "isobit/base/text.h"
#include "isobit/kernels/correct/inner_products.h"
#include "isobit/platform/platform.h"
#include "isobit/platform/vendor_product.h"

namespace isobit::platform {

Engine::Engine(const Platform& platform) : platform_(platform), pool_(platform.threads) {}
Engine::~Engine() = default;

kernels::KernelContext Engine::context() { return {platform_.isa, &pool_, inner_products_.get()}; }

Status Engine::use_arithmetic(std::string_view arithmetic) {
  if (arithmetic == arithmetic_) return {};
  const kernels::KernelContext plain{platform_.isa, &pool_};
  if (arithmetic == "ordered-1") {
    if (platform_.backend != "ordered") {
      return usage_error(text_of("platform '", platform_.text(), "' cannot compute ", arithmetic,
                                 ", whose order is written down: use 'ordered', or a job of arithmetic correct-1"));
    }
    inner_products_ = nullptr;
  } else if (arithmetic == "correct-1") {
    std::unique_ptr<kernels::correct::Float64Product> product;
    if (platform_.backend == "ordered") {
      product = std::make_unique<kernels::correct::OrderedProduct>(plain);
    } else {
      ISOBIT_TRY(product, open_vendor_product(platform_.backend, platform_.core, platform_.threads, plain));
    }
    inner_products_ = std::make_unique<kernels::correct::CorrectInnerProducts>(plain, std::move(product));
  } else {
    return unreadable(text_of("arithmetic '", arithmetic, "' is not one of this version: ordered-1, correct-1"));
  }
  arithmetic_ = arithmetic;
  return {};
}

Repairs Engine::repairs() const {
  if (inner_products_ == nullptr) return {};
  const auto& s = inner_products_->statistics();
  return {s.elements, s.repaired};
}

}  // namespace isobit::platform
