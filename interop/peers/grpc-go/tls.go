package main

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"

	"dovetail.test/line"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

const overTLS = "tls"

// Over TLS both ends show a certificate, and trust the same root.
func secure(transport string) credentials.TransportCredentials {
	if transport != overTLS {
		return insecure.NewCredentials()
	}
	folder := os.Getenv("INTEROP_CERTIFICATES")
	pair, err := tls.LoadX509KeyPair(filepath.Join(folder, "peer.pem"), filepath.Join(folder, "peer.key"))
	if err != nil {
		line.Fail(err)
	}
	root, err := os.ReadFile(filepath.Join(folder, "ca.pem"))
	if err != nil {
		line.Fail(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(root) {
		line.Fail("no certificate in " + folder)
	}
	return credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{pair},
		RootCAs:      roots,
		ClientCAs:    roots,
		ClientAuth:   tls.RequireAndVerifyClientCert,
	})
}
