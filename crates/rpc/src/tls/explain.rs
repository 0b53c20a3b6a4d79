//! The meaning of an error of TLS, and advice.

use rustls::{AlertDescription, CertificateError, Error, InvalidMessage, OtherError};
use std::io;

/// Returns the error with advice.
pub(crate) fn explain(error: &Error) -> io::Error {
    let advice = advice(error);
    let what = match advice {
        "" => format!("TLS: {error}"),
        advice => format!("TLS: {error}; {advice}"),
    };
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn advice(error: &Error) -> &'static str {
    match error {
        Error::InvalidCertificate(error) => of_certificate(error),
        Error::AlertReceived(alert) => of_alert(*alert),
        // Bytes that are no record at all, where the first one is expected.
        Error::InvalidMessage(
            InvalidMessage::InvalidContentType | InvalidMessage::UnknownProtocolVersion,
        ) => "does the other end speak TLS? without it, connect to tcp://…",
        Error::NoApplicationProtocol => "the two ends name no protocol (ALPN) in common",
        Error::PeerIncompatible(_) => "the other end needs TLS 1.2 or 1.3, with a modern cipher",
        _ => "",
    }
}

fn of_certificate(error: &CertificateError) -> &'static str {
    use CertificateError::*;
    match error {
        // Another root of the same name has not signed it, either.
        UnknownIssuer | BadSignature => {
            "nobody who is trusted here has signed it: give the root certificate with `ClientTls::roots`, \
             `ServerTls::clients` or --ca"
        }
        NotValidForName | NotValidForNameContext { .. } => {
            "connect by a name that the certificate is for, or give it with `ClientTls::server_name`"
        }
        Expired | ExpiredContext { .. } => {
            "it needs to be renewed, unless the clock of this machine is wrong"
        }
        NotValidYet | NotValidYetContext { .. } => "is the clock of this machine right?",
        InvalidPurpose | InvalidPurposeContext { .. } => {
            "it was not made for this end of a connection (extended key usage)"
        }
        Other(why) if is_authority(why) => {
            "an authority's certificate is no server's: give the server's own certificate as a root \
             with `ClientTls::roots` or --ca, or have the authority sign one"
        }
        _ => "",
    }
}

/// Returns whether webpki refuses a certificate because it may sign others.
pub(super) fn is_authority(why: &OtherError) -> bool {
    let why = why.0.downcast_ref::<webpki::Error>();
    matches!(why, Some(webpki::Error::CaUsedAsEndEntity))
}

fn of_alert(alert: AlertDescription) -> &'static str {
    match alert {
        AlertDescription::UnknownCA | AlertDescription::DecryptError => {
            "the other end does not trust who has signed this end's certificate"
        }
        AlertDescription::CertificateRequired | AlertDescription::NoCertificate => {
            "the server asks for a certificate of the client: `ClientTls::identity`, or --cert and --key"
        }
        AlertDescription::CertificateExpired => "this end's certificate has to be renewed",
        AlertDescription::BadCertificate
        | AlertDescription::CertificateUnknown
        | AlertDescription::UnsupportedCertificate => {
            "the other end does not accept this end's certificate"
        }
        AlertDescription::NoApplicationProtocol => {
            "the server speaks no protocol (ALPN) that was offered"
        }
        AlertDescription::HandshakeFailure => {
            "the other end speaks no TLS, asks for a certificate, or has no cipher in common with this one"
        }
        AlertDescription::ProtocolVersion => "the other end speaks neither TLS 1.2 nor 1.3",
        _ => "",
    }
}
