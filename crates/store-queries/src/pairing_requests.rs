//! Pairing requests of devices whose organisation is not known yet (spec D11 way (b)). They are part of the closed
//! list of unscoped statements (law 6).

use admit_app::error::Result;
use admit_app::records::PairingRequestRecord;
use admit_core::time::Timestamp;

use crate::driver::{Driver, statements};
use crate::value::Row;

statements! {
    /// Deletes requests that ended before a moment.
    FORGET_PAIRING_REQUESTS = "DELETE FROM pairing_requests WHERE expires_at < $1";
    /// The number of waiting requests.
    COUNT_PAIRING_REQUESTS = "SELECT COUNT(*) FROM pairing_requests";
    /// Stores a request.
    INSERT_PAIRING_REQUEST = "INSERT INTO pairing_requests (token_hash, claim_hash, device_id, name, device_type, expires_at,
        created_at) VALUES ($1, $2, $3, $4, $5, $6, $7)";
    /// One request.
    PAIRING_REQUEST = "SELECT token_hash, claim_hash, device_id, name, device_type, expires_at, created_at FROM pairing_requests
        WHERE token_hash = $1";
}

fn read(row: &mut Row) -> Result<PairingRequestRecord> {
    Ok(PairingRequestRecord {
        token_hash: row.hash()?,
        claim_hash: row.hash()?,
        device_id: row.parsed()?,
        name: row.text()?,
        device_type: row.text()?,
        expires_at: row.at()?,
        created_at: row.at()?,
    })
}

/// Stores a request, unless `most` requests wait already. First deletes requests that ended before `forget_before`.
pub fn insert<D: Driver>(
    driver: &mut D,
    request: &PairingRequestRecord,
    forget_before: Timestamp,
    most: u64,
) -> Result<bool> {
    driver.execute(&FORGET_PAIRING_REQUESTS, &[forget_before.into()])?;
    let count = driver.query(&COUNT_PAIRING_REQUESTS, &[])?.into_iter().next();
    let waiting: u64 = count.map(|mut row| row.count()).transpose()?.unwrap_or(0);
    if waiting >= most {
        return Ok(false);
    }
    let values = [
        (&request.token_hash).into(),
        (&request.claim_hash).into(),
        (&request.device_id).into(),
        (&request.name).into(),
        (&request.device_type).into(),
        request.expires_at.into(),
        request.created_at.into(),
    ];
    driver.execute(&INSERT_PAIRING_REQUEST, &values)?;
    Ok(true)
}

/// The request with this SHA-256 of its token; `None` if there is none.
pub fn find<D: Driver>(driver: &mut D, token_hash: &[u8; 32]) -> Result<Option<PairingRequestRecord>> {
    let row = driver.query(&PAIRING_REQUEST, &[token_hash.into()])?.into_iter().next();
    row.map(|mut row| read(&mut row)).transpose()
}
