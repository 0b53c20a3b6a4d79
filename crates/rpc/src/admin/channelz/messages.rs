//! The questions and answers, by the numbers of `channelz.proto` (grpc/grpc-proto,
//! `grpc/channelz/v1`). Fields that Dovetail does not know are left out.

use crate::descriptor;
use dovetail_wire::{Bytes, enumeration, message};

descriptor!(pub(super) static CHANNELZ = "Channelz" in "grpc.channelz.v1" {
    GetTopChannels(1 request: GetTopChannelsRequest) -> GetTopChannelsResponse [idempotent, messages, permission("dovetail.admin.read")];
    GetServers(1 request: GetServersRequest) -> GetServersResponse [idempotent, messages, permission("dovetail.admin.read")];
    GetServer(1 request: GetServerRequest) -> GetServerResponse [idempotent, messages, permission("dovetail.admin.read")];
    GetServerSockets(1 request: GetServerSocketsRequest) -> GetServerSocketsResponse [idempotent, messages, permission("dovetail.admin.read")];
    GetChannel(1 request: GetChannelRequest) -> GetChannelResponse [idempotent, messages, permission("dovetail.admin.read")];
    GetSubchannel(1 request: GetSubchannelRequest) -> GetSubchannelResponse [idempotent, messages, permission("dovetail.admin.read")];
    GetSocket(1 request: GetSocketRequest) -> GetSocketResponse [idempotent, messages, permission("dovetail.admin.read")];
});

/// Makes requests for rows of a kind, from a number on.
macro_rules! page {
    ($name:ident, $start:literal) => {
        #[derive(Clone, Debug, Default, PartialEq)]
        pub(super) struct $name {
            pub(super) start: i64,
            pub(super) max: i64,
        }

        message!($name {
            1 start as $start: i64,
            2 max as "max_results": i64,
        });
    };
}

page!(GetTopChannelsRequest, "start_channel_id");
page!(GetServersRequest, "start_server_id");

/// Makes requests for one row of a kind.
macro_rules! by_id {
    ($name:ident, $id:literal) => {
        #[derive(Clone, Debug, Default, PartialEq)]
        pub(super) struct $name {
            pub(super) id: i64,
        }

        message!($name { 1 id as $id: i64, });
    };
}

by_id!(GetServerRequest, "server_id");
by_id!(GetChannelRequest, "channel_id");
by_id!(GetSubchannelRequest, "subchannel_id");
by_id!(GetSocketRequest, "socket_id");

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct GetServerSocketsRequest {
    pub(super) server: i64,
    pub(super) start: i64,
    pub(super) max: i64,
}

