#include "isobit/service/party_server.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>

#include <mutex>

#include "isobit/base/text.h"
#include "isobit/service/acceptor.h"
#include "isobit/service/grpc_log.h"
#include "isobit/service/party.grpc.pb.h"

namespace isobit::service {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kServiceName = "isobit.service.Party";
constexpr int kHandshakeMilliseconds = 10'000;
constexpr int kIdleMilliseconds = 300'000;
constexpr int kCallsOfConnection = 16;
// Of all connections together. gRPC 1.51 finds out that a message is too long when all of it has arrived: this is what
// ends the call before.
constexpr size_t kBufferBytes = 16 << 20;

grpc::StatusCode status_of(Reply::Code code) {
  switch (code) {
    case Reply::Code::kHeard:
      return grpc::StatusCode::OK;
    case Reply::Code::kMalformed:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case Reply::Code::kStranger:
      return grpc::StatusCode::PERMISSION_DENIED;
    case Reply::Code::kOtherGame:
      return grpc::StatusCode::NOT_FOUND;
    case Reply::Code::kNotNow:
      return grpc::StatusCode::FAILED_PRECONDITION;
    case Reply::Code::kBusy:
      return grpc::StatusCode::RESOURCE_EXHAUSTED;
    case Reply::Code::kCannot:
    case Reply::Code::kEnding:
      break;
  }
  return grpc::StatusCode::UNAVAILABLE;
}

// Sends what a call came to, a piece after the other. Deletes itself when gRPC is done with it.
class Saying final : public grpc::ServerWriteReactor<Piece> {
 public:
  std::shared_ptr<Call> start() {
    auto call = std::make_shared<Call>([this](std::shared_ptr<const Reply> reply) { deliver(std::move(reply)); });
    const std::scoped_lock lock(mutex_);
    call_ = call;
    return call;
  }

  void OnWriteDone(bool ok) override { ok ? next() : Finish(grpc::Status::CANCELLED); }
  void OnCancel() override {
    std::shared_ptr<Call> call;
    {
      const std::scoped_lock lock(mutex_);
      call = call_.lock();
    }
    if (call) call->finish(std::make_shared<const Reply>(Reply{Reply::Code::kEnding, "the caller left", {}}));
  }
  void OnDone() override { delete this; }

 private:
  void deliver(std::shared_ptr<const Reply> reply) {
    reply_ = std::move(reply);
    if (reply_->code != Reply::Code::kHeard) return Finish(grpc::Status(status_of(reply_->code), reply_->why));
    pieces_ = cut(reply_->messages);
    next();
  }

  void next() {
    if (sent_ == pieces_.size()) return Finish(grpc::Status::OK);
    const PieceView& piece = pieces_[sent_++];
    piece_.set_bytes(piece.bytes.data(), piece.bytes.size());
    piece_.set_ends(piece.ends);
    StartWrite(&piece_);
  }

  std::mutex mutex_;
  std::weak_ptr<Call> call_;
  std::shared_ptr<const Reply> reply_;
  std::vector<PieceView> pieces_;
  size_t sent_ = 0;
  Piece piece_;
};

class Service final : public Party::CallbackService {
 public:
  // heard: told from where each call comes.
  Service(Games& games, std::string about, std::chrono::milliseconds call_time,
          std::function<void(const std::string& peer)> heard)
      : games_(games), about_(std::move(about)), call_time_(call_time), heard_(std::move(heard)) {}

  grpc::ServerUnaryReactor* About(grpc::CallbackServerContext* context, const AboutRequest*,
                                  AboutReply* reply) override {
    heard_(context->peer());
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(reply->ParseFromString(about_) ? grpc::Status::OK
                                                   : grpc::Status(grpc::StatusCode::INTERNAL, "no description"));
    return reactor;
  }

  grpc::ServerWriteReactor<Piece>* Say(grpc::CallbackServerContext* context, const Words* words) override {
    heard_(context->peer());
    auto* saying = new Saying;
    const std::shared_ptr<Call> call = saying->start();
    {
      const std::scoped_lock lock(mutex_);
      waiting_.push_back({call, Clock::now() + call_time_});
    }
    games_.receive(as_bytes(words->message()), call);
    return saying;
  }

