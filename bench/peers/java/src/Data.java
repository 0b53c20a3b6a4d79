package dev.dovetail.bench;

import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

/** The records of the contract, and what servers answer with, and clients send and compare with. */
final class Data {
  record Date(int year, byte month, byte day) {
    static Date make(int n) {
      return new Date(1950 + n % 70, (byte) (1 + n % 12), (byte) (1 + n % 28));
    }
  }

  record Mark(short course, String title, double grade, boolean passed, Date date) {
    static Mark make(int k) {
      return new Mark((short) (k % 1000), "Introduction to course " + k, k / 7.0, k % 3 != 0, Date.make(k));
    }
  }

  record Semester(byte number, Date start, List<Mark> marks) {
    static Semester make(int p, int s) {
      return new Semester((byte) s, Date.make(p + s), list(12, m -> Mark.make((p * 8 + s) * 12 + m)));
    }
  }

  record Student(String name, byte kind, Date born, List<Semester> semesters) {
    static Student make(int p) {
      List<Semester> semesters = list(8, s -> Semester.make(p, s));
      return new Student("Student number %04d".formatted(p), (byte) (p % 5), Date.make(p), semesters);
    }
  }

  record Nested(int small, long large) {}

  record Sample(int small, long large, double real, Nested nested) {
    static Sample make(int i) {
      return new Sample(i * 7, i * 1_000_000_007L, i / 3.0, new Nested(i * 11, -i * 1_000_003L));
    }
  }

  record Row(
      long id,
      String name,
      String born,
      double amount,
      boolean voter,
      String street,
      String house,
      String city,
      String state,
      String zip) {
    static Row make(int i) {
      return new Row(
          1_000_000 + i,
          "Some_Person_" + i,
          "1980-01-%02d".formatted(i),
          i * 1.25,
          i % 2 == 0,
          i + " Some Long Street Name",
          "Apt " + i,
          "Cleveland",
          "OH",
          "44%03d".formatted(i));
    }
  }

  record Message(long id, String text, byte[] payload) {
    static Message make(int payload) {
      return new Message(7, "agent", makeBlob(payload));
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof Message that
          && id == that.id
          && text.equals(that.text)
          && Arrays.equals(payload, that.payload);
    }

    @Override
    public int hashCode() {
      return Arrays.hashCode(payload);
    }
  }

  static final List<Student> STUDENTS = list(34, Student::make);
  static final List<Sample> SAMPLES = list(3125, Sample::make);

  private static final Map<Integer, List<Row>> ROWS = new ConcurrentHashMap<>();
  private static final Map<Integer, Message> MESSAGES = new ConcurrentHashMap<>();
  private static final Map<Integer, byte[]> BLOBS = new ConcurrentHashMap<>();

  private Data() {}

  static List<Row> rows(int count) {
    return ROWS.computeIfAbsent(count, key -> list(key, Row::make));
  }

  static Message message(int payload) {
    return MESSAGES.computeIfAbsent(payload, Message::make);
  }

  static byte[] blob(int size) {
    return BLOBS.computeIfAbsent(size, Data::makeBlob);
  }

  private static byte[] makeBlob(int size) {
    byte[] blob = new byte[size];
    long x = size;
    for (int i = 0; i < size; i++) {
      x = x * 6364136223846793005L + 1442695040888963407L;
      blob[i] = (byte) (x >> 56);
    }
    return blob;
  }

  private static <T> List<T> list(int count, IntFunction<T> make) {
    return IntStream.range(0, count).mapToObj(make).toList();
  }
}
