//! Draws the QR code as S0 requires: error correction level H, modules of 10 pixels, a margin of four modules.

use fast_qr::{ECL, QRBuilder, QRCode};

use crate::error::{Error, Result};

/// Width of a module, in pixels.
const MODULE_PX: usize = 10;
/// Width of the white margin, in modules.
const MARGIN: usize = 4;

fn symbol(text: &str) -> Result<QRCode> {
    QRBuilder::new(text).ecl(ECL::H).build().map_err(|error| Error::Bug(format!("no QR code of an address: {error}")))
}

/// The QR code as a black and white PNG. The same text gives the same bytes.
pub fn png(text: &str) -> Result<Vec<u8>> {
    let code = symbol(text)?;
    let width = (code.size + 2 * MARGIN) * MODULE_PX;
    let bytes_a_row = width.div_ceil(8);
    let mut rows = Vec::with_capacity(bytes_a_row * width);
    for y in 0..code.size + 2 * MARGIN {
        // A set bit is white.
        let mut row = vec![0xFF_u8; bytes_a_row];
        for x in (0..code.size).filter(|x| is_dark(&code, *x, y)) {
            for pixel in (x + MARGIN) * MODULE_PX..(x + MARGIN + 1) * MODULE_PX {
                row[pixel / 8] &= !(0x80 >> (pixel % 8));
            }
        }
        (0..MODULE_PX).for_each(|_| rows.extend_from_slice(&row));
    }
    let mut out = Vec::with_capacity(4_096);
    let side = u32::try_from(width).map_err(|error| Error::Bug(error.to_string()))?;
    let mut encoder = png::Encoder::new(&mut out, side, side);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_depth(png::BitDepth::One);
    // A row mostly equals the one above it. Better compression would halve the 1.8 kB, and take four times as long as
    // all the rest.
    encoder.set_filter(png::Filter::Up);
    encoder.set_compression(png::Compression::Fast);
    let written = encoder.write_header().and_then(|mut writer| {
        writer.write_image_data(&rows)?;
        writer.finish()
    });
    written.map_err(|error| Error::Bug(format!("no picture of a QR code: {error}")))?;
    Ok(out)
}

/// Whether the module at `x` of the symbol is dark. `y` is the row, counted with the margin.
fn is_dark(code: &QRCode, x: usize, y: usize) -> bool {
    (MARGIN..MARGIN + code.size).contains(&y) && code[y - MARGIN][x].value()
}

/// The QR code as the path of an SVG, to be drawn with a stroke one unit wide. Returns the side of its square with the
/// margin, and the path.
pub fn svg_path(text: &str) -> Result<(usize, String)> {
    use std::fmt::Write as _;
    let code = symbol(text)?;
    let mut path = String::with_capacity(8_192);
    for y in 0..code.size {
        let mut x = 0;
        while x < code.size {
            let run = (x..code.size).take_while(|x| code[y][*x].value()).count();
            if run > 0 {
                // Writing into a string cannot fail.
                let _ = write!(path, "M{} {}.5h{run}", x + MARGIN, y + MARGIN);
            }
            x += run.max(1);
        }
    }
    Ok((code.size + 2 * MARGIN, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    const URL: &str = "https://tickets.example/passes?token=7d7e8b1c-93a4-4f02-8f2c-0a1b2c3d4e5f";

    fn pixels(png: &[u8]) -> (usize, Vec<u8>) {
        let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.color_type), (info.height, png::ColorType::Grayscale));
        (info.width as usize, pixels)
    }

    #[test]
    fn ten_pixels_a_module_and_four_modules_of_margin() {
        let made = png(URL).unwrap();
        assert!(made.len() < 6_000, "{} bytes", made.len());
        let (width, pixels) = pixels(&made);
        let row = width.div_ceil(8);
        let dark = |x: usize, y: usize| pixels[y * row + x / 8] & (0x80 >> (x % 8)) == 0;
        assert_eq!(width % MODULE_PX, 0);
        assert!((0..width).all(|x| !dark(x, 39) && !dark(39, x) && !dark(x, width - 40) && !dark(width - 40, x)));
        // The corner of the finder pattern begins just after the margin.
        assert!(dark(40, 40) && dark(49, 49) && !dark(50, 50) && dark(width - 41, 40) && dark(40, width - 41));
        assert_eq!(png(URL).unwrap(), made, "the same each time");
    }

    #[test]
    fn the_drawing_has_the_same_modules_as_the_picture() {
        let (side, path) = svg_path(URL).unwrap();
        let (width, pixels) = pixels(&png(URL).unwrap());
        assert_eq!(side * MODULE_PX, width);
        let row = width.div_ceil(8);
        let dark = |x: usize, y: usize| pixels[y * 10 * row + x * 10 / 8] & (0x80 >> (x * 10 % 8)) == 0;
        let mut drawn = vec![vec![false; side]; side];
        for run in path.split('M').skip(1) {
            let (place, length) = run.split_once('h').unwrap();
            let (x, y) = place.split_once(' ').unwrap();
            let (x, y): (usize, usize) = (x.parse().unwrap(), y.trim_end_matches(".5").parse().unwrap());
            drawn[y][x..x + length.parse::<usize>().unwrap()].fill(true);
        }
        for (y, row) in drawn.iter().enumerate() {
            for (x, drawn) in row.iter().enumerate() {
                assert_eq!(*drawn, dark(x, y), "{x} {y}");
            }
        }
    }
}
