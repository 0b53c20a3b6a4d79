// Cap'n Proto RPC: an event loop for each calling thread, and one for each core of the server. All fields are set and
// read, from and into plain records.
#include <arpa/inet.h>
#include <capnp/rpc-twoparty.h>
#include <kj/async-io.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <future>

#include "bench.capnp.h"
#include "task.h"

namespace peer {

// From the plain records to the library's, and back.

void pack(const Date& from, ::Date::Builder to) {
  to.setYear(from.year);
  to.setMonth(from.month);
  to.setDay(from.day);
}

void unpack(::Date::Reader from, Date& to) { to = {from.getYear(), from.getMonth(), from.getDay()}; }

void unpack(capnp::Text::Reader from, std::string& to) { to.assign(from.begin(), from.size()); }

void unpack(capnp::Data::Reader from, std::string& to) {
  to.assign(reinterpret_cast<const char*>(from.begin()), from.size());
}

capnp::Data::Reader bytes(const std::string& from) {
  return {reinterpret_cast<const kj::byte*>(from.data()), from.size()};
}

template <class Record, class ListBuilder>
void pack(const std::vector<Record>& from, ListBuilder to) {
  for (size_t i = 0; i < from.size(); i++) pack(from[i], to[static_cast<unsigned>(i)]);
}

template <class ListReader, class Record>
void unpack(ListReader from, std::vector<Record>& to) {
  to.clear();
  to.resize(from.size());
  for (unsigned i = 0; i < from.size(); i++) unpack(from[i], to[i]);
}

unsigned count(const auto& list) { return static_cast<unsigned>(list.size()); }

void pack(const Mark& from, ::Mark::Builder to) {
  to.setCourse(from.course);
  to.setTitle(from.title);
  to.setGrade(from.grade);
  to.setPassed(from.passed);
  pack(from.date, to.initDate());
}

void unpack(::Mark::Reader from, Mark& to) {
  to.course = from.getCourse();
  unpack(from.getTitle(), to.title);
  to.grade = from.getGrade();
  to.passed = from.getPassed();
  unpack(from.getDate(), to.date);
}

void pack(const Semester& from, ::Semester::Builder to) {
  to.setNumber(from.number);
  pack(from.start, to.initStart());
  pack(from.marks, to.initMarks(count(from.marks)));
}

void unpack(::Semester::Reader from, Semester& to) {
  to.number = from.getNumber();
  unpack(from.getStart(), to.start);
  unpack(from.getMarks(), to.marks);
}

void pack(const Student& from, ::Student::Builder to) {
  to.setName(from.name);
  to.setKind(from.kind);
  pack(from.born, to.initBorn());
  pack(from.semesters, to.initSemesters(count(from.semesters)));
}

void unpack(::Student::Reader from, Student& to) {
  unpack(from.getName(), to.name);
  to.kind = from.getKind();
  unpack(from.getBorn(), to.born);
  unpack(from.getSemesters(), to.semesters);
}

void pack(const Sample& from, ::Sample::Builder to) {
  to.setSmall(from.small);
  to.setLarge(from.large);
  to.setReal(from.real);
  auto nested = to.initNested();
  nested.setSmall(from.nested.small);
  nested.setLarge(from.nested.large);
}

void unpack(::Sample::Reader from, Sample& to) {
  auto nested = from.getNested();
  to = {from.getSmall(), from.getLarge(), from.getReal(), {nested.getSmall(), nested.getLarge()}};
}

void pack(const Row& from, ::Row::Builder to) {
  to.setId(from.id);
  to.setName(from.name);
  to.setBorn(from.born);
  to.setAmount(from.amount);
  to.setVoter(from.voter);
  to.setStreet(from.street);
  to.setHouse(from.house);
  to.setCity(from.city);
  to.setState(from.state);
  to.setZip(from.zip);
}

void unpack(::Row::Reader from, Row& to) {
  to.id = from.getId();
  unpack(from.getName(), to.name);
  unpack(from.getBorn(), to.born);
  to.amount = from.getAmount();
  to.voter = from.getVoter();
  unpack(from.getStreet(), to.street);
  unpack(from.getHouse(), to.house);
  unpack(from.getCity(), to.city);
  unpack(from.getState(), to.state);
  unpack(from.getZip(), to.zip);
}

void pack(const Message& from, ::Message::Builder to) {
  to.setId(from.id);
  to.setText(from.text);
  to.setPayload(bytes(from.payload));
}

void unpack(::Message::Reader from, Message& to) {
  to.id = from.getId();
  unpack(from.getText(), to.text);
  unpack(from.getPayload(), to.payload);
}

// What a message takes, so that it is allocated in one piece.

capnp::MessageSize blob_size(size_t bytes) { return {bytes / sizeof(capnp::word) + 16, 0}; }
capnp::MessageSize students_size(size_t count) { return {count * 1024 + 16, 0}; }
capnp::MessageSize samples_size(size_t count) { return {count * 7 + 16, 0}; }
capnp::MessageSize rows_size(size_t count) { return {count * 32 + 16, 0}; }

// A message may be as large as the largest blob, and is read once.
capnp::ReaderOptions no_limit() {
  capnp::ReaderOptions options;
  options.traversalLimitInWords = kj::maxValue;
  return options;
}

class BenchServer final : public ::Bench::Server {
 public:
  explicit BenchServer(kj::Timer& timer) : timer(timer) {}

