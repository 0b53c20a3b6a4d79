// The data of bench/README.md, made of any record types with those fields: of the plain ones below, or of a library's
// own where these are plain as well.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

// What a library wants to find in a record, made of its fields' names; it is defined before this file is included.
#ifndef RECORD_FIELDS
#define RECORD_FIELDS(...)
#endif

namespace peer {

struct Date {
  int32_t year;
  int8_t month;
  int8_t day;
  bool operator==(const Date&) const = default;
  RECORD_FIELDS(year, month, day)
};

struct Mark {
  int16_t course;
  std::string title;
  double grade;
  bool passed;
  Date date;
  bool operator==(const Mark&) const = default;
  RECORD_FIELDS(course, title, grade, passed, date)
};

struct Semester {
  int8_t number;
  Date start;
  std::vector<Mark> marks;
  bool operator==(const Semester&) const = default;
  RECORD_FIELDS(number, start, marks)
};

struct Student {
  std::string name;
  int8_t kind;
  Date born;
  std::vector<Semester> semesters;
  bool operator==(const Student&) const = default;
  RECORD_FIELDS(name, kind, born, semesters)
};

struct Nested {
  int32_t small;
  int64_t large;
  bool operator==(const Nested&) const = default;
  RECORD_FIELDS(small, large)
};

struct Sample {
  int32_t small;
  int64_t large;
  double real;
  Nested nested;
  bool operator==(const Sample&) const = default;
  RECORD_FIELDS(small, large, real, nested)
};

struct Row {
  int64_t id;
  std::string name;
  std::string born;
  double amount;
  bool voter;
  std::string street;
  std::string house;
  std::string city;
  std::string state;
  std::string zip;
  bool operator==(const Row&) const = default;
  RECORD_FIELDS(id, name, born, amount, voter, street, house, city, state, zip)
};

struct Message {
  int64_t id;
  std::string text;
  std::string payload;
  bool operator==(const Message&) const = default;
  RECORD_FIELDS(id, text, payload)
};

// The contract in terms of the plain records. Results are out-parameters, so that a caller can reuse their memory.
struct Service {
  virtual ~Service() = default;
  virtual int32_t get_answer(int32_t question) = 0;
  virtual void get_blob(std::string& result, int32_t size) = 0;
  virtual void get_structs(std::vector<Student>& result) = 0;
  virtual void echo_samples(std::vector<Sample>& result, const std::vector<Sample>& samples) = 0;
  virtual void db_work(std::vector<Row>& result, int32_t rows, int32_t wait_ms) = 0;
  virtual void process(Message& result, const Message& message) = 0;
};

// What a library must name, to have the data in its own records: these are ours.
struct Plain {
  using Service = peer::Service;
  using Student = peer::Student;
  using Sample = peer::Sample;
  using Row = peer::Row;
  using Message = peer::Message;
};

inline std::string numbered(const char* format, int number) {
  char text[64];
  return {text, static_cast<size_t>(std::snprintf(text, sizeof text, format, number))};
}

inline std::string make_blob(int32_t size) {
  std::string blob(static_cast<size_t>(size), '\0');
  uint64_t x = static_cast<uint64_t>(size);
  for (char& byte : blob) {
    x = x * 6364136223846793005 + 1442695040888963407;
    byte = static_cast<char>(x >> 56);
  }
  return blob;
}

template <class Date>
Date make_date(int n) {
  Date date;
  date.year = 1950 + n % 70;
  date.month = static_cast<int8_t>(1 + n % 12);
  date.day = static_cast<int8_t>(1 + n % 28);
  return date;
}

template <class Mark>
Mark make_mark(int k) {
  Mark mark;
  mark.course = static_cast<int16_t>(k % 1000);
  mark.title = numbered("Introduction to course %d", k);
  mark.grade = k / 7.0;
  mark.passed = k % 3 != 0;
  mark.date = make_date<decltype(Mark::date)>(k);
  return mark;
}

template <class Semester>
Semester make_semester(int p, int s) {
  using Mark = typename decltype(Semester::marks)::value_type;
  Semester semester;
  semester.number = static_cast<int8_t>(s);
  semester.start = make_date<decltype(Semester::start)>(p + s);
  for (int m = 0; m < 12; m++) semester.marks.push_back(make_mark<Mark>((p * 8 + s) * 12 + m));
  return semester;
}

template <class Student>
Student make_student(int p) {
  using Semester = typename decltype(Student::semesters)::value_type;
  Student student;
  student.name = numbered("Student number %04d", p);
  student.kind = static_cast<int8_t>(p % 5);
  student.born = make_date<decltype(Student::born)>(p);
  for (int s = 0; s < 8; s++) student.semesters.push_back(make_semester<Semester>(p, s));
  return student;
}

template <class Sample>
Sample make_sample(int i) {
  Sample sample;
  sample.small = i * 7;
  sample.large = i * int64_t{1000000007};
  sample.real = i / 3.0;
  sample.nested.small = i * 11;
  sample.nested.large = i * int64_t{-1000003};
  return sample;
}

template <class Row>
Row make_row(int i) {
  Row row;
  row.id = 1000000 + i;
  row.name = numbered("Some_Person_%d", i);
  row.born = numbered("1980-01-%02d", i);
  row.amount = i * 1.25;
  row.voter = i % 2 == 0;
  row.street = numbered("%d Some Long Street Name", i);
  row.house = numbered("Apt %d", i);
  row.city = "Cleveland";
  row.state = "OH";
  row.zip = numbered("44%03d", i);
  return row;
}

template <class Message>
Message make_message(int32_t payload) {
  Message message;
  message.id = 7;
  message.text = "agent";
  message.payload = make_blob(payload);
  return message;
}

template <class Record>
std::vector<Record> make_list(Record make(int), int count) {
  std::vector<Record> list;
  for (int i = 0; i < count; i++) list.push_back(make(i));
  return list;
}

// Values that are made when they are first asked for, and stay.
template <class Value>
class Made {
 public:
  explicit Made(Value make(int32_t)) : make(make) {}

