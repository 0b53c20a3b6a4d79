package main

import "dovetail/bench/pb"

func packDate(from date) *pb.Date {
	return &pb.Date{Year: from.year, Month: int32(from.month), Day: int32(from.day)}
}

func unpackDate(from *pb.Date) date {
	return date{from.GetYear(), int8(from.GetMonth()), int8(from.GetDay())}
}

func packMark(from *mark, to *pb.Mark) {
	to.Course = int32(from.course)
	to.Title = from.title
	to.Grade = from.grade
	to.Passed = from.passed
	to.Date = packDate(from.date)
}

func unpackMark(from *pb.Mark, to *mark) {
	*to = mark{int16(from.Course), from.Title, from.Grade, from.Passed, unpackDate(from.Date)}
}

func packSemester(from *semester, to *pb.Semester) {
	to.Number = int32(from.number)
	to.Start = packDate(from.start)
	to.Marks = pack(from.marks, packMark)
}

func unpackSemester(from *pb.Semester, to *semester) {
	*to = semester{int8(from.Number), unpackDate(from.Start), unpack(from.Marks, unpackMark)}
}

func packStudent(from *student, to *pb.Student) {
	to.Name = from.name
	to.Kind = int32(from.kind)
	to.Born = packDate(from.born)
	to.Semesters = pack(from.semesters, packSemester)
}

func unpackStudent(from *pb.Student, to *student) {
	*to = student{from.Name, int8(from.Kind), unpackDate(from.Born), unpack(from.Semesters, unpackSemester)}
}

func packSample(from *sample, to *pb.Sample) {
	to.Small = from.small
	to.Large = from.large
	to.Real = from.real
	to.Nested = &pb.Nested{Small: from.nested.small, Large: from.nested.large}
}

func unpackSample(from *pb.Sample, to *sample) {
	*to = sample{from.Small, from.Large, from.Real, nested{from.Nested.GetSmall(), from.Nested.GetLarge()}}
}

func packRow(from *row, to *pb.Row) {
	to.Id = from.id
	to.Name = from.name
	to.Born = from.born
	to.Amount = from.amount
	to.Voter = from.voter
	to.Street = from.street
	to.House = from.house
	to.City = from.city
	to.State = from.state
	to.Zip = from.zip
}

func unpackRow(from *pb.Row, to *row) {
	*to = row{
		id:     from.Id,
		name:   from.Name,
		born:   from.Born,
		amount: from.Amount,
		voter:  from.Voter,
		street: from.Street,
		house:  from.House,
		city:   from.City,
		state:  from.State,
		zip:    from.Zip,
	}
}

func packMessage(from message) *pb.Message {
	return &pb.Message{Id: from.id, Text: from.text, Payload: from.payload}
}

func unpackMessage(from *pb.Message) message {
	return message{from.GetId(), from.GetText(), from.GetPayload()}
}
