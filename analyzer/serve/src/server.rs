//! A socket on loopback, and the thread that serves it.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;

use crate::access::Access;
use crate::answers::Answers;
use crate::routes;
use crate::token::Token;

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(
        "port {port} of 127.0.0.1 is not available: {source} (hint: --port 0 picks a free one)"
    )]
    Port { port: u16, source: io::Error },
    /// The system has no randomness, or no threads.
    #[error("the server cannot start: {0}")]
    Start(#[from] io::Error),
}

pub struct Server {
    listener: TcpListener,
    token: Token,
    port: u16,
}

impl Server {
    /// Listens on 127.0.0.1 only. Port 0 picks a free one.
    ///
    /// # Errors
    /// The port is taken, or the system has no randomness.
    pub fn bind(port: u16) -> Result<Self, ServeError> {
        let taken = |source| ServeError::Port { port, source };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(taken)?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port();
        Ok(Self {
            listener,
            token: Token::random()?,
            port,
        })
    }

    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/{}/", self.port, self.token.text())
    }

    /// Answers on a thread of its own until the process ends.
    ///
    /// # Errors
    /// There can be no such thread.
    pub fn start(self, answers: Arc<dyn Answers>) -> Result<(), ServeError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let routes = routes::routes(answers, Access::new(self.token, self.port));
        let listener = self.listener;
        let serve = move || {
            let served = runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener)?;
                axum::serve(listener, routes).await
            });
            // A server that cannot accept any more is gone: the process that waits for it is ended by its user.
            drop(served);
        };
        std::thread::Builder::new()
            .name("serve".to_owned())
            .spawn(serve)?;
        Ok(())
    }
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
