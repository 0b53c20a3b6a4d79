package dev.dovetail.bench;

import com.google.protobuf.UnsafeByteOperations;
import dev.dovetail.bench.pb.Date;
import dev.dovetail.bench.pb.Mark;
import dev.dovetail.bench.pb.Message;
import dev.dovetail.bench.pb.Nested;
import dev.dovetail.bench.pb.Row;
import dev.dovetail.bench.pb.Sample;
import dev.dovetail.bench.pb.Semester;
import dev.dovetail.bench.pb.Student;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/** From the plain records to the library's messages, and back. */
final class Messages {
  private Messages() {}

  static <From, To> List<To> each(List<From> list, Function<From, To> convert) {
    List<To> converted = new ArrayList<>(list.size());
    for (From element : list) {
      converted.add(convert.apply(element));
    }
    return converted;
  }

  static Date pack(Data.Date from) {
    return Date.newBuilder().setYear(from.year()).setMonth(from.month()).setDay(from.day()).build();
  }

  static Data.Date unpack(Date from) {
    return new Data.Date(from.getYear(), (byte) from.getMonth(), (byte) from.getDay());
  }

  static Mark pack(Data.Mark from) {
    return Mark.newBuilder()
        .setCourse(from.course())
        .setTitle(from.title())
        .setGrade(from.grade())
        .setPassed(from.passed())
        .setDate(pack(from.date()))
        .build();
  }

  static Data.Mark unpack(Mark from) {
    return new Data.Mark(
        (short) from.getCourse(), from.getTitle(), from.getGrade(), from.getPassed(), unpack(from.getDate()));
  }

  static Semester pack(Data.Semester from) {
    return Semester.newBuilder()
        .setNumber(from.number())
        .setStart(pack(from.start()))
        .addAllMarks(each(from.marks(), Messages::pack))
        .build();
  }

  static Data.Semester unpack(Semester from) {
    return new Data.Semester(
        (byte) from.getNumber(), unpack(from.getStart()), each(from.getMarksList(), Messages::unpack));
  }

  static Student pack(Data.Student from) {
    return Student.newBuilder()
        .setName(from.name())
        .setKind(from.kind())
        .setBorn(pack(from.born()))
        .addAllSemesters(each(from.semesters(), Messages::pack))
        .build();
  }

  static Data.Student unpack(Student from) {
    return new Data.Student(
        from.getName(),
        (byte) from.getKind(),
        unpack(from.getBorn()),
        each(from.getSemestersList(), Messages::unpack));
  }

  static Sample pack(Data.Sample from) {
    Data.Nested nested = from.nested();
    return Sample.newBuilder()
        .setSmall(from.small())
        .setLarge(from.large())
        .setReal(from.real())
        .setNested(Nested.newBuilder().setSmall(nested.small()).setLarge(nested.large()))
        .build();
  }

  static Data.Sample unpack(Sample from) {
    Data.Nested nested = new Data.Nested(from.getNested().getSmall(), from.getNested().getLarge());
    return new Data.Sample(from.getSmall(), from.getLarge(), from.getReal(), nested);
  }

  static Row pack(Data.Row from) {
    return Row.newBuilder()
        .setId(from.id())
        .setName(from.name())
        .setBorn(from.born())
        .setAmount(from.amount())
        .setVoter(from.voter())
        .setStreet(from.street())
        .setHouse(from.house())
        .setCity(from.city())
        .setState(from.state())
        .setZip(from.zip())
        .build();
  }

  static Data.Row unpack(Row from) {
    return new Data.Row(
        from.getId(),
        from.getName(),
        from.getBorn(),
        from.getAmount(),
        from.getVoter(),
        from.getStreet(),
        from.getHouse(),
        from.getCity(),
        from.getState(),
        from.getZip());
  }

  static Message pack(Data.Message from) {
    return Message.newBuilder()
        .setId(from.id())
        .setText(from.text())
        .setPayload(UnsafeByteOperations.unsafeWrap(from.payload()))
        .build();
  }

  static Data.Message unpack(Message from) {
    return new Data.Message(from.getId(), from.getText(), from.getPayload().toByteArray());
  }
}
