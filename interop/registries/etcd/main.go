// etcd, and what clients and servers of grpc-go do with it.
//
//	etcd serve …                       the server of etcd, with its own flags
//	etcd list MEMBER PREFIX            the keys below a prefix, with their values
//	etcd add MEMBER PREFIX ADDRESS     an endpoint, as servers of grpc-go register it
//	etcd revoke MEMBER PREFIX          ends the leases of all keys
//	etcd call MEMBER PREFIX METHOD N   calls, through grpc-go's resolver and round_robin: one byte of each answer
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/naming/endpoints"
	"go.etcd.io/etcd/client/v3/naming/resolver"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// raw passes bytes through, so that no generated code is needed.
type raw struct{}

func (raw) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }
func (raw) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), data...)
	return nil
}
func (raw) Name() string { return "proto" }

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "serve" {
		etcdmain.Main(append([]string{"etcd"}, os.Args[2:]...))
		return
	}
	if len(os.Args) < 4 {
		log.Fatal("which command, which member, which prefix?")
	}
	command, member, prefix, rest := os.Args[1], os.Args[2], os.Args[3], os.Args[4:]
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{member}, DialTimeout: 5 * time.Second})
	check(err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	switch command {
	case "list", "revoke":
		found, err := client.Get(ctx, prefix+"/", clientv3.WithPrefix())
		check(err)
		for _, pair := range found.Kvs {
			fmt.Printf("%s %s\n", pair.Key, pair.Value)
			if command == "revoke" && pair.Lease != 0 {
				_, err := client.Revoke(ctx, clientv3.LeaseID(pair.Lease))
				check(err)
			}
		}
	case "add":
		manager, err := endpoints.NewManager(client, prefix)
		check(err)
		check(manager.AddEndpoint(ctx, prefix+"/"+rest[0], endpoints.Endpoint{Addr: rest[0]}))
	case "call":
		call(ctx, client, prefix, rest[0], rest[1])
	default:
		log.Fatalf("no command %q", command)
	}
}

func call(ctx context.Context, client *clientv3.Client, prefix, method, times string) {
	builder, err := resolver.NewBuilder(client)
	check(err)
	channel, err := grpc.NewClient(
		"etcd:///"+prefix,
		grpc.WithResolvers(builder),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"round_robin":{}}]}`),
	)
	check(err)
	defer channel.Close()
	count, err := strconv.Atoi(times)
	check(err)
	for range count {
		request, answer := []byte{}, []byte{}
		check(channel.Invoke(ctx, method, &request, &answer, grpc.ForceCodec(raw{}), grpc.WaitForReady(true)))
		fmt.Println(answer[len(answer)-1])
	}
}
