//! Closed vocabularies. Each is an enum whose every value has one word, the same in Rust, SQL, JSON, screens and
//! documents.

/// Defines an enum together with the word of each value. Each enum gets `as_str`, `FromStr`, `ALL`, `WORDS` and
/// `Display`.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $word:literal),* $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$vdoc])* $variant),* }
        impl $name {
            /// Every value, in order.
            pub const ALL: &'static [$name] = &[$($name::$variant),*];
            /// Every word, in order.
            pub const WORDS: &'static [&'static str] = &[$($word),*];
            /// The word of this value.
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $word),* }
            }
        }
        impl std::str::FromStr for $name {
            type Err = $crate::words::UnknownWord;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text { $($word => Ok($name::$variant),)* _ => Err($crate::words::UnknownWord { expected: Self::WORDS }) }
            }
        }
        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }
        $crate::words::described!($name, &$name::WORDS);
    )*};
}
pub(crate) use words;

/// Describes a type for the OpenAPI document. In JSON the type is a text. `$words` lists all texts that the type
/// allows. An empty list means that any text is allowed.
macro_rules! described {
    ($name:path, $words:expr $(, $format:ident)?) => {
        #[cfg(feature = "openapi")]
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                use utoipa::openapi::schema::{ObjectBuilder, Type};
                let words: &[&str] = $words;
                let text = ObjectBuilder::new().schema_type(Type::String);
                $(let text = text.format(Some(utoipa::openapi::SchemaFormat::KnownFormat(utoipa::openapi::KnownFormat::$format)));)?
                text.enum_values((!words.is_empty()).then(|| words.to_vec())).build().into()
            }
        }
        #[cfg(feature = "openapi")]
        impl utoipa::ToSchema for $name {}
    };
}
pub(crate) use described;

/// The error for a text that is no word of the vocabulary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be one of: {}", expected.join(", "))]
pub struct UnknownWord {
    /// Every word that the vocabulary has.
    pub expected: &'static [&'static str],
}
