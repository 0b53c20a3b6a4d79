// gRPC: a synchronous and a callback server. A caller is synchronous, with a stub of its own on its connection.
#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>
#include <malloc.h>

#include "bench.grpc.pb.h"
#include "task.h"

namespace peer {

namespace pb = ::bench;
using google::protobuf::RepeatedPtrField;

// From the plain records to the library's, and back.

void pack(const Date& from, pb::Date& to) {
  to.set_year(from.year);
  to.set_month(from.month);
  to.set_day(from.day);
}

void unpack(const pb::Date& from, Date& to) {
  to = {from.year(), static_cast<int8_t>(from.month()), static_cast<int8_t>(from.day())};
}

template <class Record, class Packed>
void pack(const std::vector<Record>& from, RepeatedPtrField<Packed>& to) {
  to.Clear();
  to.Reserve(static_cast<int>(from.size()));
  for (const Record& record : from) pack(record, *to.Add());
}

template <class Packed, class Record>
void unpack(const RepeatedPtrField<Packed>& from, std::vector<Record>& to) {
  to.clear();
  to.resize(from.size());
  for (int i = 0; i < from.size(); i++) unpack(from[i], to[i]);
}

void pack(const Mark& from, pb::Mark& to) {
  to.set_course(from.course);
  to.set_title(from.title);
  to.set_grade(from.grade);
  to.set_passed(from.passed);
  pack(from.date, *to.mutable_date());
}

void unpack(const pb::Mark& from, Mark& to) {
  to.course = static_cast<int16_t>(from.course());
  to.title = from.title();
  to.grade = from.grade();
  to.passed = from.passed();
  unpack(from.date(), to.date);
}

void pack(const Semester& from, pb::Semester& to) {
  to.set_number(from.number);
  pack(from.start, *to.mutable_start());
  pack(from.marks, *to.mutable_marks());
}

void unpack(const pb::Semester& from, Semester& to) {
  to.number = static_cast<int8_t>(from.number());
  unpack(from.start(), to.start);
  unpack(from.marks(), to.marks);
}

void pack(const Student& from, pb::Student& to) {
  to.set_name(from.name);
  to.set_kind(from.kind);
  pack(from.born, *to.mutable_born());
  pack(from.semesters, *to.mutable_semesters());
}

void unpack(const pb::Student& from, Student& to) {
  to.name = from.name();
  to.kind = static_cast<int8_t>(from.kind());
  unpack(from.born(), to.born);
  unpack(from.semesters(), to.semesters);
}

void pack(const Sample& from, pb::Sample& to) {
  to.set_small(from.small);
  to.set_large(from.large);
  to.set_real(from.real);
  to.mutable_nested()->set_small(from.nested.small);
  to.mutable_nested()->set_large(from.nested.large);
}

void unpack(const pb::Sample& from, Sample& to) {
  to = {from.small(), from.large(), from.real(), {from.nested().small(), from.nested().large()}};
}

void pack(const Row& from, pb::Row& to) {
  to.set_id(from.id);
  to.set_name(from.name);
  to.set_born(from.born);
  to.set_amount(from.amount);
  to.set_voter(from.voter);
  to.set_street(from.street);
  to.set_house(from.house);
  to.set_city(from.city);
  to.set_state(from.state);
  to.set_zip(from.zip);
}

void unpack(const pb::Row& from, Row& to) {
  to.id = from.id();
  to.name = from.name();
  to.born = from.born();
  to.amount = from.amount();
  to.voter = from.voter();
  to.street = from.street();
  to.house = from.house();
  to.city = from.city();
  to.state = from.state();
  to.zip = from.zip();
}

void pack(const Message& from, pb::Message& to) {
  to.set_id(from.id);
  to.set_text(from.text);
  to.set_payload(from.payload);
}

void unpack(const pb::Message& from, Message& to) {
  to.id = from.id();
  to.text = from.text();
  to.payload = from.payload();
}

// The application behind both servers, without the wait of `DbWork`.

void handle(const pb::Question& request, pb::Answer& response) { response.set_answer(answer(request.question())); }

void handle(const pb::BlobRequest& request, pb::Blob& response) {
  response.set_blob(data<Plain>().blob(request.size()));
}

void handle(const pb::Nothing&, pb::Students& response) {
  pack(data<Plain>().students, *response.mutable_students());
}

void handle(const pb::Samples& request, pb::Samples& response) {
  std::vector<Sample> samples;
  unpack(request.samples(), samples);
  pack(samples, *response.mutable_samples());
}

void handle(const pb::WorkRequest& request, pb::Rows& response) {
  pack(data<Plain>().rows(request.rows()), *response.mutable_rows());
}

void handle(const pb::Message& request, pb::Message& response) {
  Message message;
  unpack(request, message);
  pack(message, response);
}

class SyncService final : public pb::Bench::Service {
  using Context = grpc::ServerContext;

