package main

import (
	"context"
	"fmt"
	"reflect"
	"time"
)

// service is the contract in the records of a library: what a client offers, and what a server calls.
type service[Student, Sample, Row, Message any] interface {
	GetAnswer(ctx context.Context, question int32) (int32, error)
	GetBlob(ctx context.Context, size int32) ([]byte, error)
	GetStructs(ctx context.Context) ([]Student, error)
	EchoSamples(ctx context.Context, samples []Sample) ([]Sample, error)
	DbWork(ctx context.Context, rows, waitMs int32) ([]Row, error)
	Process(ctx context.Context, message Message) (Message, error)
}

// handler is the application behind a server. Nobody changes what it returns, so that it need not be copied.
type handler[Student, Sample, Row, Message any] struct {
	data *data[Student, Sample, Row, Message]
}

func (h handler[Student, Sample, Row, Message]) GetAnswer(_ context.Context, question int32) (int32, error) {
	return question + 41, nil
}

func (h handler[Student, Sample, Row, Message]) GetBlob(_ context.Context, size int32) ([]byte, error) {
	return h.data.blob(size), nil
}

func (h handler[Student, Sample, Row, Message]) GetStructs(context.Context) ([]Student, error) {
	return h.data.students, nil
}

func (h handler[Student, Sample, Row, Message]) EchoSamples(_ context.Context, samples []Sample) ([]Sample, error) {
	return samples, nil
}

func (h handler[Student, Sample, Row, Message]) DbWork(_ context.Context, rows, waitMs int32) ([]Row, error) {
	time.Sleep(time.Duration(waitMs) * time.Millisecond)
	return h.data.rows(rows), nil
}

func (h handler[Student, Sample, Row, Message]) Process(_ context.Context, message Message) (Message, error) {
	return message, nil
}

// newTask makes the calls of a workload.
func newTask[Student, Sample, Row, Message any](
	client service[Student, Sample, Row, Message], data *data[Student, Sample, Row, Message], work work,
) (task, error) {
	ctx := context.Background()
	switch work.workload {
	case "get_answer":
		return keep(int32(42), func() (int32, error) { return client.GetAnswer(ctx, 1) }), nil
	case "get_blob", "blob_100k":
		return keep(data.blob(work.size), func() ([]byte, error) { return client.GetBlob(ctx, work.size) }), nil
	case "get_structs":
		return keep(data.students, func() ([]Student, error) { return client.GetStructs(ctx) }), nil
	case "structs_100k":
		return keep(data.samples, func() ([]Sample, error) { return client.EchoSamples(ctx, data.samples) }), nil
	case "db_work":
		wanted := data.rows(work.size)
		return keep(wanted, func() ([]Row, error) { return client.DbWork(ctx, work.size, work.waitMs) }), nil
	case "agent_small", "agent_large":
		message := data.message(work.size)
		return keep(message, func() (Message, error) { return client.Process(ctx, message) }), nil
	}
	return task{}, misused("no task for the workload `%s`", work.workload)
}

// keep is a task whose results are compared with what is wanted.
func keep[Value any](wanted Value, call func() (Value, error)) task {
	var got Value
	return task{
		call: func() (err error) {
			got, err = call()
			return err
		},
		difference: func() string { return difference(reflect.ValueOf(got), reflect.ValueOf(wanted)) },
	}
}

func difference(got, wanted reflect.Value) string {
	if reflect.DeepEqual(got.Interface(), wanted.Interface()) {
		return ""
	}
	if got.Kind() != reflect.Slice {
		return fmt.Sprintf("%+v instead of %+v", got, wanted)
	}
	if got.Len() != wanted.Len() {
		return fmt.Sprintf("%d elements instead of %d", got.Len(), wanted.Len())
	}
	for i := range got.Len() {
		if found := difference(got.Index(i), wanted.Index(i)); found != "" {
			return fmt.Sprintf("element %d: %s", i, found)
		}
	}
	return ""
}
