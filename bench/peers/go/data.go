package main

import (
	"fmt"
	"sync"
)

// The records of the contract as plain Go; a library whose own are plain as well uses those instead.

type date struct {
	year       int32
	month, day int8
}

type mark struct {
	course int16
	title  string
	grade  float64
	passed bool
	date   date
}

type semester struct {
	number int8
	start  date
	marks  []mark
}

type student struct {
	name      string
	kind      int8
	born      date
	semesters []semester
}

type nested struct {
	small int32
	large int64
}

type sample struct {
	small  int32
	large  int64
	real   float64
	nested nested
}

type row struct {
	id                              int64
	name, born                      string
	amount                          float64
	voter                           bool
	street, house, city, state, zip string
}

type message struct {
	id      int64
	text    string
	payload []byte
}

func makeBlob(size int32) []byte {
	blob := make([]byte, size)
	x := uint64(size)
	for i := range blob {
		x = x*6364136223846793005 + 1442695040888963407
		blob[i] = byte(x >> 56)
	}
	return blob
}

func makeDate(n int) date {
	return date{int32(1950 + n%70), int8(1 + n%12), int8(1 + n%28)}
}

func makeMark(k int) mark {
	return mark{int16(k % 1000), fmt.Sprintf("Introduction to course %d", k), float64(k) / 7.0, k%3 != 0, makeDate(k)}
}

func makeSemester(p, s int) semester {
	marks := makeList(12, func(m int) mark { return makeMark((p*8+s)*12 + m) })
	return semester{int8(s), makeDate(p + s), marks}
}

func makeStudent(p int) student {
	semesters := makeList(8, func(s int) semester { return makeSemester(p, s) })
	return student{fmt.Sprintf("Student number %04d", p), int8(p % 5), makeDate(p), semesters}
}

func makeSample(i int) sample {
	return sample{int32(i * 7), int64(i) * 1000000007, float64(i) / 3.0, nested{int32(i * 11), int64(-i) * 1000003}}
}

func makeRow(i int) row {
	return row{
		id:     int64(1000000 + i),
		name:   fmt.Sprintf("Some_Person_%d", i),
		born:   fmt.Sprintf("1980-01-%02d", i),
		amount: float64(i) * 1.25,
		voter:  i%2 == 0,
		street: fmt.Sprintf("%d Some Long Street Name", i),
		house:  fmt.Sprintf("Apt %d", i),
		city:   "Cleveland",
		state:  "OH",
		zip:    fmt.Sprintf("44%03d", i),
	}
}

func makeMessage(payload int32) message { return message{7, "agent", makeBlob(payload)} }

func makeList[Record any](count int, make func(int) Record) []Record {
	var list []Record
	for i := range count {
		list = append(list, make(i))
	}
	return list
}

// made makes each value when it is first asked for; it stays.
func made[Value any](make func(int32) Value) func(int32) Value {
	var values sync.Map
	return func(key int32) Value {
		value, found := values.Load(key)
		if !found {
			value, _ = values.LoadOrStore(key, make(key))
		}
		return value.(Value)
	}
}

// data is what servers answer with, and what clients send and compare with, in the records of a library.
type data[Student, Sample, Row, Message any] struct {
	students []Student
	samples  []Sample
	rows     func(count int32) []Row
	message  func(payload int32) Message
	blob     func(size int32) []byte
}

var plain = data[student, sample, row, message]{
	students: makeList(34, makeStudent),
	samples:  makeList(3125, makeSample),
	rows:     made(func(count int32) []row { return makeList(int(count), makeRow) }),
	message:  made(makeMessage),
	blob:     made(makeBlob),
}

// pack turns records into a library's, which are next to each other in memory; it refers to them by pointers.
func pack[Record, Packed any](records []Record, pack func(*Record, *Packed)) []*Packed {
	all, packed := make([]Packed, len(records)), make([]*Packed, len(records))
	for i := range records {
		pack(&records[i], &all[i])
		packed[i] = &all[i]
	}
	return packed
}

// unpack is the way back.
func unpack[Packed, Record any](packed []*Packed, unpack func(*Packed, *Record)) []Record {
	records := make([]Record, len(packed))
	for i := range packed {
		unpack(packed[i], &records[i])
	}
	return records
}
