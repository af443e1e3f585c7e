//! Traces by OTLP over HTTP, if a setting names a collector (docs/operations.md "Traces"). Only spans of the target
//! [`TRACES`] are exported, and the log on standard error never shows them.
//!
//! The exporter has its own thread and its own small runtime. A collector that is slow or unreachable loses spans and
//! never delays a request.

use std::error::Error;
use std::io::IsTerminal as _;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use admit_app::ports::TRACES;
use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use opentelemetry::propagation::{Extractor, TextMapPropagator as _};
use opentelemetry::trace::{Link, SpanKind, TraceContextExt as _, TraceId, TraceState, TracerProvider as _};
use opentelemetry::{Context, KeyValue};
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::resource::EnvResourceDetector;
use opentelemetry_sdk::trace::{
    ParentBasedSampler, Sampler, SamplingDecision, SamplingResult, SdkTracerProvider, ShouldSample,
};
use tokio::runtime::Runtime;
use tracing::field::Empty;
use tracing::{Span, info_span};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer as _, fmt};
use url::Url;

use crate::adapters::http_client;
use crate::config::SettingError;
use crate::telemetry;

/// The setting with the collector's address. All programs with OpenTelemetry call it so.
const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// The setting with the share of traces that are exported.
const RATIO: &str = "ADMIT_TRACE_RATIO";
/// The path for spans below the collector's address.
const SPANS_PATH: &str = "/v1/traces";
/// How long the exporter waits for a collector's answer.
const EXPORT_LIMIT: Duration = Duration::from_secs(5);
/// How long the end of the process waits for the last spans.
const FLUSH_LIMIT: Duration = Duration::from_secs(2);
/// The least time between two log lines about a collector that accepts nothing.
const WARN_EVERY: Duration = Duration::from_secs(60);
/// The most bytes that are read of a collector's answer.
const ANSWER_BYTES: usize = 64 * 1024;
/// The header in which a device sends its trace with an upload (W3C Trace Context).
const TRACEPARENT: &str = "traceparent";
/// Routes whose requests continue the trace of the device.
const UPLOADS: [&str; 3] = ["/api/scanning/sync", "/api/scans/sync", "/api/scans"];

/// Where spans are sent, and for which share of traces.
#[derive(Debug, Clone, PartialEq)]
pub struct Traces {
    /// The URL to which spans are posted.
    url: Url,
    /// The share of traces that are exported, from 0 to 1.
    ratio: f64,
}

impl Traces {
    /// Parses `OTEL_EXPORTER_OTLP_ENDPOINT` and `ADMIT_TRACE_RATIO`. `None`: no address is set, so nothing is
    /// exported. It does not connect, because the server must start without a collector.
    pub fn read(endpoint: Option<&str>, ratio: &str) -> Result<Option<Self>, SettingError> {
        let wrong = |message: String| SettingError { name: RATIO, message };
        let number = ratio.trim().parse::<f64>().ok().filter(|number| (0.0..=1.0).contains(number));
        let ratio = number.ok_or_else(|| {
            wrong(format!("must be a number from 0 (no trace) to 1 (every trace), such as 0.1; it is {ratio:?}"))
        })?;
        // An empty variable counts as absent, as in OpenTelemetry.
        let Some(text) = endpoint.map(str::trim).filter(|text| !text.is_empty()) else { return Ok(None) };
        Ok(Some(Self { url: spans_url(text)?, ratio }))
    }
}

