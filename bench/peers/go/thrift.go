package main

import (
	"math"

	"dovetail/bench/bench"
	"github.com/apache/thrift/lib/go/thrift"
)

const thriftModule = "github.com/apache/thrift"

var thriftBuffered = thriftSystem("thrift-go", "TBufferedTransport of 64 KiB", buffers)

// Below the frames is a buffer too: without it the length of each frame is a send of its own.
var thriftFramed = thriftSystem("thrift-go-framed", "TFramedTransport over a TBufferedTransport of 64 KiB",
	thrift.NewTFramedTransportFactoryConf(buffers, limits))

var buffers = thrift.NewTBufferedTransportFactory(64 << 10)

// A frame, by default 16,384,000 bytes, must hold 16 MiB and a bit.
var limits = &thrift.TConfiguration{MaxMessageSize: math.MaxInt32, MaxFrameSize: math.MaxInt32}

var binary = thrift.NewTBinaryProtocolFactoryConf(limits)

// The generated records are plain structs, and so they are the application's.
type thriftRecords = data[*bench.Student, *bench.Sample, *bench.Row, *bench.Message]

var thriftData = &thriftRecords{
	students: pack(plain.students, packThriftStudent),
	samples:  pack(plain.samples, packThriftSample),
	rows:     made(func(count int32) []*bench.Row { return pack(plain.rows(count), packThriftRow) }),
	message:  made(func(payload int32) *bench.Message { return thriftMessage(plain.message(payload)) }),
	blob:     plain.blob,
}

func thriftSystem(name, layers string, transports thrift.TTransportFactory) system {
	return system{
		name:   name,
		module: thriftModule,
		configuration: "binary protocol, " + layers + " at both ends, TSimpleServer (a goroutine for each connection) " +
			"without connectivity checks, code of the compiler 0.17",
		serve:   func(address string) (string, error) { return serveThrift(address, transports) },
		connect: func(address string) (connection, error) { return connectThrift(address, transports), nil },
	}
}

func serveThrift(address string, transports thrift.TTransportFactory) (string, error) {
	// Otherwise every call starts a goroutine and a ticker that watch whether the client is still there.
	thrift.ServerConnectivityCheckInterval = 0
	socket, err := thrift.NewTServerSocket(address)
	if err != nil {
		return "", err
	}
	if err := socket.Listen(); err != nil {
		return "", err
	}
	processor := bench.NewBenchProcessor(handler[*bench.Student, *bench.Sample, *bench.Row, *bench.Message]{thriftData})
	server := thrift.NewTSimpleServer4(processor, socket, transports, binary)
	go func() {
		if err := server.Serve(); err != nil {
			fail(err)
		}
	}()
	return socket.Addr().String(), nil
}

func connectThrift(address string, transports thrift.TTransportFactory) connection {
	return func(work work) (task, error) {
		transport, err := transports.GetTransport(thrift.NewTSocketConf(address, limits))
		if err != nil {
			return task{}, err
		}
		if err := transport.Open(); err != nil {
			return task{}, err
		}
		protocol := binary.GetProtocol(transport)
		client := bench.NewBenchClient(thrift.NewTStandardClient(protocol, protocol))
		return newTask(client, thriftData, work)
	}
}
