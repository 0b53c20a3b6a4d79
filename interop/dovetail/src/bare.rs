//! A server of the library h2 and nothing else: what it cannot do, a server on top of it cannot do
//! either.

use bytes::Bytes;
use h2::RecvStream;
use h2::server::SendResponse;
use http::Response;
use std::error::Error;
use std::io::Read;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

type Outcome<E = dyn Error + Send + Sync> = Result<(), Box<E>>;

/// Serves at this address until the standard input ends.
pub(crate) fn serve(address: &str) -> Outcome<dyn Error> {
    let runtime = Runtime::new()?;
    let listener = runtime.block_on(TcpListener::bind(address))?;
    println!("READY {}", listener.local_addr()?);
    runtime.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(connection(stream));
        }
    });
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

async fn connection(stream: TcpStream) -> Outcome {
    let mut builder = h2::server::Builder::new();
    builder.max_concurrent_streams(100);
    let mut connection = builder.handshake(stream).await?;
    while let Some(accepted) = connection.accept().await {
        let (request, respond) = accepted?;
        tokio::spawn(answer(request.into_body(), respond));
    }
    Ok(())
}

/// Reads a request to its end, and answers it.
async fn answer(mut body: RecvStream, mut respond: SendResponse<Bytes>) -> Outcome {
    while let Some(piece) = body.data().await {
        body.flow_control().release_capacity(piece?.len())?;
    }
    body.trailers().await?;
    let mut stream = respond.send_response(Response::new(()), false)?;
    stream.send_data(Bytes::from_static(b"hello"), true)?;
    Ok(())
}