  const Value& operator()(int32_t key) {
    {
      std::shared_lock reading(mutex);
      if (auto found = values.find(key); found != values.end()) return found->second;
    }
    std::unique_lock writing(mutex);
    return values.try_emplace(key, make(key)).first->second;
  }

 private:
  Value (*make)(int32_t);
  std::shared_mutex mutex;
  std::map<int32_t, Value> values;
};

// All data of a process: servers answer with it, clients send it and compare with it.
template <class Types>
struct Data {
  const std::vector<typename Types::Student> students = make_list(make_student<typename Types::Student>, 34);
  const std::vector<typename Types::Sample> samples = make_list(make_sample<typename Types::Sample>, 3125);
  Made<std::vector<typename Types::Row>> rows{
      [](int32_t count) { return make_list(make_row<typename Types::Row>, count); }};
  Made<std::string> blob{make_blob};
  Made<typename Types::Message> message{make_message<typename Types::Message>};
};

template <class Types>
Data<Types>& data() {
  static Data<Types> all;
  return all;
}

inline int32_t answer(int32_t question) { return static_cast<int32_t>(static_cast<uint32_t>(question) + 41); }

// The application behind a server that calls it with plain records, on a thread that may block.
// Uses so much time of the processor on this thread.
inline void compute(std::chrono::nanoseconds time) {
  auto used = [] {
    timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
  };
  for (auto begin = used(); used() - begin < time;) {
  }
}

template <class Types>
struct Handler : Types::Service {
  int32_t get_answer(int32_t question) override { return answer(question); }
  void get_blob(std::string& result, int32_t size) override { result = data<Types>().blob(size); }
  void get_structs(std::vector<typename Types::Student>& result) override { result = data<Types>().students; }
  void echo_samples(std::vector<typename Types::Sample>& result,
                    const std::vector<typename Types::Sample>& samples) override {
    result = samples;
  }
  void db_work(std::vector<typename Types::Row>& result, int32_t rows, int32_t wait_ms) override {
    if (wait_ms > 0) std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
    if (wait_ms < 0) compute(std::chrono::milliseconds(-wait_ms));
    result = data<Types>().rows(rows);
  }
  void process(typename Types::Message& result, const typename Types::Message& message) override { result = message; }
};

}  // namespace peer