fn spans_url(text: &str) -> Result<Url, SettingError> {
    let wrong = |what: &str| SettingError {
        name: ENDPOINT,
        message: format!("must be a collector's address for OTLP over HTTP, such as http://127.0.0.1:4318: {what}"),
    };
    let mut url: Url = text.parse().map_err(|error| wrong(&format!("it cannot be read ({error})")))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(wrong("it begins with neither http:// nor https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("leave out the password and put it into OTEL_EXPORTER_OTLP_HEADERS"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("leave out what follows ? or #"));
    }
    let base = url.path().trim_end_matches('/');
    if base.ends_with(SPANS_PATH) {
        return Err(wrong(&format!("leave out {SPANS_PATH}, it is added here")));
    }
    let path = format!("{base}{SPANS_PATH}");
    url.set_path(&path);
    Ok(url)
}

/// The running export. [`Exporting::finish`] sends the remaining spans.
#[derive(Debug)]
pub struct Exporting(SdkTracerProvider);

impl Exporting {
    /// Sends the remaining spans, for at most two seconds. Later ones are lost.
    pub fn finish(self) {
        // The log has already reported a collector that does not answer. The process ends in any case.
        let _ = self.0.shutdown_with_timeout(FLUSH_LIMIT);
    }
}

/// Turns on the log like [`telemetry::init`], and the export of spans.
pub fn init(json: bool, standard: &str, traces: &Traces) -> Result<Exporting, SettingError> {
    let provider = provider(traces)?;
    // Files, lines and threads are of no use to a reader of a trace.
    let spans = tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("admit"))
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_tracked_inactivity(false)
        .with_context_activation(false)
        .with_filter(filter_fn(|of| of.is_span() && of.target() == TRACES).with_max_level_hint(LevelFilter::INFO));
    let log =
        fmt::layer().with_ansi(std::io::stderr().is_terminal()).log_internal_errors(false).with_writer(std::io::stderr);
    let (registry, filter) = (tracing_subscriber::registry().with(spans), telemetry::filter(standard));
    // An error means that a log was turned on before.
    let _ = match json {
        true => registry.with(log.json().with_filter(filter)).try_init(),
        false => registry.with(log.with_filter(filter)).try_init(),
    };
    Ok(Exporting(provider))
}

fn provider(traces: &Traces) -> Result<SdkTracerProvider, SettingError> {
    let wrong = |error: &dyn std::fmt::Display| SettingError {
        name: ENDPOINT,
        message: format!(
            "is set, and its exporter cannot be made: {error}. Correct the OTEL_… setting it names, or unset it"
        ),
    };
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(Collector::new().map_err(|error| wrong(&error))?)
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(traces.url.as_str())
        .build()
        .map_err(|error| wrong(&error))?;
    let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
    let resource = Resource::builder_empty().with_service_name("admit").with_attribute(version);
    let resource = resource.with_detector(Box::new(EnvResourceDetector::new())).build();
    let provider = SdkTracerProvider::builder().with_sampler(Sampling::of(traces.ratio)).with_resource(resource);
    Ok(provider.with_batch_exporter(exporter).build())
}

/// Decides which traces are exported. Of the traces that a request or its device began, it exports a share, chosen by
/// the trace's id. A device marks all its uploads as sampled, so this mark alone exports nothing. A trace that is
/// marked as not sampled is not exported.
#[derive(Debug, Clone)]
struct Sampling(ParentBasedSampler);

impl Sampling {
    fn of(ratio: f64) -> Self {
        let share = Sampler::TraceIdRatioBased(ratio);
        Self(Sampler::parent_based(share.clone()).with_remote_parent_sampled(share))
    }
}

impl ShouldSample for Sampling {
    fn should_sample(
        &self,
        parent: Option<&Context>,
        trace_id: TraceId,
        name: &str,
        kind: &SpanKind,
        attributes: &[KeyValue],
        links: &[Link],
    ) -> SamplingResult {
        let inside = parent.is_some_and(|parent| parent.span().span_context().is_valid());
        if !inside && *kind != SpanKind::Server {
            // A write outside of a request, such as one of a background task, is not exported.
            let (decision, trace_state) = (SamplingDecision::Drop, TraceState::default());
            return SamplingResult { decision, attributes: Vec::new(), trace_state };
        }
        self.0.should_sample(parent, trace_id, name, kind, attributes, links)
    }
}

/// The client of the collector. The exporter's own thread drives it, and nothing waits for it.
#[derive(Debug)]
struct Collector {
    client: reqwest::Client,
    runtime: Runtime,
    /// When the log last reported that spans are lost.
    warned: Mutex<Option<Instant>>,
}

