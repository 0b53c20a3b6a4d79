//! `grpc.channelz.v1.Channelz`, for `grpcdebug` and other tools of gRPC: the server and its
//! connections, of all wires, and the channels of the program to the servers of names.

mod messages;

use super::Admin;
use super::service::whole;
use crate::method::ServiceDescriptor;
use crate::names::{self, BackendStatus, ChannelStatus, State};
use crate::observer::Watched;
use crate::peer::call::{Call, HandlerFuture};
use crate::{Code, Service, Status};
use messages::{
    Address, CHANNELZ, Channel, ChannelData, ChannelRef, Connectivity, ConnectivityState,
    GetChannelRequest, GetChannelResponse, GetServerRequest, GetServerResponse,
    GetServerSocketsRequest, GetServerSocketsResponse, GetServersRequest, GetServersResponse,
    GetSocketRequest, GetSocketResponse, GetSubchannelRequest, GetSubchannelResponse,
    GetTopChannelsRequest, GetTopChannelsResponse, OtherAddress, Server, ServerData, ServerRef,
    Socket, SocketData, SocketOption, SocketRef, Subchannel, SubchannelRef, TcpAddress,
};
use std::net::{IpAddr, SocketAddr};

/// The rows of an answer where the question says no number; gRPC's libraries have as many.
const ROWS: usize = 100;

/// The number of the server, the only one.
const SERVER: i64 = 1;

/// The kinds of numbers, in their last two bits: no two things have the same number.
#[derive(Clone, Copy)]
enum Kind {
    Socket = 0,
    Channel = 2,
    Subchannel = 3,
}

/// Bits of the number of a server among those of its channel.
const SUBCHANNEL_BITS: u32 = 20;

impl Kind {
    fn id(self, number: u64) -> i64 {
        whole((number + 1) << 2 | self as u64)
    }
}

/// Shows a server to tools of gRPC.
pub(crate) struct Channelz(pub(crate) Admin);

impl Channelz {
    fn server(&self) -> Server {
        let methods = self.0.statistics().snapshot().methods;
        let sum = |of: fn(&crate::statistics::MethodStatistics) -> u64| {
            methods.iter().map(of).sum::<u64>()
        };
        let (ended, succeeded) = (sum(|it| it.calls()), sum(|it| it.returned()));
        Server {
            reference: Some(ServerRef {
                id: SERVER,
                name: "server".to_owned(),
            }),
            data: Some(ServerData {
                started: whole(ended + sum(|it| it.in_flight())),
                succeeded: whole(succeeded),
                failed: whole(ended - succeeded.min(ended)),
            }),
        }
    }

    fn servers(&self, page: &GetServersRequest) -> GetServersResponse {
        let (servers, end) = rows([self.server()], |_| SERVER, page.start, page.max);
        GetServersResponse { servers, end }
    }

    fn one_server(&self, id: i64) -> Result<GetServerResponse, Status> {
        let server = (id == SERVER).then(|| self.server());
        found(server, "server", id).map(|server| GetServerResponse {
            server: Some(server),
        })
    }

    fn connections(&self) -> Vec<Watched> {
        let server = self.0.0.server.get();
        server.map(|server| server.watched()).unwrap_or_default()
    }

    fn sockets(&self, page: &GetServerSocketsRequest) -> Result<GetServerSocketsResponse, Status> {
        self.one_server(page.server)?;
        let sockets = self.connections();
        let sockets = sockets.iter().map(SocketRef::from);
        let (sockets, end) = rows(sockets, |socket| socket.id, page.start, page.max);
        Ok(GetServerSocketsResponse { sockets, end })
    }

    fn socket(&self, id: i64) -> Result<GetSocketResponse, Status> {
        let mut sockets = self.connections().into_iter();
        let socket = sockets.find(|it| Kind::Socket.id(it.id) == id);
        found(socket, "socket", id).map(|socket| GetSocketResponse {
            socket: Some((&socket).into()),
        })
    }

    fn channels(page: &GetTopChannelsRequest) -> GetTopChannelsResponse {
        let channels = names::channels();
        let channels = channels.iter().map(Channel::from);
        let id = |it: &Channel| it.reference.as_ref().map_or(0, |it| it.id);
        let (channels, end) = rows(channels, id, page.start, page.max);
        GetTopChannelsResponse { channels, end }
    }

    fn channel(id: i64) -> Result<GetChannelResponse, Status> {
        let channels = names::channels();
        let channel = channels.iter().find(|it| Kind::Channel.id(it.id) == id);
        found(channel, "channel", id).map(|channel| GetChannelResponse {
            channel: Some(channel.into()),
        })
    }

    fn subchannel(id: i64) -> Result<GetSubchannelResponse, Status> {
        let channels = names::channels();
        let mut all = channels.iter().flat_map(subchannels);
        let subchannel = all.find(|(reference, _)| reference.id == id);
        found(subchannel, "subchannel", id).map(|(reference, backend)| GetSubchannelResponse {
            subchannel: Some(Subchannel {
                data: Some(ChannelData {
                    state: state(backend.state),
                    target: reference.name.clone(),
                    started: whole(backend.picks),
                }),
                reference: Some(reference),
            }),
        })
    }
}

