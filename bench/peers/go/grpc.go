package main

import (
	"context"
	"math"
	"net"

	"dovetail/bench/pb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const (
	ioBuffer = 64 << 10
	window   = 32 << 20 // Holds the largest message; a fixed one also saves the pings that would find a good one.
)

var grpcGo = system{
	name:              "grpc-go",
	module:            "google.golang.org/grpc",
	configuration:     "buffers of 64 KiB and fixed windows of 32 MiB at both ends",
	sharesConnections: true,
	serve:             serveGrpc,
	connect:           connectGrpc,
}

func serveGrpc(address string) (string, error) {
	listener, err := net.Listen("tcp4", address)
	if err != nil {
		return "", err
	}
	server := grpc.NewServer(
		grpc.MaxRecvMsgSize(math.MaxInt32),
		grpc.ReadBufferSize(ioBuffer),
		grpc.WriteBufferSize(ioBuffer),
		grpc.InitialWindowSize(window),
		grpc.InitialConnWindowSize(window),
	)
	pb.RegisterBenchServer(server, grpcServer{handler: handler[student, sample, row, message]{&plain}})
	go func() {
		if err := server.Serve(listener); err != nil {
			fail(err)
		}
	}()
	return listener.Addr().String(), nil
}

func connectGrpc(address string) (connection, error) {
	channel, err := grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)),
		grpc.WithReadBufferSize(ioBuffer),
		grpc.WithWriteBufferSize(ioBuffer),
		grpc.WithInitialWindowSize(window),
		grpc.WithInitialConnWindowSize(window),
	)
	if err != nil {
		return nil, err
	}
	client := grpcClient{pb.NewBenchClient(channel)}
	return func(work work) (task, error) { return newTask(client, &plain, work) }, nil
}

// grpcServer lets the application handle the calls in its own records.
type grpcServer struct {
	pb.UnimplementedBenchServer
	handler handler[student, sample, row, message]
}

func (s grpcServer) GetAnswer(ctx context.Context, request *pb.Question) (*pb.Answer, error) {
	answer, err := s.handler.GetAnswer(ctx, request.Question)
	return &pb.Answer{Answer: answer}, err
}

func (s grpcServer) GetBlob(ctx context.Context, request *pb.BlobRequest) (*pb.Blob, error) {
	blob, err := s.handler.GetBlob(ctx, request.Size)
	return &pb.Blob{Blob: blob}, err
}

func (s grpcServer) GetStructs(ctx context.Context, _ *pb.Nothing) (*pb.Students, error) {
	students, err := s.handler.GetStructs(ctx)
	return &pb.Students{Students: pack(students, packStudent)}, err
}

func (s grpcServer) EchoSamples(ctx context.Context, request *pb.Samples) (*pb.Samples, error) {
	samples, err := s.handler.EchoSamples(ctx, unpack(request.Samples, unpackSample))
	return &pb.Samples{Samples: pack(samples, packSample)}, err
}

func (s grpcServer) DbWork(ctx context.Context, request *pb.WorkRequest) (*pb.Rows, error) {
	rows, err := s.handler.DbWork(ctx, request.Rows, request.WaitMs)
	return &pb.Rows{Rows: pack(rows, packRow)}, err
}

func (s grpcServer) Process(ctx context.Context, request *pb.Message) (*pb.Message, error) {
	message, err := s.handler.Process(ctx, unpackMessage(request))
	return packMessage(message), err
}

// grpcClient offers the contract in plain records. The getters of a response are well without one.
type grpcClient struct {
	stub pb.BenchClient
}

func (c grpcClient) GetAnswer(ctx context.Context, question int32) (int32, error) {
	response, err := c.stub.GetAnswer(ctx, &pb.Question{Question: question})
	return response.GetAnswer(), err
}

func (c grpcClient) GetBlob(ctx context.Context, size int32) ([]byte, error) {
	response, err := c.stub.GetBlob(ctx, &pb.BlobRequest{Size: size})
	return response.GetBlob(), err
}

func (c grpcClient) GetStructs(ctx context.Context) ([]student, error) {
	response, err := c.stub.GetStructs(ctx, &pb.Nothing{})
	return unpack(response.GetStudents(), unpackStudent), err
}

func (c grpcClient) EchoSamples(ctx context.Context, samples []sample) ([]sample, error) {
	response, err := c.stub.EchoSamples(ctx, &pb.Samples{Samples: pack(samples, packSample)})
	return unpack(response.GetSamples(), unpackSample), err
}

func (c grpcClient) DbWork(ctx context.Context, rows, waitMs int32) ([]row, error) {
	response, err := c.stub.DbWork(ctx, &pb.WorkRequest{Rows: rows, WaitMs: waitMs})
	return unpack(response.GetRows(), unpackRow), err
}

func (c grpcClient) Process(ctx context.Context, message message) (message, error) {
	response, err := c.stub.Process(ctx, packMessage(message))
	return unpackMessage(response), err
}