impl Collector {
    fn new() -> Result<Self, Box<dyn Error>> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        // Between two exports nothing runs that would notice the end of a connection, so each export has a new one.
        let client = http_client::builder()
            .timeout(EXPORT_LIMIT)
            .pool_max_idle_per_host(0)
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        Ok(Self { client, runtime, warned: Mutex::default() })
    }

    async fn send(&self, request: http::Request<Bytes>) -> reqwest::Result<http::Response<Bytes>> {
        let mut answer = self.client.execute(request.try_into()?).await?;
        let mut body = BytesMut::new();
        while let Some(chunk) = answer.chunk().await? {
            let room = ANSWER_BYTES.saturating_sub(body.len());
            body.extend_from_slice(&chunk[..chunk.len().min(room)]);
        }
        let mut whole = http::Response::new(body.freeze());
        *whole.status_mut() = answer.status();
        *whole.headers_mut() = std::mem::take(answer.headers_mut());
        Ok(whole)
    }

    /// Logs at most once per minute that spans are lost, with the reason.
    fn warn(&self, why: &str) {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.is_some_and(|at| at.elapsed() < WARN_EVERY) {
            return;
        }
        *warned = Some(Instant::now());
        tracing::warn!(
            event = "traces.not_exported",
            why,
            "the collector of {ENDPOINT} takes no spans; they are dropped, and requests are answered as ever"
        );
    }
}

#[async_trait]
impl HttpClient for Collector {
    async fn send_bytes(&self, request: http::Request<Bytes>) -> Result<http::Response<Bytes>, HttpError> {
        // The exporter's thread runs no other runtime and has nothing else to do.
        match self.runtime.block_on(self.send(request)) {
            Ok(answer) => {
                if !answer.status().is_success() {
                    self.warn(&format!("it answers {}", answer.status()));
                }
                Ok(answer)
            }
            Err(error) => {
                self.warn(&whole(&error));
                Err(error.into())
            }
        }
    }
}

/// The text of an error with its causes.
fn whole(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| Error::source(*error));
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// The span of a request to the API, inside the log's current span. An upload continues the device's trace.
pub fn request(method: &str, route: &str, id: &str, headers: &HeaderMap) -> Span {
    if !route.starts_with("/api/") {
        return Span::none();
    }
    let span = info_span!(
        target: TRACES,
        "request",
        otel.name = Empty,
        otel.kind = "server",
        otel.status_code = Empty,
        http.request.method = Empty,
        http.route = route,
        http.response.status_code = Empty,
        admit.request_id = id,
    );
    if span.is_disabled() {
        return span;
    }
    // The caller chooses the method's text, so unusual methods become one value.
    let method = if matches!(method, "GET" | "POST" | "PATCH" | "DELETE" | "HEAD") { method } else { "_OTHER" };
    span.record("otel.name", format!("{method} {route}"));
    span.record("http.request.method", method);
    if UPLOADS.contains(&route)
        && let Some(parent) = remote(headers)
    {
        let _ = span.set_parent(parent);
    }
    span
}

/// Adds the status of the answer to a span.
pub fn answered(span: &Span, status: http::StatusCode, failed: bool) {
    span.record("http.response.status_code", i64::from(status.as_u16()));
    if failed {
        span.record("otel.status_code", "error");
    }
}