  template <class Request, class Response>
  grpc::Status call(const Request& request, Response& response) {
    handle(request, response);
    return grpc::Status::OK;
  }

  grpc::Status GetAnswer(Context*, const pb::Question* q, pb::Answer* a) override { return call(*q, *a); }
  grpc::Status GetBlob(Context*, const pb::BlobRequest* q, pb::Blob* a) override { return call(*q, *a); }
  grpc::Status GetStructs(Context*, const pb::Nothing* q, pb::Students* a) override { return call(*q, *a); }
  grpc::Status EchoSamples(Context*, const pb::Samples* q, pb::Samples* a) override { return call(*q, *a); }
  grpc::Status Process(Context*, const pb::Message* q, pb::Message* a) override { return call(*q, *a); }
  grpc::Status DbWork(Context*, const pb::WorkRequest* q, pb::Rows* a) override {
    if (q->wait_ms() > 0) std::this_thread::sleep_for(std::chrono::milliseconds(q->wait_ms()));
    return call(*q, *a);
  }
};

// Messages of the callback server keep their memory for later calls: most of a large message's time is allocation.
template <class Request, class Response>
class Pool final : public grpc::MessageAllocator<Request, Response> {
  struct Holder final : grpc::MessageHolder<Request, Response> {
    explicit Holder(Pool& pool) : pool(pool) {
      this->set_request(&request);
      this->set_response(&response);
    }

    void Release() override {
      std::lock_guard lock(pool.mutex);
      pool.free.push_back(this);
    }

    Pool& pool;
    Request request;
    Response response;
  };

 public:
  grpc::MessageHolder<Request, Response>* AllocateMessages() override {
    std::lock_guard lock(mutex);
    if (free.empty()) return new Holder(*this);
    Holder* last = free.back();
    free.pop_back();
    return last;
  }

 private:
  std::mutex mutex;
  std::vector<Holder*> free;
};

class CallbackService final : public pb::Bench::CallbackService {
 public:
  CallbackService() {
    SetMessageAllocatorFor_GetAnswer(&answers);
    SetMessageAllocatorFor_GetBlob(&blobs);
    SetMessageAllocatorFor_GetStructs(&structs);
    SetMessageAllocatorFor_EchoSamples(&samples);
    SetMessageAllocatorFor_DbWork(&rows);
    SetMessageAllocatorFor_Process(&messages);
  }

 private:
  using Context = grpc::CallbackServerContext;
  using Reactor = grpc::ServerUnaryReactor;

  template <class Request, class Response>
  Reactor* call(Context* context, const Request& request, Response& response) {
    Reactor* reactor = context->DefaultReactor();
    handle(request, response);
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  // Waits without a thread.
  Reactor* wait(Context* context, const pb::WorkRequest& request, pb::Rows& response) {
    Reactor* reactor = context->DefaultReactor();
    auto alarm = std::make_shared<grpc::Alarm>();
    auto due = std::chrono::system_clock::now() + std::chrono::milliseconds(request.wait_ms());
    alarm->Set(due, [alarm, reactor, &request, &response](bool) {
      handle(request, response);
      reactor->Finish(grpc::Status::OK);
    });
    return reactor;
  }

  Reactor* GetAnswer(Context* c, const pb::Question* q, pb::Answer* a) override { return call(c, *q, *a); }
  Reactor* GetBlob(Context* c, const pb::BlobRequest* q, pb::Blob* a) override { return call(c, *q, *a); }
  Reactor* GetStructs(Context* c, const pb::Nothing* q, pb::Students* a) override { return call(c, *q, *a); }
  Reactor* EchoSamples(Context* c, const pb::Samples* q, pb::Samples* a) override { return call(c, *q, *a); }
  Reactor* Process(Context* c, const pb::Message* q, pb::Message* a) override { return call(c, *q, *a); }
  Reactor* DbWork(Context* c, const pb::WorkRequest* q, pb::Rows* a) override {
    return q->wait_ms() > 0 ? wait(c, *q, *a) : call(c, *q, *a);
  }

  Pool<pb::Question, pb::Answer> answers;
  Pool<pb::BlobRequest, pb::Blob> blobs;
  Pool<pb::Nothing, pb::Students> structs;
  Pool<pb::Samples, pb::Samples> samples;
  Pool<pb::WorkRequest, pb::Rows> rows;
  Pool<pb::Message, pb::Message> messages;
};

class Client final : public Service {
 public:
  explicit Client(std::shared_ptr<grpc::Channel> channel) : stub(pb::Bench::NewStub(channel)) {}