 private:
  kj::Promise<void> getAnswer(GetAnswerContext call) override {
    call.getResults().setAnswer(answer(call.getParams().getQuestion()));
    return kj::READY_NOW;
  }

  kj::Promise<void> getBlob(GetBlobContext call) override {
    const std::string& blob = data<Plain>().blob(call.getParams().getSize());
    call.getResults(blob_size(blob.size())).setBlob(bytes(blob));
    return kj::READY_NOW;
  }

  kj::Promise<void> getStructs(GetStructsContext call) override {
    const auto& students = data<Plain>().students;
    pack(students, call.getResults(students_size(students.size())).initStudents(count(students)));
    return kj::READY_NOW;
  }

  kj::Promise<void> echoSamples(EchoSamplesContext call) override {
    std::vector<Sample> samples;
    unpack(call.getParams().getSamples(), samples);
    call.releaseParams();
    pack(samples, call.getResults(samples_size(samples.size())).initSamples(count(samples)));
    return kj::READY_NOW;
  }

  kj::Promise<void> dbWork(DbWorkContext call) override {
    int32_t wait_ms = call.getParams().getWaitMs();
    if (wait_ms <= 0) return answer_rows(call);
    return timer.afterDelay(wait_ms * kj::MILLISECONDS).then([this, call]() mutable { return answer_rows(call); });
  }

  kj::Promise<void> answer_rows(DbWorkContext call) {
    const auto& rows = data<Plain>().rows(call.getParams().getRows());
    pack(rows, call.getResults(rows_size(rows.size())).initRows(count(rows)));
    return kj::READY_NOW;
  }

  kj::Promise<void> process(ProcessContext call) override {
    Message message;
    unpack(call.getParams().getMessage(), message);
    pack(message, call.getResults(blob_size(message.payload.size())).initMessage());
    return kj::READY_NOW;
  }

  kj::Timer& timer;
};

// A socket with its address, ready to be bound or connected.
struct Socket {
  explicit Socket(const Address& address) {
    if (fd < 0) fail("socket");
    name.sin_family = AF_INET;
    name.sin_port = htons(address.port);
    inet_pton(AF_INET, address.host.c_str(), &name.sin_addr);
  }

  void connect() { require("connect", ::connect(fd, generic(), length)); }

  uint16_t listen() {
    switch_on("reuse the address", fd, SOL_SOCKET, SO_REUSEADDR);
    require("bind", ::bind(fd, generic(), length));
    require("listen", ::listen(fd, SOMAXCONN));
    require("getsockname", ::getsockname(fd, generic(), &length));
    return ntohs(name.sin_port);
  }

  int accept() { return require("accept", ::accept4(fd, nullptr, nullptr, SOCK_CLOEXEC)); }

  static int require(const char* what, int result) {
    if (result < 0) fail(what);
    return result;
  }

  static void switch_on(const char* what, int fd, int level, int option) {
    int on = 1;
    require(what, ::setsockopt(fd, level, option, &on, sizeof on));
  }

  [[noreturn]] static void fail(const char* what) {
    throw std::runtime_error(std::string("cannot ") + what + ": " + std::strerror(errno));
  }

  sockaddr* generic() { return reinterpret_cast<sockaddr*>(&name); }

  int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in name{};
  socklen_t length = sizeof name;
};

kj::Own<kj::AsyncIoStream> stream(kj::AsyncIoContext& io, int fd) {
  Socket::switch_on("set TCP_NODELAY", fd, IPPROTO_TCP, TCP_NODELAY);
  return io.lowLevelProvider->wrapSocketFd(fd, kj::LowLevelAsyncIoProvider::TAKE_OWNERSHIP);
}

// A connection that the server has accepted.
struct Accepted {
  Accepted(kj::AsyncIoContext& io, int fd, ::Bench::Client bench)
      : connection(stream(io, fd)),
        network(*connection, capnp::rpc::twoparty::Side::SERVER, no_limit()),
        system(capnp::makeRpcServer(network, bench)) {}

