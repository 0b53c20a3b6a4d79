package main

import (
	"context"
	"fmt"

	"github.com/apache/thrift/lib/go/thrift"
)

var ctx = context.Background()

// uuids is the struct Uuids of uuid.thrift.
type uuids struct {
	single   thrift.Tuuid
	many     []thrift.Tuuid
	pairs    map[thrift.Tuuid]thrift.Tuuid
	distinct []thrift.Tuuid
	last     string
}

var known = []thrift.Tuuid{
	{},
	{0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff},
	{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
}

// example is described in golden/uuid.json.
var example = uuids{
	single:   known[1],
	many:     known,
	pairs:    map[thrift.Tuuid]thrift.Tuuid{known[1]: known[2]},
	distinct: []thrift.Tuuid{known[2]},
	last:     "end",
}

// steps runs the steps until one fails.
func steps(all ...func() error) error {
	for _, step := range all {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func field(out thrift.TProtocol, name string, kind thrift.TType, id int16, value func() error) func() error {
	return func() error {
		return steps(
			func() error { return out.WriteFieldBegin(ctx, name, kind, id) },
			value,
			func() error { return out.WriteFieldEnd(ctx) },
		)
	}
}

func writeList(out thrift.TProtocol, values []thrift.Tuuid) error {
	if err := out.WriteListBegin(ctx, thrift.UUID, len(values)); err != nil {
		return err
	}
	for _, value := range values {
		if err := out.WriteUUID(ctx, value); err != nil {
			return err
		}
	}
	return out.WriteListEnd(ctx)
}

func (u *uuids) Write(ctx context.Context, out thrift.TProtocol) error {
	return steps(
		func() error { return out.WriteStructBegin(ctx, "Uuids") },
		field(out, "single", thrift.UUID, 1, func() error { return out.WriteUUID(ctx, u.single) }),
		field(out, "many", thrift.LIST, 2, func() error { return writeList(out, u.many) }),
		field(out, "pairs", thrift.MAP, 3, func() error {
			if err := out.WriteMapBegin(ctx, thrift.UUID, thrift.UUID, len(u.pairs)); err != nil {
				return err
			}
			for key, value := range u.pairs {
				if err := out.WriteUUID(ctx, key); err != nil {
					return err
				}
				if err := out.WriteUUID(ctx, value); err != nil {
					return err
				}
			}
			return out.WriteMapEnd(ctx)
		}),
		field(out, "distinct", thrift.SET, 4, func() error {
			if err := out.WriteSetBegin(ctx, thrift.UUID, len(u.distinct)); err != nil {
				return err
			}
			for _, value := range u.distinct {
				if err := out.WriteUUID(ctx, value); err != nil {
					return err
				}
			}
			return out.WriteSetEnd(ctx)
		}),
		field(out, "last", thrift.STRING, 5, func() error { return out.WriteString(ctx, u.last) }),
		func() error { return out.WriteFieldStop(ctx) },
		func() error { return out.WriteStructEnd(ctx) },
	)
}

// readFields reads a struct, field by field.
func readFields(in thrift.TProtocol, read func(id int16, kind thrift.TType) error) error {
	if _, err := in.ReadStructBegin(ctx); err != nil {
		return err
	}
	for {
		_, kind, id, err := in.ReadFieldBegin(ctx)
		if err != nil {
			return err
		}
		if kind == thrift.STOP {
			return in.ReadStructEnd(ctx)
		}
		if err := read(id, kind); err != nil {
			return err
		}
		if err := in.ReadFieldEnd(ctx); err != nil {
			return err
		}
	}
}

func readMany(in thrift.TProtocol, size int) ([]thrift.Tuuid, error) {
	out := make([]thrift.Tuuid, 0, size)
	for range size {
		value, err := in.ReadUUID(ctx)
		if err != nil {
			return nil, err
		}
		out = append(out, value)
	}
	return out, nil
}

func readList(in thrift.TProtocol) ([]thrift.Tuuid, error) {
	kind, size, err := in.ReadListBegin(ctx)
	if err != nil {
		return nil, err
	}
	if size > 0 && kind != thrift.UUID {
		return nil, fmt.Errorf("a list of %v", kind)
	}
	out, err := readMany(in, size)
	if err != nil {
		return nil, err
	}
	return out, in.ReadListEnd(ctx)
}

func (u *uuids) Read(ctx context.Context, in thrift.TProtocol) error {
	return readFields(in, func(id int16, kind thrift.TType) (err error) {
		switch {
		case id == 1 && kind == thrift.UUID:
			u.single, err = in.ReadUUID(ctx)
		case id == 2 && kind == thrift.LIST:
			u.many, err = readList(in)
		case id == 3 && kind == thrift.MAP:
			var size int
			if _, _, size, err = in.ReadMapBegin(ctx); err != nil {
				return err
			}
			u.pairs = map[thrift.Tuuid]thrift.Tuuid{}
			both, err := readMany(in, 2*size)
			if err != nil {
				return err
			}
			for place := 0; place < len(both); place += 2 {
				u.pairs[both[place]] = both[place+1]
			}
			return in.ReadMapEnd(ctx)
		case id == 4 && kind == thrift.SET:
			var size int
			if _, size, err = in.ReadSetBegin(ctx); err != nil {
				return err
			}
			if u.distinct, err = readMany(in, size); err != nil {
				return err
			}
			return in.ReadSetEnd(ctx)
		case id == 5 && kind == thrift.STRING:
			u.last, err = in.ReadString(ctx)
		default:
			return fmt.Errorf("field %d of Uuids is a %v", id, kind)
		}
		return err
	})
}

// wrapper is the struct of arguments or of a result: at most one value, in the field with this id.
type wrapper struct {
	id    int16
	value any
}

func (w *wrapper) Write(ctx context.Context, out thrift.TProtocol) error {
	if err := out.WriteStructBegin(ctx, "wrapper"); err != nil {
		return err
	}
	var err error
	switch value := w.value.(type) {
	case *thrift.Tuuid:
		err = field(out, "value", thrift.UUID, w.id, func() error { return out.WriteUUID(ctx, *value) })()
	case *uuids:
		err = field(out, "value", thrift.STRUCT, w.id, func() error { return value.Write(ctx, out) })()
	case *[]thrift.Tuuid:
		err = field(out, "value", thrift.LIST, w.id, func() error { return writeList(out, *value) })()
	}
	if err != nil {
		return err
	}
	return steps(
		func() error { return out.WriteFieldStop(ctx) },
		func() error { return out.WriteStructEnd(ctx) },
	)
}

func (w *wrapper) Read(ctx context.Context, in thrift.TProtocol) error {
	return readFields(in, func(id int16, kind thrift.TType) (err error) {
		switch value := w.value.(type) {
		case *thrift.Tuuid:
			*value, err = in.ReadUUID(ctx)
		case *uuids:
			err = value.Read(ctx, in)
		case *[]thrift.Tuuid:
			*value, err = readList(in)
		default:
			err = in.Skip(ctx, kind)
		}
		return err
	})
}

// processor is the server's side of UuidService.
type processor struct{}

func (processor) ProcessorMap() map[string]thrift.TProcessorFunction { return nil }

func (processor) AddToProcessorMap(string, thrift.TProcessorFunction) {}

func (processor) Process(ctx context.Context, in, out thrift.TProtocol) (bool, thrift.TException) {
	name, _, seqid, err := in.ReadMessageBegin(ctx)
	if err != nil {
		return false, thrift.WrapTException(err)
	}
	args := &wrapper{id: 0}
	switch name {
	case "echo_uuid":
		args.value = new(thrift.Tuuid)
	case "echo_uuids":
		args.value = new(uuids)
	}
	if err := args.Read(ctx, in); err != nil {
		return false, thrift.WrapTException(err)
	}
	if err := in.ReadMessageEnd(ctx); err != nil {
		return false, thrift.WrapTException(err)
	}
	var reply thrift.TStruct = args // the echoed value, now in field 0
	kind := thrift.REPLY
	switch name {
	case "echo_uuid", "echo_uuids":
	case "known_uuids":
		reply = &wrapper{0, &known}
	default:
		kind = thrift.EXCEPTION
		reply = thrift.NewTApplicationException(thrift.UNKNOWN_METHOD, "Unknown function "+name)
	}
	err = steps(
		func() error { return out.WriteMessageBegin(ctx, name, kind, seqid) },
		func() error { return reply.Write(ctx, out) },
		func() error { return out.WriteMessageEnd(ctx) },
		func() error { return out.Flush(ctx) },
	)
	return err == nil, thrift.WrapTException(err)
}