message!(GetServerSocketsRequest {
    1 server as "server_id": i64,
    2 start as "start_socket_id": i64,
    3 max as "max_results": i64,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct GetTopChannelsResponse {
    pub(super) channels: Vec<Channel>,
    pub(super) end: bool,
}

message!(GetTopChannelsResponse {
    1 channels as "channel": Vec<Channel>,
    2 end: bool,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct GetServersResponse {
    pub(super) servers: Vec<Server>,
    pub(super) end: bool,
}

message!(GetServersResponse {
    1 servers as "server": Vec<Server>,
    2 end: bool,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct GetServerResponse {
    pub(super) server: Option<Server>,
}

message!(GetServerResponse { 1 server: Option<Server>, });

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct GetServerSocketsResponse {
    pub(super) sockets: Vec<SocketRef>,
    pub(super) end: bool,
}

message!(GetServerSocketsResponse {
    1 sockets as "socket_ref": Vec<SocketRef>,
    2 end: bool,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct GetChannelResponse {
    pub(super) channel: Option<Channel>,
}

message!(GetChannelResponse { 1 channel: Option<Channel>, });

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct GetSubchannelResponse {
    pub(super) subchannel: Option<Subchannel>,
}

message!(GetSubchannelResponse { 1 subchannel: Option<Subchannel>, });

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct GetSocketResponse {
    pub(super) socket: Option<Socket>,
}

message!(GetSocketResponse { 1 socket: Option<Socket>, });

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Channel {
    pub(super) reference: Option<ChannelRef>,
    pub(super) data: Option<ChannelData>,
    pub(super) subchannels: Vec<SubchannelRef>,
}

message!(Channel {
    1 reference as "ref": Option<ChannelRef>,
    2 data: Option<ChannelData>,
    4 subchannels as "subchannel_ref": Vec<SubchannelRef>,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Subchannel {
    pub(super) reference: Option<SubchannelRef>,
    pub(super) data: Option<ChannelData>,
}

message!(Subchannel {
    1 reference as "ref": Option<SubchannelRef>,
    2 data: Option<ChannelData>,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ChannelData {
    pub(super) state: Option<Connectivity>,
    pub(super) target: String,
    pub(super) started: i64,
}

message!(ChannelData {
    1 state: Option<Connectivity>,
    2 target: String,
    4 started as "calls_started": i64,
});

/// `ChannelConnectivityState`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Connectivity {
    pub(super) state: ConnectivityState,
}

message!(Connectivity { 1 state: ConnectivityState, });

#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ConnectivityState(i32);

enumeration!(ConnectivityState {
    UNKNOWN = 0,
    IDLE = 1,
    CONNECTING = 2,
    READY = 3,
    TRANSIENT_FAILURE = 4,
    SHUTDOWN = 5,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ChannelRef {
    pub(super) id: i64,
    pub(super) name: String,
}

message!(ChannelRef {
    1 id as "channel_id": i64,
    2 name: String,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SubchannelRef {
    pub(super) id: i64,
    pub(super) name: String,
}

message!(SubchannelRef {
    7 id as "subchannel_id": i64,
    8 name: String,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SocketRef {
    pub(super) id: i64,
    pub(super) name: String,
}

message!(SocketRef {
    3 id as "socket_id": i64,
    4 name: String,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ServerRef {
    pub(super) id: i64,
    pub(super) name: String,
}

message!(ServerRef {
    5 id as "server_id": i64,
    6 name: String,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Server {
    pub(super) reference: Option<ServerRef>,
    pub(super) data: Option<ServerData>,
}

message!(Server {
    1 reference as "ref": Option<ServerRef>,
    2 data: Option<ServerData>,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ServerData {
    pub(super) started: i64,
    pub(super) succeeded: i64,
    pub(super) failed: i64,
}

message!(ServerData {
    2 started as "calls_started": i64,
    3 succeeded as "calls_succeeded": i64,
    4 failed as "calls_failed": i64,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Socket {
    pub(super) reference: Option<SocketRef>,
    pub(super) data: Option<SocketData>,
    pub(super) remote: Option<Address>,
    pub(super) remote_name: String,
}

message!(Socket {
    1 reference as "ref": Option<SocketRef>,
    2 data: Option<SocketData>,
    4 remote: Option<Address>,
    6 remote_name: String,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SocketData {
    pub(super) started: i64,
    pub(super) options: Vec<SocketOption>,
}

message!(SocketData {
    1 started as "streams_started": i64,
    13 options as "option": Vec<SocketOption>,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SocketOption {
    pub(super) name: String,
    pub(super) value: String,
}

message!(SocketOption {
    1 name: String,
    2 value: String,
});

/// An address: one of these.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Address {
    pub(super) tcp: Option<TcpAddress>,
    pub(super) other: Option<OtherAddress>,
}

message!(Address {
    1 tcp as "tcpip_address": Option<TcpAddress>,
    3 other as "other_address": Option<OtherAddress>,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct TcpAddress {
    pub(super) ip: Bytes,
    pub(super) port: i32,
}

message!(TcpAddress {
    1 ip as "ip_address": Bytes,
    2 port: i32,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct OtherAddress {
    pub(super) name: String,
}

message!(OtherAddress { 1 name: String, });
