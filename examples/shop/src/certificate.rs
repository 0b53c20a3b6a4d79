//! A certificate for trying things out: `ca.pem`, `server.pem` and `server.key` in a folder.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use std::error::Error;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Makes a certificate where the folder has none.
pub(crate) fn make(folder: &Path) -> Result<(), Box<dyn Error>> {
    if folder.join("server.key").exists() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    let mut authority = CertificateParams::default();
    let name = "an authority for the example shop alone";
    authority.distinguished_name.push(DnType::CommonName, name);
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate()?;
    let root = authority.self_signed(&key)?;
    let issuer = Issuer::new(authority, key);

    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let key = KeyPair::generate()?;
    let server = CertificateParams::new(names)?.signed_by(&key, &issuer)?;
    fs::write(folder.join("ca.pem"), root.pem())?;
    fs::write(folder.join("server.pem"), server.pem())?;
    // The key is written last: if it exists, everything does.
    let file = folder.join("server.key");
    fs::write(&file, key.serialize_pem())?;
    fs::set_permissions(file, fs::Permissions::from_mode(0o600))?;
    Ok(())
}
