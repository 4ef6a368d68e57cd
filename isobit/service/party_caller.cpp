#include "isobit/service/party_caller.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "isobit/base/machine_cannot.h"
#include "isobit/base/text.h"
#include "isobit/service/grpc_log.h"
#include "isobit/service/party.grpc.pb.h"

namespace isobit::service {
namespace {

// For how long a party is asked who it is: one that has never been reached, and one whose connections are cut.
constexpr auto kAboutTime = std::chrono::milliseconds(5'000), kAboutTimeReached = std::chrono::milliseconds(30'000);
constexpr auto kLookEvery = std::chrono::milliseconds(200);  // whether to go on connecting

grpc::ChannelArguments arguments_of(std::chrono::milliseconds call_time) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(static_cast<int>(kMaxGrpcBytes));
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // the address that was named, whatever the environment says
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, static_cast<int>(call_time.count()));  // and the time to connect
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
  // A connection that takes what is sent and gives nothing back is given up.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, static_cast<int>(std::max<int64_t>(1'000, call_time.count() / 2)));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, static_cast<int>(std::max<int64_t>(1'000, call_time.count() / 2)));
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return arguments;
}

}  // namespace

struct PartyCaller::Impl {
  std::string address;
  std::chrono::milliseconds call_time{};
  Hear hear;
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<Party::Stub> stub;

  std::mutex mutex;
  std::condition_variable wake;
  struct Next {
    Bytes message;
    uint64_t most = 0;
  };
  std::optional<Next> next;
  Bytes saying;  // what is under way
  grpc::ClientContext* context = nullptr;
  bool stop = false;
  std::thread thread;

  Expected<std::vector<Bytes>> call(const Next& what, grpc::ClientContext& with) {
    with.set_deadline(std::chrono::system_clock::now() + call_time);
    Words words;
    words.set_message(what.message.data(), what.message.size());
    const auto reader = stub->Say(&with, words);
    Assembly assembly(what.most);
    Status taken;
    Piece piece;
    while (reader->Read(&piece)) {
      taken = assembly.add(as_bytes(piece.bytes()), piece.ends());
      if (!taken) {
        with.TryCancel();
        break;
      }
    }
    const grpc::Status status = reader->Finish();
    if (!taken) return tl::unexpected<Error>(taken.error());
    if (!status.ok()) return unavailable(status.error_message());
    return assembly.finish();
  }

  // gRPC goes on with a connection only while somebody waits for it, and a call that fails at once waits for nothing:
  // after one that failed a party that is there again would not be reached.
  void connect(std::unique_lock<std::mutex>& lock) {
    const auto until = std::chrono::system_clock::now() + call_time;
    bool connected = false;
    while (!stop && !connected && std::chrono::system_clock::now() < until) {
      lock.unlock();
      connected = channel->WaitForConnected(std::chrono::system_clock::now() + kLookEvery);
      lock.lock();
    }
  }

  void run() {
    std::unique_lock lock(mutex);
    bool failed = false;
    while (true) {
      wake.wait(lock, [&] { return stop || next; });
      if (failed) connect(lock);
      if (stop) return;
      const Next what = std::move(*next);
      next.reset();
      saying = what.message;
      grpc::ClientContext with;
      context = &with;
      lock.unlock();
      auto said = call(what, with);
      lock.lock();
      context = nullptr;
      saying.clear();
      if (stop) return;
      failed = !said;
      lock.unlock();
      hear({what.message, std::move(said)});
      lock.lock();
    }
  }
};

PartyCaller::PartyCaller(const std::string& address, const Tls& tls, std::chrono::milliseconds call_time, Hear hear)
    : impl_(std::make_unique<Impl>()) {
  set_grpc_log(nullptr);  // what matters comes with each call
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = tls.authority;
  options.pem_private_key = tls.key;
  options.pem_cert_chain = tls.certificate;
  impl_->address = address;
  impl_->call_time = call_time;
  impl_->hear = std::move(hear);
  impl_->channel = grpc::CreateCustomChannel(address, grpc::SslCredentials(options), arguments_of(call_time));
  impl_->stub = Party::NewStub(impl_->channel);
  try {
    impl_->thread = std::thread([impl = impl_.get()] { impl->run(); });
  } catch (const std::system_error&) {
    throw MachineCannot("the system starts no thread to call a party");
  }
}

PartyCaller::~PartyCaller() {
  {
    const std::scoped_lock lock(impl_->mutex);
    impl_->stop = true;
    if (impl_->context != nullptr) impl_->context->TryCancel();
    impl_->wake.notify_all();
  }
  impl_->thread.join();
}

Expected<About> PartyCaller::about() {
  const auto begin = std::chrono::steady_clock::now();
  bool reached = false;
  while (true) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + impl_->call_time);
    AboutReply reply;
    const grpc::Status status = impl_->stub->About(&context, {}, &reply);
    if (status.ok()) return decode_about(as_bytes(reply.SerializeAsString()), impl_->address);
    // One connection that was cut says nothing of the next.
    const bool is_cut = reached && status.error_code() == grpc::StatusCode::UNAVAILABLE;
    if (std::chrono::steady_clock::now() - begin > (is_cut ? kAboutTimeReached : kAboutTime)) {
      return unavailable(text_of(impl_->address, ": cannot be asked which run it is for: ", status.error_message()));
    }
    const auto soon = std::chrono::system_clock::now() + kAboutTime / 10;
    if (!impl_->channel->WaitForConnected(soon)) continue;
    reached = true;
    std::this_thread::sleep_until(soon);
  }
}

void PartyCaller::say(Bytes message, uint64_t most) {
  const std::scoped_lock lock(impl_->mutex);
  if (impl_->saying == message && !message.empty()) return;
  impl_->next = Impl::Next{std::move(message), most};
  impl_->wake.notify_one();
}

}  // namespace isobit::service