/// The span in the device's `traceparent` header, which caused this upload. `None` if the header is malformed or
/// occurs twice.
fn remote(headers: &HeaderMap) -> Option<Context> {
    struct Only<'a>(&'a str);
    impl Extractor for Only<'_> {
        // `tracestate` is ignored, because it is free text that would be exported unchanged.
        fn get(&self, key: &str) -> Option<&str> {
            (key == TRACEPARENT).then_some(self.0)
        }
        fn keys(&self) -> Vec<&str> {
            vec![TRACEPARENT]
        }
    }
    let mut given = headers.get_all(TRACEPARENT).iter();
    let (Some(value), None) = (given.next(), given.next()) else { return None };
    let text = value.to_str().ok()?;
    let context = TraceContextPropagator::new().extract_with_context(&Context::new(), &Only(text));
    context.has_active_span().then_some(context)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_a_collectors_address() {
        let url = |text: &str| Traces::read(Some(text), "1").map(|traces| traces.unwrap().url.to_string());
        assert_eq!(url("http://127.0.0.1:4318").unwrap(), "http://127.0.0.1:4318/v1/traces");
        assert_eq!(url(" https://otel.example.org/in/ ").unwrap(), "https://otel.example.org/in/v1/traces");
        for (wrong, fix) in [
            ("127.0.0.1:4318", "http://127.0.0.1:4318"),
            ("localhost:4318", "neither http:// nor https://"),
            ("ftp://a.example", "neither http:// nor https://"),
            ("http://me:hush@a.example", "OTEL_EXPORTER_OTLP_HEADERS"),
            ("ftp://me:hush@a.example", "neither http:// nor https://"),
            ("http://me:hush@a.example:x", "it cannot be read"),
            ("http://a.example/v1/traces", "leave out /v1/traces"),
            ("http://a.example?x=1", "leave out what follows ?"),
        ] {
            let told = url(wrong).unwrap_err().to_string();
            assert!(told.starts_with(ENDPOINT) && told.contains(fix), "{wrong}: {told}");
            assert!(!told.contains("hush"), "{told}");
        }
        for absent in [None, Some(""), Some(" ")] {
            assert_eq!(Traces::read(absent, "1").unwrap(), None);
        }
    }

    #[test]
    fn a_ratio_is_from_0_to_1() {
        let ratio = |text: &str| Traces::read(Some("http://a.example"), text).map(|traces| traces.unwrap().ratio);
        assert_eq!((ratio("0").unwrap(), ratio("0.25").unwrap(), ratio("1").unwrap()), (0.0, 0.25, 1.0));
        for wrong in ["", "1.1", "-0.1", "NaN", "all", "10%"] {
            let told = ratio(wrong).unwrap_err().to_string();
            assert!(told.starts_with("ADMIT_TRACE_RATIO must be a number from 0"), "{told}");
        }
        assert!(Traces::read(None, "2").is_err(), "a mistake is told before it matters");
    }

    #[test]
    fn a_parent_is_one_well_formed_traceparent() {
        let named = |lines: &[&str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(TRACEPARENT, line.parse().unwrap());
            }
            headers.append("tracestate", "guest=ada".parse().unwrap());
            remote(&headers).map(|context| context.span().span_context().clone())
        };
        let whole = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let parent = named(&[whole]).unwrap();
        assert_eq!(parent.trace_id().to_string(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(parent.span_id().to_string(), "00f067aa0ba902b7");
        assert!(parent.is_remote() && parent.is_sampled());
        assert_eq!(parent.trace_state().header(), "", "what else came with it is not exported");
        let zeros = "00-00000000000000000000000000000000-00f067aa0ba902b7-01";
        for wrong in [&[][..], &[whole, whole], &["x"], &[&whole[..40]], &[zeros], &["00-é-1-01"]] {
            assert!(named(wrong).is_none(), "{wrong:?}");
        }
    }

    #[test]
    fn a_share_of_traces_is_exported_whole_and_of_background_work_none() {
        let context = |line: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(TRACEPARENT, line.parse().unwrap());
            remote(&headers).unwrap()
        };
        let decided = |ratio: f64, parent: Option<&Context>, kind: SpanKind| {
            let id = parent.map_or(TraceId::from(1), |parent| parent.span().span_context().trace_id());
            Sampling::of(ratio).should_sample(parent, id, "x", &kind, &[], &[]).decision
        };
        let marked = context("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
        let unmarked = context("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00");
        assert_eq!(decided(1.0, Some(&marked), SpanKind::Server), SamplingDecision::RecordAndSample);
        assert_eq!(decided(0.0, Some(&marked), SpanKind::Server), SamplingDecision::Drop, "the mark decides nothing");
        assert_eq!(decided(1.0, Some(&unmarked), SpanKind::Server), SamplingDecision::Drop);
        assert_eq!(decided(1.0, None, SpanKind::Server), SamplingDecision::RecordAndSample);
        assert_eq!(decided(1.0, None, SpanKind::Internal), SamplingDecision::Drop);
    }
}
