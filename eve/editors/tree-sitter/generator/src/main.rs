//! Generates the parser of the grammar in the current folder into its folder `src`. This is
//! `tree-sitter generate --abi 14` without the rest of that command, which takes some minutes more
//! to compile. The parser has ABI 14, which Neovim reads since 0.7 and Helix since 22.03; ABI 15
//! needs Neovim 0.11.

use std::error::Error;
use std::path::Path;

const ABI: usize = 14;

fn main() -> Result<(), Box<dyn Error>> {
    if std::env::args().nth(1).as_deref() == Some("--version") {
        println!("{}", env!("CARGO_PKG_VERSION"));
        return Ok(());
    }
    let here = Path::new(".");
    tree_sitter_generate::generate_parser_in_directory(here, None, None, ABI, None, None)?;
    Ok(())
}