impl Service for Channelz {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        &CHANNELZ
    }

    fn call<'a>(&'a self, number: usize, call: Call) -> HandlerFuture<'a> {
        let name = CHANNELZ.methods.get(number).map(|method| method.name);
        match name {
            Some("GetTopChannels") => call.unary(
                (GetTopChannelsRequest::default(),),
                |_, (page,)| async move { Ok::<_, Status>(Self::channels(&page)) },
            ),
            Some("GetServers") => call
                .unary((GetServersRequest::default(),), |_, (page,)| async move {
                    Ok::<_, Status>(self.servers(&page))
                }),
            Some("GetServer") => call
                .unary((GetServerRequest::default(),), |_, (server,)| async move {
                    self.one_server(server.id)
                }),
            Some("GetServerSockets") => call.unary(
                (GetServerSocketsRequest::default(),),
                |_, (page,)| async move { self.sockets(&page) },
            ),
            Some("GetChannel") => call.unary(
                (GetChannelRequest::default(),),
                |_, (channel,)| async move { Self::channel(channel.id) },
            ),
            Some("GetSubchannel") => call.unary(
                (GetSubchannelRequest::default(),),
                |_, (subchannel,)| async move { Self::subchannel(subchannel.id) },
            ),
            Some("GetSocket") => call
                .unary((GetSocketRequest::default(),), |_, (socket,)| async move {
                    self.socket(socket.id)
                }),
            _ => call.no_such_method(),
        }
    }
}

/// Returns the rows from a number on, at most so many, and whether these are the last ones.
fn rows<T>(
    all: impl IntoIterator<Item = T>,
    id: impl Fn(&T) -> i64,
    start: i64,
    max: i64,
) -> (Vec<T>, bool) {
    let max = usize::try_from(max).ok().filter(|max| *max > 0);
    let all = all.into_iter().filter(|row| id(row) >= start);
    let mut all = all.fuse();
    let rows: Vec<_> = all.by_ref().take(max.unwrap_or(ROWS)).collect();
    (rows, all.next().is_none())
}

fn found<T>(row: Option<T>, kind: &str, id: i64) -> Result<T, Status> {
    row.ok_or_else(|| Status::new(Code::NotFound, format!("there is no {kind} {id}")))
}

impl From<&Watched> for SocketRef {
    fn from(watched: &Watched) -> Self {
        SocketRef {
            id: Kind::Socket.id(watched.id),
            name: watched.peer.clone(),
        }
    }
}

impl From<&Watched> for Socket {
    fn from(watched: &Watched) -> Self {
        let option = |name: &str, value: String| SocketOption {
            name: name.to_owned(),
            value,
        };
        let traffic = watched.traffic;
        let wire = watched.wire.map(|wire| wire.to_string());
        let remote = match watched.peer.parse::<SocketAddr>() {
            Ok(address) => Address {
                tcp: Some(TcpAddress {
                    ip: match address.ip() {
                        IpAddr::V4(ip) => ip.octets().to_vec().into(),
                        IpAddr::V6(ip) => ip.octets().to_vec().into(),
                    },
                    port: address.port().into(),
                }),
                ..Address::default()
            },
            Err(_) => Address {
                other: Some(OtherAddress {
                    name: watched.peer.clone(),
                }),
                ..Address::default()
            },
        };
        Socket {
            reference: Some(watched.into()),
            data: Some(SocketData {
                started: whole(traffic.calls),
                options: vec![
                    option("dovetail.wire", wire.unwrap_or_default()),
                    option("dovetail.received_bytes", traffic.received.to_string()),
                    option("dovetail.sent_bytes", traffic.sent.to_string()),
                ],
            }),
            remote: Some(remote),
            remote_name: String::new(),
        }
    }
}

impl From<&ChannelStatus> for Channel {
    fn from(channel: &ChannelStatus) -> Self {
        let backends = &channel.backends;
        let states = [State::Ready, State::Connecting, State::Idle, State::Failed];
        let mut states = states.into_iter();
        let best = states.find(|state| backends.iter().any(|backend| backend.state == *state));
        Channel {
            reference: Some(ChannelRef {
                id: Kind::Channel.id(channel.id),
                name: channel.name.clone(),
            }),
            data: Some(ChannelData {
                state: state(best.unwrap_or(State::Failed)),
                target: channel.name.clone(),
                started: whole(backends.iter().map(|backend| backend.picks).sum::<u64>()),
            }),
            subchannels: subchannels(channel).map(|(row, _)| row).collect(),
        }
    }
}

/// Returns the servers of a channel.
fn subchannels(channel: &ChannelStatus) -> impl Iterator<Item = (SubchannelRef, &BackendStatus)> {
    let numbers = channel.id << SUBCHANNEL_BITS..;
    numbers.zip(&channel.backends).map(|(number, backend)| {
        let reference = SubchannelRef {
            id: Kind::Subchannel.id(number),
            name: backend.backend.address.clone(),
        };
        (reference, backend)
    })
}

fn state(state: State) -> Option<Connectivity> {
    let state = match state {
        State::Idle => ConnectivityState::IDLE,
        State::Connecting => ConnectivityState::CONNECTING,
        State::Ready => ConnectivityState::READY,
        State::Failed => ConnectivityState::TRANSIENT_FAILURE,
    };
    Some(Connectivity { state })
}