  kj::Own<kj::AsyncIoStream> connection;
  capnp::TwoPartyVatNetwork network;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> system;
};

// An event loop of the server on a thread of its own, which takes connections from another thread.
class Loop {
 public:
  Loop() {
    std::promise<void> started;
    in_background([&] { run(started); });
    started.get_future().wait();
  }

  void serve(int fd) {
    executor->executeSync([&] {
      auto accepted = kj::heap<Accepted>(*io, fd, *bench);
      auto gone = accepted->network.onDisconnect();
      gone.attach(kj::mv(accepted)).detach([](kj::Exception&&) {});
    });
  }

 private:
  void run(std::promise<void>& started) {
    auto context = kj::setupAsyncIo();
    ::Bench::Client client = kj::heap<BenchServer>(context.provider->getTimer());
    io = &context;
    bench = &client;
    executor = kj::getCurrentThreadExecutor().addRef();
    started.set_value();
    kj::Promise<void>(kj::NEVER_DONE).wait(context.waitScope);
  }

  kj::AsyncIoContext* io;
  ::Bench::Client* bench;
  kj::Own<const kj::Executor> executor;
};

Address serve(const Address& address) {
  Socket listener(address);
  uint16_t port = listener.listen();
  in_background([listener]() mutable {
    std::vector<Loop> loops(std::max(1u, std::thread::hardware_concurrency()));
    for (size_t next = 0;; next++) loops[next % loops.size()].serve(listener.accept());
  });
  return {address.host, port};
}

class Client final : public Service {
 public:
  explicit Client(const Address& address)
      : connection(connected(io, address)),
        network(*connection, capnp::rpc::twoparty::Side::CLIENT, no_limit()),
        system(capnp::makeRpcClient(network)),
        bench(bootstrap(system)) {}

  ~Client() noexcept override {}

  int32_t get_answer(int32_t question) override {
    auto request = bench.getAnswerRequest();
    request.setQuestion(question);
    return wait(request).getAnswer();
  }

  void get_blob(std::string& result, int32_t size) override {
    auto request = bench.getBlobRequest();
    request.setSize(size);
    unpack(wait(request).getBlob(), result);
  }

  void get_structs(std::vector<Student>& result) override {
    auto request = bench.getStructsRequest();
    unpack(wait(request).getStudents(), result);
  }

  void echo_samples(std::vector<Sample>& result, const std::vector<Sample>& samples) override {
    auto request = bench.echoSamplesRequest(samples_size(samples.size()));
    pack(samples, request.initSamples(count(samples)));
    unpack(wait(request).getSamples(), result);
  }

  void db_work(std::vector<Row>& result, int32_t rows, int32_t wait_ms) override {
    auto request = bench.dbWorkRequest();
    request.setRows(rows);
    request.setWaitMs(wait_ms);
    unpack(wait(request).getRows(), result);
  }

  void process(Message& result, const Message& message) override {
    auto request = bench.processRequest(blob_size(message.payload.size()));
    pack(message, request.initMessage());
    unpack(wait(request).getMessage(), result);
  }

 private:
  template <class Params, class Results>
  capnp::Response<Results> wait(capnp::Request<Params, Results>& request) {
    return request.send().wait(io.waitScope);
  }

  static kj::Own<kj::AsyncIoStream> connected(kj::AsyncIoContext& io, const Address& address) {
    Socket socket(address);
    socket.connect();
    return stream(io, socket.fd);
  }

  static ::Bench::Client bootstrap(capnp::RpcSystem<capnp::rpc::twoparty::VatId>& system) {
    capnp::word memory[4]{};
    auto server = capnp::MallocMessageBuilder(memory).initRoot<capnp::rpc::twoparty::VatId>();
    server.setSide(capnp::rpc::twoparty::Side::SERVER);
    return system.bootstrap(server).castAs<::Bench>();
  }

  kj::AsyncIoContext io = kj::setupAsyncIo();
  kj::Own<kj::AsyncIoStream> connection;
  capnp::TwoPartyVatNetwork network;
  capnp::RpcSystem<capnp::rpc::twoparty::VatId> system;
  ::Bench::Client bench;
};

Connection connect(const Address& address) {
  return [address](const Work& work) { return make_task<Plain>(std::make_shared<Client>(address), work); };
}

std::string version() {
  auto part = [](int value) { return std::to_string(value); };
  return part(CAPNP_VERSION_MAJOR) + "." + part(CAPNP_VERSION_MINOR) + "." + part(CAPNP_VERSION_MICRO);
}

}  // namespace peer

int main(int argc, char** argv) {
  return peer::run(argc, argv, peer::version(),
                   {{"capnp-cpp",
                     "two-party RPC, an event loop for each client thread and for each core of the server, "
                     "first segments of the right size, all fields set and read",
                     false, peer::serve, peer::connect}});
}
