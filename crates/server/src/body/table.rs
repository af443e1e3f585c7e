//! Reads a file of guests and tickets, sent as the body or as a part of a form.

use bytes::Bytes;
use http::StatusCode;

use crate::error::{ApiError, Result};

/// The longest mapping in a form, in bytes.
const MAPPING_BYTES: usize = 100_000;
/// The media types that a file may have.
const TYPES: [&str; 6] = [
    "text/csv",
    "text/tab-separated-values",
    "text/plain",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.ms-excel",
    "application/octet-stream",
];

/// A decoded file within all size limits, with the other parts of its form.
#[derive(Debug, Clone)]
pub struct TableBody {
    /// The file's bytes.
    pub file: Bytes,
    /// The text of the form's part `mapping`; `None` without a form or without that part.
    pub mapping: Option<String>,
    /// The file's name in the form; `None` without a form or a name.
    pub file_name: Option<String>,
}

/// The kind of a request's body, by its media type.
pub enum Kind {
    /// The body is the file.
    File,
    /// The body is a form; the text is the boundary between its parts.
    Form(String),
}

impl Kind {
    /// Parses a `Content-Type` header.
    pub fn of(content_type: &str) -> Result<Self> {
        let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        if TYPES.contains(&essence.as_str()) {
            return Ok(Self::File);
        }
        if essence != "multipart/form-data" {
            let detail = format!("Content-Type must be multipart/form-data or one of {}", TYPES.join(", "));
            return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail));
        }
        let boundary = multer::parse_boundary(content_type);
        boundary.map(Self::Form).map_err(|_| ApiError::field("body", "is a form without a boundary"))
    }

    /// Takes the file and the other parts out of the bytes of a body.
    pub async fn read(self, bytes: Bytes) -> Result<TableBody> {
        match self {
            Self::File => Ok(TableBody { file: bytes, mapping: None, file_name: None }),
            Self::Form(boundary) => form(bytes, boundary).await,
        }
    }
}

async fn form(bytes: Bytes, boundary: String) -> Result<TableBody> {
    let wrong = |error: multer::Error| ApiError::field("body", format!("is a form that cannot be read: {error}"));
    let source = futures_util::stream::once(async move { Ok::<_, std::convert::Infallible>(bytes) });
    let mut parts = multer::Multipart::new(source, boundary);
    let (mut file, mut mapping, mut file_name) = (None, None, None);
    while let Some(part) = parts.next_field().await.map_err(wrong)? {
        match part.name() {
            Some("file") if file.is_none() => {
                file_name = part.file_name().map(str::to_owned);
                file = Some(part.bytes().await.map_err(wrong)?);
            }
            Some("mapping") if mapping.is_none() => {
                let text = part.text().await.map_err(wrong)?;
                if text.len() > MAPPING_BYTES {
                    return Err(ApiError::field("mapping", format!("must have at most {MAPPING_BYTES} bytes")));
                }
                mapping = Some(text);
            }
            name => {
                let name = name.unwrap_or_default();
                return Err(ApiError::field(name, "is no part of this form, or there twice: it has file and mapping"));
            }
        }
    }
    let file = file.ok_or_else(|| ApiError::field("file", "is required: the form's part with the file"))?;
    Ok(TableBody { file, mapping, file_name })
}
