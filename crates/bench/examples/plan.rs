//! temporary
use std::io::Read;
fn main() {
    let db = rusqlite::Connection::open(std::env::args().nth(1).unwrap()).unwrap();
    println!("{}", rusqlite::version());
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).unwrap();
    for part in text.split("\u{1}") {
        let Some((name, sql)) = part.split_once('\u{2}') else { continue };
        let Ok(mut st) = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")) else {
            println!("{name} ERR");
            continue;
        };
        let n = st.parameter_count();
        for i in 1..=n {
            st.raw_bind_parameter(i, "a").unwrap();
        }
        let mut rows = st.raw_query();
        print!("{name}: ");
        while let Ok(Some(r)) = rows.next() {
            print!("{} | ", r.get::<_, String>(3).unwrap());
        }
        println!();
    }
}
