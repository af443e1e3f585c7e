//! Parameters of statements in the form that PostgreSQL takes: single values, and columns of values.

use std::error::Error as StdError;

use admit_store_queries::value::{Kind, Value};
use bytes::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

/// One parameter.
#[derive(Debug)]
pub(crate) struct Param<'a>(pub &'a Value<'a>);
impl ToSql for Param<'_> {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> std::result::Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self.0 {
            Value::Null => Ok(IsNull::Yes),
            Value::Int(number) => number.to_sql(ty, out),
            Value::Text(text) => text.as_ref().to_sql(ty, out),
            Value::Blob(bytes) => bytes.as_ref().to_sql(ty, out),
            Value::Bool(truth) => truth.to_sql(ty, out),
        }
    }
    fn accepts(_: &Type) -> bool {
        true
    }
    to_sql_checked!();
}

/// A parameter that owns its data: a value, or a column of values.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Owned {
    One(Value<'static>),
    Ints(Vec<Option<i64>>),
    Texts(Vec<Option<String>>),
    Blobs(Vec<Option<Vec<u8>>>),
    Bools(Vec<Option<bool>>),
}
impl ToSql for Owned {
    fn to_sql(&self, ty: &Type, out: &mut BytesMut) -> std::result::Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self {
            Self::One(value) => Param(value).to_sql(ty, out),
            Self::Ints(column) => column.to_sql(ty, out),
            Self::Texts(column) => column.to_sql(ty, out),
            Self::Blobs(column) => column.to_sql(ty, out),
            Self::Bools(column) => column.to_sql(ty, out),
        }
    }
    fn accepts(_: &Type) -> bool {
        true
    }
    to_sql_checked!();
}

pub(crate) fn owned(value: &Value<'_>) -> Value<'static> {
    match value {
        Value::Null => Value::Null,
        Value::Int(number) => Value::Int(*number),
        Value::Text(text) => Value::Text(text.clone().into_owned().into()),
        Value::Blob(bytes) => Value::Blob(bytes.clone().into_owned().into()),
        Value::Bool(truth) => Value::Bool(*truth),
    }
}
pub(crate) fn owned_column(kind: Kind, values: &[Value<'_>], first: usize, stride: usize) -> Owned {
    let column = values.iter().skip(first).step_by(stride);
    match kind {
        Kind::Int => {
            Owned::Ints(column.map(|value| if let Value::Int(one) = value { Some(*one) } else { None }).collect())
        }
        Kind::Text => Owned::Texts(
            column.map(|value| if let Value::Text(one) = value { Some(one.to_string()) } else { None }).collect(),
        ),
        Kind::Blob => Owned::Blobs(
            column.map(|value| if let Value::Blob(one) = value { Some(one.to_vec()) } else { None }).collect(),
        ),
        Kind::Bool => {
            Owned::Bools(column.map(|value| if let Value::Bool(one) = value { Some(*one) } else { None }).collect())
        }
    }
}

/// Copies the parameters of a query, with its list if it has one.
pub(crate) fn owned_all(params: &[Value<'_>], list: Option<&[Value<'_>]>) -> Vec<Owned> {
    let mut all: Vec<Owned> = params.iter().map(|value| Owned::One(owned(value))).collect();
    all.extend(list.map(|list| owned_column(kind_of(list), list, 0, 1)));
    all
}

/// A column as a parameter: every `stride`-th value from `first` on. All values of a column are of the kind `kind`.
pub(crate) fn column<'a>(
    kind: Kind,
    values: &'a [Value<'a>],
    first: usize,
    stride: usize,
) -> Box<dyn ToSql + Sync + 'a> {
    let column = values.iter().skip(first).step_by(stride);
    match kind {
        Kind::Int => Box::new(
            column.map(|value| if let Value::Int(number) = value { Some(*number) } else { None }).collect::<Vec<_>>(),
        ),
        Kind::Text => Box::new(
            column
                .map(|value| if let Value::Text(text) = value { Some(text.as_ref()) } else { None })
                .collect::<Vec<_>>(),
        ),
        Kind::Blob => Box::new(
            column
                .map(|value| if let Value::Blob(bytes) = value { Some(bytes.as_ref()) } else { None })
                .collect::<Vec<_>>(),
        ),
        Kind::Bool => Box::new(
            column.map(|value| if let Value::Bool(truth) = value { Some(*truth) } else { None }).collect::<Vec<_>>(),
        ),
    }
}
pub(crate) fn kind_of(list: &[Value<'_>]) -> Kind {
    match list.first() {
        Some(Value::Int(_)) => Kind::Int,
        Some(Value::Blob(_)) => Kind::Blob,
        Some(Value::Bool(_)) => Kind::Bool,
        Some(Value::Text(_) | Value::Null) | None => Kind::Text,
    }
}

pub(crate) fn all<'a>(params: &'a [Param<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    params.iter().map(|param| param as &(dyn ToSql + Sync)).collect()
}