  void tick() {
    const auto now = Clock::now();
    std::vector<std::shared_ptr<Call>> over;
    {
      const std::scoped_lock lock(mutex_);
      std::erase_if(waiting_, [&](const Waiting& w) {
        const std::shared_ptr<Call> call = w.call.lock();
        if (call && now >= w.until) over.push_back(call);
        return !call || call->is_finished() || now >= w.until;
      });
    }
    for (const auto& call : over) call->finish(std::make_shared<const Reply>());  // nothing to say yet
  }

 private:
  struct Waiting {
    std::weak_ptr<Call> call;
    Clock::time_point until;
  };
  Games& games_;
  const std::string about_;
  const std::chrono::milliseconds call_time_;
  const std::function<void(const std::string& peer)> heard_;
  std::mutex mutex_;
  std::vector<Waiting> waiting_;
};

std::shared_ptr<grpc::ServerCredentials> credentials_of(const Tls& tls) {
  grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = tls.authority;
  options.pem_key_cert_pairs.push_back({tls.key, tls.certificate});
  return grpc::SslServerCredentials(options);
}

void set_limits(grpc::ServerBuilder& builder) {
  grpc::ResourceQuota quota("isobit");
  quota.Resize(kBufferBytes);
  builder.SetResourceQuota(quota);
  builder.SetMaxReceiveMessageSize(static_cast<int>(kMaxGrpcBytes));
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kCallsOfConnection);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, 8 << 10);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMilliseconds);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleMilliseconds);
  // Who stopped without a word is found out.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 500);
  // Windows that grow with the line would hold megabytes of whoever sends much.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_BDP_PROBE, 0);
}

}  // namespace

struct PartyServer::Impl {
  Impl(Games& games, const service::About& about, std::chrono::milliseconds call_time)
      : service(games, encode(about), call_time, [this](const std::string& peer) {
          const std::scoped_lock lock(mutex);
          if (acceptor) acceptor->heard(peer);
        }) {}

  // No connection is taken any more.
  void close() {
    std::unique_ptr<Acceptor> closed;
    const std::scoped_lock lock(mutex);
    closed.swap(acceptor);
  }

  Service service;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> hands_over;
  std::unique_ptr<grpc::Server> server;
  mutable std::mutex mutex;
  std::unique_ptr<Acceptor> acceptor;
  std::string address;
};

PartyServer::PartyServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
PartyServer::~PartyServer() { stop(); }

const std::string& PartyServer::address() const { return impl_->address; }
size_t PartyServer::connections() const {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->acceptor ? impl_->acceptor->connections() : 0;
}
void PartyServer::tick() { impl_->service.tick(); }

Expected<std::unique_ptr<PartyServer>> PartyServer::start(const ServerSettings& settings, Games& games,
                                                          const service::About& about, EventLog& log) {
  set_grpc_log(&log);
  grpc::EnableDefaultHealthCheckService(true);
  auto impl = std::make_unique<Impl>(games, about, settings.call_time);
  grpc::ServerBuilder builder;
  set_limits(builder);
  builder.RegisterService(&impl->service);
  impl->hands_over = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials_of(settings.tls));
  impl->server = builder.BuildAndStart();
  if (!impl->server) {
    return unavailable("gRPC starts no server with this certificate, key and authority; look at the lines before");
  }
  const auto take = [hands_over = impl->hands_over.get()](int connection) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
    parameters.fd = connection;
    hands_over->HandleNewConnection(&parameters);
  };
  ISOBIT_TRY(auto acceptor, Acceptor::listen(settings.listen, settings.connections, take));
  impl->address = acceptor->address();
  {
    const std::scoped_lock lock(impl->mutex);
    impl->acceptor = std::move(acceptor);
  }
  impl->server->GetHealthCheckService()->SetServingStatus(kServiceName, true);
  log.event("listening", {{"address", impl->address}, {"connections", settings.connections}});
  return std::unique_ptr<PartyServer>(new PartyServer(std::move(impl)));
}

void PartyServer::drain() {
  if (impl_->server) impl_->server->GetHealthCheckService()->SetServingStatus(false);
  impl_->close();
}

void PartyServer::stop() {
  if (!impl_->server) return;
  drain();
  // What is being sent may still arrive.
  impl_->server->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(2));
  impl_->server->Wait();
  impl_->server.reset();
  set_grpc_log(nullptr);
}

}  // namespace isobit::service