  int32_t get_answer(int32_t question) override {
    pb::Question request;
    request.set_question(question);
    pb::Answer response;
    call(&Stub::GetAnswer, request, response);
    return response.answer();
  }

  void get_blob(std::string& result, int32_t size) override {
    pb::BlobRequest request;
    request.set_size(size);
    call(&Stub::GetBlob, request, blob);
    result.swap(*blob.mutable_blob());
  }

  void get_structs(std::vector<Student>& result) override {
    call(&Stub::GetStructs, pb::Nothing(), students);
    unpack(students.students(), result);
  }

  void echo_samples(std::vector<Sample>& result, const std::vector<Sample>& samples) override {
    pack(samples, *samples_sent.mutable_samples());
    call(&Stub::EchoSamples, samples_sent, samples_back);
    unpack(samples_back.samples(), result);
  }

  void db_work(std::vector<Row>& result, int32_t count, int32_t wait_ms) override {
    pb::WorkRequest request;
    request.set_rows(count);
    request.set_wait_ms(wait_ms);
    call(&Stub::DbWork, request, rows);
    unpack(rows.rows(), result);
  }

  void process(Message& result, const Message& message) override {
    pack(message, message_sent);
    call(&Stub::Process, message_sent, message_back);
    unpack(message_back, result);
  }

 private:
  using Stub = pb::Bench::Stub;

  template <class Request, class Response>
  void call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*), const Request& request,
            Response& response) {
    grpc::ClientContext context;
    grpc::Status status = (stub.get()->*method)(&context, request, &response);
    if (!status.ok()) throw std::runtime_error("the call failed: " + status.error_message());
  }

  std::unique_ptr<Stub> stub;
  // Messages keep their memory from one call to the next.
  pb::Blob blob;
  pb::Students students;
  pb::Samples samples_sent, samples_back;
  pb::Rows rows;
  pb::Message message_sent, message_back;
};

std::string target(const Address& address) { return address.host + ":" + std::to_string(address.port); }

template <class Service>
Address serve(const Address& address) {
  static Service service;
  static std::unique_ptr<grpc::Server> server;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(target(address), grpc::InsecureServerCredentials(), &port);
  builder.SetMaxReceiveMessageSize(-1);
  builder.RegisterService(&service);
  server = builder.BuildAndStart();
  if (!server || port == 0) throw std::runtime_error("cannot listen on " + target(address));
  return {address.host, static_cast<uint16_t>(port)};
}

// Without a subchannel pool of its own, all channels to one address are one connection.
Connection connect(const Address& address) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  auto channel = grpc::CreateCustomChannel(target(address), grpc::InsecureChannelCredentials(), arguments);
  auto patience = std::chrono::system_clock::now() + std::chrono::seconds(10);
  if (!channel->WaitForConnected(patience)) throw std::runtime_error("cannot connect to " + target(address));
  return [channel](const Work& work) { return make_task<Plain>(std::make_shared<Client>(channel), work); };
}

// The library allocates large messages anew for each call; fresh pages cost more than the copies. With this, calls of
// 1 MiB are 1.7 times as fast.
void keep_freed_memory() {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 64 << 20);
}

}  // namespace peer

int main(int argc, char** argv) {
  using namespace peer;
  keep_freed_memory();
  std::string client = "synchronous stubs, messages reused by the client, a subchannel pool for each channel, "
                       "malloc set to keep what is freed";
  return run(argc, argv, grpc::Version(),
             {{"grpc-cpp", "synchronous server; " + client, true, serve<SyncService>, connect},
              {"grpc-cpp-callback", "callback server with pooled messages; " + client, true,
               serve<CallbackService>, connect}});
}
