package main

import "dovetail/bench/bench"

func thriftDate(from date) *bench.Date {
	return &bench.Date{Year: from.year, Month: from.month, Day: from.day}
}

func packThriftMark(from *mark, to *bench.Mark) {
	*to = bench.Mark{
		Course: from.course,
		Title:  from.title,
		Grade:  from.grade,
		Passed: from.passed,
		Date:   thriftDate(from.date),
	}
}

func packThriftSemester(from *semester, to *bench.Semester) {
	*to = bench.Semester{
		Number: from.number,
		Start:  thriftDate(from.start),
		Marks:  pack(from.marks, packThriftMark),
	}
}

func packThriftStudent(from *student, to *bench.Student) {
	*to = bench.Student{
		Name:      from.name,
		Kind:      from.kind,
		Born:      thriftDate(from.born),
		Semesters: pack(from.semesters, packThriftSemester),
	}
}

func packThriftSample(from *sample, to *bench.Sample) {
	*to = bench.Sample{
		Small:  from.small,
		Large:  from.large,
		Real:   from.real,
		Nested: &bench.Nested{Small: from.nested.small, Large: from.nested.large},
	}
}

func packThriftRow(from *row, to *bench.Row) {
	*to = bench.Row{
		ID:     from.id,
		Name:   from.name,
		Born:   from.born,
		Amount: from.amount,
		Voter:  from.voter,
		Street: from.street,
		House:  from.house,
		City:   from.city,
		State:  from.state,
		Zip:    from.zip,
	}
}

func thriftMessage(from message) *bench.Message {
	return &bench.Message{ID: from.id, Text: from.text, Payload: from.payload}
}
