syntax = "proto3";

package hello;
