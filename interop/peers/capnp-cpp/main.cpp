// The Cap'n Proto peer in C++: the library's own server and client for two parties.
#include <capnp/ez-rpc.h>
#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>
#include <kj/debug.h>
#include <unistd.h>

#include <iostream>
#include <map>
#include <set>
#include <string>
#include <thread>

#include "places.capnp.h"

namespace {

using Result = std::string;
std::set<std::string> gone;

class Server final : public Places::Server {
 public:
  explicit Server(kj::Timer& timer) : timer(timer) {}

 protected:
  kj::Promise<void> whoami(WhoamiContext context) override {
    context.getResults().setName("cpp");
    return kj::READY_NOW;
  }

  kj::Promise<void> echo(EchoContext context) override {
    context.getResults().setValue(context.getParams().getValue());
    return kj::READY_NOW;
  }

  kj::Promise<void> known(KnownContext context) override {
    auto values = context.getResults().initValues(2);
    values.setWithCaveats(1, *FULL);
    return kj::READY_NOW;
  }

  kj::Promise<void> join(JoinContext context) override {
    auto params = context.getParams();
    auto text = kj::str(params.getFirst(), ",", params.getSecond(), ",", params.getThird());
    context.getResults().setText(text);
    return kj::READY_NOW;
  }

  kj::Promise<void> divide(DivideContext context) override {
    auto params = context.getParams();
    KJ_REQUIRE(params.getDivisor() != 0, "division by zero");
    context.getResults().setQuotient(params.getDividend() / params.getDivisor());
    context.getResults().setRemainder(params.getDividend() % params.getDivisor());
    return kj::READY_NOW;
  }

  kj::Promise<void> turn(TurnContext context) override {
    context.getResults().setX(context.getParams().getY());
    context.getResults().setY(context.getParams().getX());
    return kj::READY_NOW;
  }

  kj::Promise<void> fail(FailContext context) override {
    auto how = context.getParams().getHow();
    if (how == "none") {
      context.getResults().setAnswer(42);
      return kj::READY_NOW;
    }
    auto type = how == "overloaded"      ? kj::Exception::Type::OVERLOADED
                : how == "disconnected"  ? kj::Exception::Type::DISCONNECTED
                : how == "unimplemented" ? kj::Exception::Type::UNIMPLEMENTED
                                         : kj::Exception::Type::FAILED;
    return kj::Exception(type, __FILE__, __LINE__, kj::str("on purpose"));
  }

  kj::Promise<void> slow(SlowContext context) override {
    auto milliseconds = context.getParams().getMilliseconds();
    context.getResults().setMilliseconds(milliseconds);
    return timer.afterDelay(milliseconds * kj::MILLISECONDS);
  }

  kj::Promise<void> bytes(BytesContext context) override {
    auto count = context.getParams().getCount();
    auto bytes = context.getResults(capnp::MessageSize{count / 8 + 8, 0}).initBytes(count);
    for (auto i : kj::indices(bytes)) bytes[i] = static_cast<kj::byte>(i);
    return kj::READY_NOW;
  }

  kj::Promise<void> wait(WaitContext context) override {
    context.allowCancellation();
    std::string token = context.getParams().getToken();
    kj::Promise<void> never = kj::NEVER_DONE;
    return never.attach(kj::defer([token]() { gone.insert(token); }));
  }

  kj::Promise<void> wasCancelled(WasCancelledContext context) override {
    context.getResults().setCancelled(gone.count(context.getParams().getToken()) > 0);
    return kj::READY_NOW;
  }

