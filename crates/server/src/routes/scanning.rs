//! The routes of devices (S1 §2, §4, §8; spec §5 "Devices").

pub mod doc;
pub mod pair;
pub mod health;
pub mod manifest;
pub mod names;
pub mod changes;
pub mod upload;
pub mod sync;
pub mod online;
pub mod offline;

use utoipa_axum::router::OpenApiRouter;

use crate::auth::device::frame;
use crate::state::AppState;

/// The routes. All but pairing are behind the device middleware.
pub fn routes(state: &AppState) -> OpenApiRouter<AppState> {
    let framed = OpenApiRouter::new()
        .merge(manifest::routes())
        .merge(names::routes())
        .merge(changes::routes())
        .merge(health::routes())
        .merge(sync::routes())
        .merge(online::routes())
        .merge(offline::routes())
        .route_layer(axum::middleware::from_fn_with_state(state.clone(), frame));
    OpenApiRouter::new().merge(pair::routes()).merge(framed)
}
