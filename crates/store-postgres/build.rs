//! The migrations are read into the program when it is built: built again when one is added.

fn main() {
    println!("cargo:rerun-if-changed=migrations");
}
