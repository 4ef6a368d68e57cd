#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#include "bench/rivals.h"
#include "isobit/base/text.h"

namespace isobit::bench::onednn {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

dnnl::stream& stream() {
  static dnnl::stream one(engine());
  return one;
}

memory::desc described(const memory::dims& dims, Tag tag) { return {dims, memory::data_type::f32, tag}; }

void reorder(memory from, memory to) {
  dnnl::reorder(from, to).execute(stream(), from, to);
  stream().wait();
}

// A tensor of the caller and the memory that the primitive works on, which may be the same.
struct Place {
  int argument;
  memory plain, used;

  Place(int which, const memory::desc& wanted, const memory::desc& lies, float* data)
      : argument(which), plain(lies, engine(), data), used(plain) {
    if (wanted == lies) return;
    used = memory(wanted, engine());
    reorder(plain, used);
  }
};

Prepared prepared(const dnnl::primitive& primitive, const std::vector<Place>& places, int result) {
  auto arguments = std::make_shared<std::unordered_map<int, memory>>();
  for (const Place& place : places) arguments->emplace(place.argument, place.used);
  Prepared out;
  out.run = [primitive, arguments] {
    primitive.execute(stream(), *arguments);
    stream().wait();
  };
  for (const Place& place : places) {
    if (place.argument != result || place.used.get_desc() == place.plain.get_desc()) continue;
    out.fetch = [place] { reorder(place.used, place.plain); };
  }
  return out;
}

}  // namespace

std::string version() {
  const dnnl_version_t* v = dnnl_version();
  return text_of(v->major, ".", v->minor, ".", v->patch);
}

void sgemm(const Product& p) {
  dnnl::sgemm(p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N', p.m, p.n, p.k, 1.0f, p.a, p.transpose_a ? p.m : p.k,
              p.b, p.transpose_b ? p.k : p.n, 0.0f, p.c, p.n);
}

Prepared matmul(const Product& p) {
  const auto a = described({p.m, p.k}, p.transpose_a ? Tag::ba : Tag::ab);
  const auto b = described({p.k, p.n}, p.transpose_b ? Tag::ba : Tag::ab);
  const auto c = described({p.m, p.n}, Tag::ab);
  const dnnl::matmul::primitive_desc described_matmul(engine(), a, b, c);
  return prepared(dnnl::matmul(described_matmul),
                  {{DNNL_ARG_SRC, a, a, const_cast<float*>(p.a)},
                   {DNNL_ARG_WEIGHTS, b, b, const_cast<float*>(p.b)},
                   {DNNL_ARG_DST, c, c, p.c}},
                  DNNL_ARG_DST);
}

Prepared convolution(const kernels::ConvShape& s, Pass pass, float* src, float* weights, float* dst, Images images) {
  const memory::dims strides{s.stride_h, s.stride_w}, low{s.pad_top, s.pad_left}, high{s.pad_bottom, s.pad_right};
  const auto lies_src = described({s.n, s.ic, s.ih, s.iw}, Tag::nchw);
  const auto lies_weights = described({s.oc, s.ic, s.kh, s.kw}, Tag::oihw);
  const auto lies_dst = described({s.n, s.oc, s.oh(), s.ow()}, Tag::nchw);
  const Tag tag = images == Images::kNchw ? Tag::nchw : images == Images::kNhwc ? Tag::nhwc : Tag::any;
  const auto a = described(lies_src.get_dims(), tag), b = described(lies_weights.get_dims(), Tag::any),
             c = described(lies_dst.get_dims(), tag);
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const dnnl::convolution_forward::primitive_desc forward(engine(), dnnl::prop_kind::forward_training, algorithm, a, b,
                                                          c, strides, low, high);
  const auto slow = [&](const auto& p) {
    return images != Images::kChosen && std::string(p.impl_info_str()).starts_with("ref");
  };
  if (pass == Pass::kForward) {
    if (slow(forward)) return {};
    return prepared(dnnl::convolution_forward(forward),
                    {{DNNL_ARG_SRC, forward.src_desc(), lies_src, src},
                     {DNNL_ARG_WEIGHTS, forward.weights_desc(), lies_weights, weights},
                     {DNNL_ARG_DST, forward.dst_desc(), lies_dst, dst}},
                    DNNL_ARG_DST);
  }
  if (pass == Pass::kGradSrc) {
    const dnnl::convolution_backward_data::primitive_desc p(engine(), algorithm, a, b, c, strides, low, high, forward);
    if (slow(p)) return {};
    return prepared(dnnl::convolution_backward_data(p),
                    {{DNNL_ARG_DIFF_SRC, p.diff_src_desc(), lies_src, src},
                     {DNNL_ARG_WEIGHTS, p.weights_desc(), lies_weights, weights},
                     {DNNL_ARG_DIFF_DST, p.diff_dst_desc(), lies_dst, dst}},
                    DNNL_ARG_DIFF_SRC);
  }
  const dnnl::convolution_backward_weights::primitive_desc p(engine(), algorithm, a, b, c, strides, low, high, forward);
  if (slow(p)) return {};
  return prepared(dnnl::convolution_backward_weights(p),
                  {{DNNL_ARG_SRC, p.src_desc(), lies_src, src},
                   {DNNL_ARG_DIFF_WEIGHTS, p.diff_weights_desc(), lies_weights, weights},
                   {DNNL_ARG_DIFF_DST, p.diff_dst_desc(), lies_dst, dst}},
                  DNNL_ARG_DIFF_WEIGHTS);
}

}  // namespace isobit::bench::onednn