 private:
  kj::Timer& timer;
};

struct Session {
  Places::Client client;
  kj::WaitScope& scope;
  kj::Timer& timer;
};

// Reads a value as another one of the same fields: null lists are empty ones, whatever the writer made of them.
bool same(Everything::Reader got, Everything::Reader want) {
  auto words = [](Everything::Reader value) { return capnp::canonicalize(value); };
  auto left = words(got);
  auto right = words(want);
  return left.asBytes() == right.asBytes() || kj::str(got) == kj::str(want);
}

void whoami(Session& session) {
  KJ_ASSERT(session.client.whoamiRequest().send().wait(session.scope).getName().size() > 0);
}

void known(Session& session) {
  auto answer = session.client.knownRequest().send().wait(session.scope);
  KJ_ASSERT(answer.getValues().size() == 2);
  KJ_ASSERT(answer.getValues()[0].getText() == "by default");
  KJ_ASSERT(answer.getValues()[0].getSmall() == -7);
  KJ_ASSERT(!answer.getValues()[0].hasPoint());
  KJ_ASSERT(same(answer.getValues()[1], *FULL), kj::str(answer.getValues()[1]));
}

void echo_everything(Session& session) {
  auto request = session.client.echoRequest();
  request.setValue(*FULL);
  auto answer = request.send().wait(session.scope);
  KJ_ASSERT(same(answer.getValue(), *FULL), kj::str(answer.getValue()));
}

void shapes(Session& session) {
  auto request = session.client.echoRequest();
  request.initValue().getShape().setName("square");
  request.getValue().setLeft(-3);
  auto answer = request.send().wait(session.scope);
  auto value = answer.getValue();
  KJ_ASSERT(value.getShape().isName() && value.getShape().getName() == "square");
  KJ_ASSERT(value.isLeft() && value.getLeft() == -3);
}

void parameters(Session& session) {
  auto join = session.client.joinRequest();
  join.setFirst(1);
  join.setSecond("two");
  KJ_ASSERT(join.send().wait(session.scope).getText() == "1,two,9");
  auto divide = session.client.divideRequest();
  divide.setDividend(-17);
  divide.setDivisor(5);
  auto divided = divide.send().wait(session.scope);
  KJ_ASSERT(divided.getQuotient() == -3 && divided.getRemainder() == -2);
  auto turn = session.client.turnRequest();
  turn.setX(3);
  auto turned = turn.send().wait(session.scope);
  KJ_ASSERT(turned.getX() == -1 && turned.getY() == 3);
}

void failures(Session& session) {
  const std::pair<const char*, kj::Exception::Type> rows[] = {
      {"failed", kj::Exception::Type::FAILED},
      {"overloaded", kj::Exception::Type::OVERLOADED},
      {"disconnected", kj::Exception::Type::DISCONNECTED},
      {"unimplemented", kj::Exception::Type::UNIMPLEMENTED},
  };
  for (auto& [how, type] : rows) {
    auto request = session.client.failRequest();
    request.setHow(how);
    auto thrown = kj::runCatchingExceptions([&]() { request.send().wait(session.scope); });
    auto& exception = KJ_ASSERT_NONNULL(thrown, how, "did not fail");
    KJ_ASSERT(exception.getType() == type, how, exception);
  }
  auto request = session.client.failRequest();
  request.setHow("none");
  KJ_ASSERT(request.send().wait(session.scope).getAnswer() == 42);
}

void another_interface(Session& session) {
  auto base = session.client.castAs<Base>();
  KJ_ASSERT(base.whoamiRequest().send().wait(session.scope).getName().size() > 0);
}

void bytes_of_all_sizes(Session& session) {
  for (uint32_t count : {0u, 1u, 70'000u, 5'000'000u}) {
    auto request = session.client.bytesRequest();
    request.setCount(count);
    auto answer = request.send().wait(session.scope);
    auto bytes = answer.getBytes();
    KJ_ASSERT(bytes.size() == count);
    for (auto i : kj::indices(bytes)) KJ_ASSERT(bytes[i] == static_cast<kj::byte>(i), i);
  }
}

void concurrent(Session& session) {
  auto slow = session.client.slowRequest();
  slow.setMilliseconds(300);
  auto last = slow.send();
  kj::Vector<kj::Promise<void>> quick;
  for (int i = 0; i < 500; i++) {
    auto request = session.client.slowRequest();
    quick.add(request.send().ignoreResult());
  }
  kj::joinPromises(quick.releaseAsArray()).wait(session.scope);
  KJ_ASSERT(last.wait(session.scope).getMilliseconds() == 300);
}

void cancelled(Session& session) {
  auto token = kj::str("token of cpp ", getpid());
  {
    auto request = session.client.waitRequest();
    request.setToken(token);
    auto promise = request.send();
    session.timer.afterDelay(200 * kj::MILLISECONDS).wait(session.scope);
  }
  for (int i = 0; i < 100; i++) {
    auto request = session.client.wasCancelledRequest();
    request.setToken(token);
    if (request.send().wait(session.scope).getCancelled()) return;
    session.timer.afterDelay(20 * kj::MILLISECONDS).wait(session.scope);
  }
  KJ_FAIL_ASSERT("the handler was not told");
}

const std::pair<const char*, void (*)(Session&)> CASES[] = {
    {"whoami", whoami},
    {"known", known},
    {"echo_everything", echo_everything},
    {"shapes", shapes},
    {"parameters", parameters},
    {"failures", failures},
    {"another_interface", another_interface},
    {"bytes_of_all_sizes", bytes_of_all_sizes},
    {"concurrent", concurrent},
    {"cancelled", cancelled},
};

std::string quoted(kj::StringPtr text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + "\"";
}

int run_client(kj::AsyncIoContext& io, const std::string& address, const std::string& only) {
  bool failed = false;
  for (auto& [name, run] : CASES) {
    if (!only.empty() && only != name) continue;
    auto thrown = kj::runCatchingExceptions([&]() {
      auto parsed = io.provider->getNetwork().parseAddress(address).wait(io.waitScope);
      auto stream = parsed->connect().wait(io.waitScope);
      capnp::TwoPartyClient client(*stream);
      Session session{client.bootstrap().castAs<Places>(), io.waitScope, io.provider->getTimer()};
      run(session);
    });
    auto detail = kj::str("");
    KJ_IF_MAYBE(exception, thrown) detail = kj::str(exception->getDescription());
    bool wrong = thrown != nullptr;
    failed |= wrong;
    std::cout << "{\"case\": \"" << name << "\", \"result\": \"" << (wrong ? "fail" : "ok")
              << "\", \"detail\": " << quoted(detail).substr(0, 300) << (wrong && detail.size() > 297 ? "\"" : "")
              << "}" << std::endl;
  }
  return failed;
}

int run_server(kj::AsyncIoContext& io, const std::string& address) {
  capnp::TwoPartyServer server(kj::heap<Server>(io.provider->getTimer()));
  auto parsed = io.provider->getNetwork().parseAddress(address).wait(io.waitScope);
  auto listener = parsed->listen();
  if (address.rfind("unix:", 0) == 0) {
    std::cout << "READY " << address << std::endl;
  } else {
    std::cout << "READY " << address.substr(0, address.rfind(':')) << ':' << listener->getPort() << std::endl;
  }
  // Ends when the standard input does.
  std::thread([]() {
    char buffer[256];
    while (read(STDIN_FILENO, buffer, sizeof buffer) > 0) continue;
    _exit(0);
  }).detach();
  server.listen(*listener).wait(io.waitScope);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  std::map<std::string, std::string> flags;
  for (int i = 2; i + 1 < count; i += 2) flags[words[i]] = words[i + 1];
  std::string command = count > 1 ? words[1] : "";
  if (command == "capabilities") {
    std::cout << R"([{"protocol": "capnp", "transport": "buffered", "multiplexed": false,
  "roles": ["client", "server"], "unix": true}])"
              << std::endl;
    return 0;
  }
  auto io = kj::setupAsyncIo();
  if (command == "client") return run_client(io, flags["--address"], flags["--case"]);
  if (command == "server") return run_server(io, flags["--address"]);
  std::cerr << "usage: capnp-cpp-peer capabilities | server --address A | client --address A [--case NAME]\n";
  return 2;
}
