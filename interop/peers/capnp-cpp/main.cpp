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
uint32_t alive = 0;
kj::Maybe<Counter::Client> kept;

class CounterServer final : public Counter::Server {
 public:
  // `added` gets what has been added, in order.
  explicit CounterServer(int64_t total, kj::Vector<int64_t>* added = nullptr) : total(total), added(added) { alive++; }
  ~CounterServer() noexcept(false) { alive--; }

 protected:
  kj::Promise<void> add(AddContext context) override {
    total += context.getParams().getAmount();
    if (added != nullptr) added->add(context.getParams().getAmount());
    context.getResults().setTotal(total);
    return kj::READY_NOW;
  }

  kj::Promise<void> child(ChildContext context) override {
    context.getResults().setCounter(kj::heap<CounterServer>(context.getParams().getStart()));
    return kj::READY_NOW;
  }

 private:
  int64_t total;
  kj::Vector<int64_t>* added;
};

class Server final : public Places::Server {
 public:
  explicit Server(kj::Timer& timer) : timer(timer) {}

 protected:
  kj::Promise<void> whoami(WhoamiContext context) override {
    context.getResults().setName("cpp");
    return kj::READY_NOW;
  }

  kj::Promise<void> open(OpenContext context) override {
    context.getResults().setCounter(kj::heap<CounterServer>(context.getParams().getStart()));
    return kj::READY_NOW;
  }

  kj::Promise<void> giveBack(GiveBackContext context) override {
    context.getResults().setCounter(context.getParams().getCounter());
    return kj::READY_NOW;
  }

  kj::Promise<void> sum(SumContext context) override {
    auto params = context.getParams();
    kj::Vector<kj::Promise<int64_t>> totals;
    auto ask = [&](Counter::Client counter) {
      totals.add(counter.addRequest().send().then([](auto answer) { return answer.getTotal(); }));
    };
    ask(params.getFirst());
    for (auto other : params.getOthers()) ask(other.getCounter());
    return kj::joinPromises(totals.releaseAsArray()).then([context](kj::Array<int64_t> all) mutable {
      int64_t total = 0;
      for (auto one : all) total += one;
      context.getResults().setTotal(total);
    });
  }

  kj::Promise<void> keep(KeepContext context) override {
    ::kept = context.getParams().getCounter();
    return kj::READY_NOW;
  }

  kj::Promise<void> kept(KeptContext context) override {
    KJ_IF_MAYBE(counter, ::kept) context.getResults().setCounter(*counter);
    return kj::READY_NOW;
  }

  kj::Promise<void> forget(ForgetContext context) override {
    ::kept = nullptr;
    return kj::READY_NOW;
  }

  kj::Promise<void> alive(AliveContext context) override {
    context.getResults().setCount(::alive);
    return kj::READY_NOW;
  }

  kj::Promise<void> addTo(AddToContext context) override {
    auto request = context.getParams().getCounter().addRequest();
    request.setAmount(context.getParams().getAmount());
    context.releaseParams();
    return context.tailCall(kj::mv(request));
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

Counter::Client open(Session& session, int64_t start) {
  auto request = session.client.openRequest();
  request.setStart(start);
  return request.send().getCounter();
}

int64_t add(Session& session, Counter::Client counter, int64_t amount) {
  auto request = counter.addRequest();
  request.setAmount(amount);
  return request.send().wait(session.scope).getTotal();
}

void objects(Session& session) {
  auto request = session.client.openRequest();
  request.setStart(5);
  auto counter = request.send().wait(session.scope).getCounter();
  KJ_ASSERT(add(session, counter, 2) == 7);
  auto child = counter.childRequest();
  child.setStart(-1);
  auto made = child.send().wait(session.scope).getCounter();
  KJ_ASSERT(add(session, made, 1) == 0);
  KJ_ASSERT(add(session, counter, 0) == 7);
}

// Each is called on the answer to the one before it, which is not there yet.
void pipelined(Session& session) {
  auto last = open(session, 0);
  for (int64_t start = 1; start <= 9; start++) {
    auto request = last.childRequest();
    request.setStart(start);
    last = request.send().getCounter();
  }
  KJ_ASSERT(add(session, last, 1) == 10);
}

void callbacks(Session& session) {
  auto request = session.client.sumRequest();
  request.setFirst(kj::heap<CounterServer>(1));
  auto others = request.initOthers(3);
  others[0].setCounter(kj::heap<CounterServer>(20));
  others[1].setCounter(open(session, 300));
  auto opened = session.client.openRequest();
  opened.setStart(4000);
  others[2].setCounter(opened.send().wait(session.scope).getCounter());
  KJ_ASSERT(request.send().wait(session.scope).getTotal() == 4321);
}

// Calls that go by way of the server come before those that go directly.
void comes_home(Session& session) {
  kj::Vector<int64_t> added;
  auto request = session.client.giveBackRequest();
  request.setCounter(kj::heap<CounterServer>(0, &added));
  auto answer = request.send();
  Counter::Client counter = answer.getCounter();
  kj::Vector<kj::Promise<void>> calls;
  auto call = [&](int64_t amount) {
    auto one = counter.addRequest();
    one.setAmount(amount);
    calls.add(one.send().ignoreResult());
  };
  for (int64_t amount = 0; amount < 100; amount++) call(amount);
  answer.wait(session.scope);
  for (int64_t amount = 100; amount < 200; amount++) call(amount);
  kj::joinPromises(calls.releaseAsArray()).wait(session.scope);
  KJ_ASSERT(added.size() == 200);
  for (auto i : kj::indices(added)) KJ_ASSERT(added[i] == static_cast<int64_t>(i), i);
}

uint32_t count(Session& session) { return session.client.aliveRequest().send().wait(session.scope).getCount(); }

void until(Session& session, kj::StringPtr what, kj::Function<bool()> is) {
  for (int i = 0; i < 200; i++) {
    if (is()) return;
    session.timer.afterDelay(10 * kj::MILLISECONDS).wait(session.scope);
  }
  KJ_FAIL_ASSERT("never", what);
}

void tail_call(Session& session) {
  for (int64_t amount : {1, 2}) {
    auto request = session.client.addToRequest();
    request.setCounter(kj::heap<CounterServer>(40));
    request.setAmount(amount);
    KJ_ASSERT(request.send().wait(session.scope).getTotal() == 40 + amount);
  }
}

void released(Session& session) {
  uint32_t before = count(session);
  {
    kj::Vector<Counter::Client> counters;
    for (int i = 0; i < 10; i++) counters.add(open(session, i));
    for (auto& counter : counters) counter.whenResolved().wait(session.scope);
    // Those of another connection may go meanwhile.
    KJ_ASSERT(count(session) >= 10);
  }
  until(session, "released there", [&]() { return count(session) <= before; });
  uint32_t own = alive;
  {
    auto request = session.client.keepRequest();
    request.setCounter(kj::heap<CounterServer>(7));
    request.send().wait(session.scope);
  }
  {
    auto kept = session.client.keptRequest().send().wait(session.scope).getCounter();
    KJ_ASSERT(add(session, kept, 1) == 8);
    KJ_ASSERT(alive == own + 1);
  }
  session.client.forgetRequest().send().wait(session.scope);
  until(session, "released here", [&]() { return alive == own; });
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
    {"objects", objects},
    {"pipelined", pipelined},
    {"callbacks", callbacks},
    {"comes_home", comes_home},
    {"tail_call", tail_call},
    {"released", released},
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
