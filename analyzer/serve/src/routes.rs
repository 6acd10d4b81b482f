//! Addresses below the token, and how answers are written.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::http::{StatusCode, header};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::{Deserialize, Serialize};

use crate::access::{self, Access};
use crate::answers::{Answers, Page, PageState, QueryRequest};
use crate::assets;
use crate::cancel::Cancel;
use crate::refusal::Refusal;
use crate::timeline::WindowRequest;

const MAX_BODY_BYTES: usize = 64 << 10;

type Shared = Arc<dyn Answers>;

/// All routes, behind the check of the token.
pub(crate) fn routes(answers: Shared, access: Access) -> Router {
    Router::new()
        .route("/{token}/", get(page))
        .route("/{token}/page.css", get(style))
        .route("/{token}/page.js", get(script))
        .route("/{token}/state", get(state))
        .route("/{token}/window", get(window))
        .route("/{token}/curves", get(curves))
        .route("/{token}/query", post(query))
        .route("/{token}/again", post(again))
        .route("/{token}/made", get(made))
        .route("/{token}/made.html", get(made_page))
        .fallback(async || (StatusCode::NOT_FOUND, "there is no such page"))
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(middleware::from_fn_with_state(access, access::check))
        .with_state(answers)
}

fn of_type(kind: &'static str, body: impl IntoResponse) -> Response {
    ([(header::CONTENT_TYPE, kind)], body).into_response()
}

async fn page() -> Response {
    of_type("text/html; charset=utf-8", assets::PAGE)
}

async fn style() -> Response {
    of_type("text/css; charset=utf-8", assets::STYLE)
}

async fn script() -> Response {
    of_type("text/javascript; charset=utf-8", assets::script())
}

/// Runs on a thread that may block. A panic becomes an error response.
async fn on_blocking_thread<T: Send + 'static>(
    answers: Shared,
    ask: impl FnOnce(&dyn Answers) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let work = tokio::task::spawn_blocking(move || ask(&*answers));
    let failed = |_| Refusal::Failed("the answer failed: an error of the program".to_owned());
    work.await.map_err(failed)?
}

fn json(value: Result<impl Serialize, Refusal>) -> Response {
    let text = value.map(|value| serde_json::to_string(&value));
    match text {
        Ok(Ok(text)) => of_type("application/json", text),
        Ok(Err(_)) => (StatusCode::INTERNAL_SERVER_ERROR, "JSON cannot be created").into_response(),
        Err(refusal) => refusal.into_response(),
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let code = match self {
            Refusal::Wrong(_) => StatusCode::BAD_REQUEST,
            Refusal::Missing(_) => StatusCode::NOT_FOUND,
            Refusal::NotYet(_) => StatusCode::SERVICE_UNAVAILABLE,
            Refusal::Failed(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Refusal::Busy(_) => StatusCode::TOO_MANY_REQUESTS,
        };
        (code, of_type("text/plain; charset=utf-8", self.to_string())).into_response()
    }
}

#[derive(Deserialize)]
struct AfterState {
    after: Option<u64>,
}

async fn state(State(answers): State<Shared>, Query(asked_for): Query<AfterState>) -> Response {
    json(on_blocking_thread(answers, move |of| Ok(of.state(asked_for.after))).await)
}

#[derive(Deserialize)]
struct WindowQuery {
    run: usize,
    from: i64,
    until: i64,
    pixels: u32,
    lanes: String,
}

async fn window(State(answers): State<Shared>, Query(of): Query<WindowQuery>) -> Response {
    let numbers = of.lanes.split(',').filter(|text| !text.is_empty());
    let lanes: Result<Vec<usize>, _> = numbers.map(str::parse).collect();
    let Ok(lanes) = lanes else {
        return Refusal::Wrong("lanes are numbers with commas between".to_owned()).into_response();
    };
    let window = WindowRequest {
        from_ns: of.from,
        until_ns: of.until,
        pixels: of.pixels,
        lanes,
    };
    json(on_blocking_thread(answers, move |answers| answers.window(of.run, &window)).await)
}

async fn curves(State(answers): State<Shared>, Query(of): Query<RunNumber>) -> Response {
    json(on_blocking_thread(answers, move |answers| answers.curves(of.run)).await)
}

async fn query(State(answers): State<Shared>, body: Bytes) -> Response {
    let query: QueryRequest = match serde_json::from_slice(&body) {
        Ok(query) => query,
        Err(why) => return Refusal::Wrong(format!("no query: {why}")).into_response(),
    };
    let cancel = Cancel::default();
    // Dropped with this answer when the client goes away.
    let _while_waited_for = cancel.when_dropped();
    json(on_blocking_thread(answers, move |of| of.query(&query, &cancel)).await)
}

#[derive(Deserialize)]
struct RunNumber {
    run: usize,
}

async fn again(State(answers): State<Shared>, Query(of): Query<RunNumber>) -> Response {
    json(on_blocking_thread(answers, move |answers| answers.read_again(of.run)).await)
}

#[derive(Deserialize)]
struct PageQuery {
    run: usize,
    base: Option<usize>,
}

impl PageQuery {
    fn page(&self) -> Page {
        match self.base {
            Some(base) => Page::Compare {
                base,
                run: self.run,
            },
            None => Page::Report(self.run),
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "is", rename_all = "snake_case")]
enum Made {
    Making { step: String },
    Ready,
    Failed { why: String },
}

async fn made(State(answers): State<Shared>, Query(of): Query<PageQuery>) -> Response {
    let found = on_blocking_thread(answers, move |answers| answers.page(of.page())).await;
    json(found.map(|state| match state {
        PageState::Making(step) => Made::Making { step },
        PageState::Ready(_) => Made::Ready,
        PageState::Failed(why) => Made::Failed { why },
    }))
}

async fn made_page(State(answers): State<Shared>, Query(of): Query<PageQuery>) -> Response {
    let found = on_blocking_thread(answers, move |answers| match answers.page(of.page())? {
        PageState::Ready(page) => Ok(page),
        PageState::Making(step) => Err(Refusal::NotYet(step)),
        PageState::Failed(why) => Err(Refusal::Failed(why)),
    });
    let policy = access::frame_policy();
    let html = [(header::CONTENT_TYPE, "text/html; charset=utf-8")];
    match found.await {
        Ok(page) => ([policy], html, Bytes::from_owner(PageBytes(page))).into_response(),
        Err(refusal) => refusal.into_response(),
    }
}

struct PageBytes(Arc<Vec<u8>>);

impl AsRef<[u8]> for PageBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}
