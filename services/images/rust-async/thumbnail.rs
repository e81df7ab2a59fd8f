// Makes thumbnails, two at once: a decoder may lay out 200 MB for the largest image.

use crate::bounds::STALL;
use crate::fault::{self, Fault};
use image::codecs::jpeg::JpegEncoder;
use image::imageops::FilterType;
use image::{ImageFormat, ImageReader};
use std::io::Cursor;
use std::sync::Arc;
use tokio::sync::Semaphore;

const SIDE: u32 = 160; // pixels, at most
const MAKERS: usize = 2;

pub struct Makers(Arc<Semaphore>);

impl Makers {
    pub fn new() -> Self {
        Makers(Arc::new(Semaphore::new(MAKERS)))
    }

    /// Makes one on a blocking thread, and keeps its turn until it is done, even if the client
    /// goes.
    pub async fn make(
        &self,
        kind: String,
        content: Vec<u8>,
    ) -> Result<(&'static str, Vec<u8>), Fault> {
        let turn = tokio::time::timeout(STALL, self.0.clone().acquire_owned())
            .await
            .map_err(|_| fault::ROOM)?;
        let made = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            shrink(&kind, &content)
        });
        // A decoder's panic means that the image cannot be decoded.
        made.await.ok().and_then(Result::ok).ok_or(fault::DECODE)
    }
}

fn shrink(kind: &str, content: &[u8]) -> image::ImageResult<(&'static str, Vec<u8>)> {
    let format = ImageFormat::from_mime_type(kind).unwrap_or(ImageFormat::Png);
    let from = ImageReader::with_format(Cursor::new(content), format).decode()?;
    let (width, height) = (f64::from(from.width()), f64::from(from.height()));
    let scale = (f64::from(SIDE) / width.max(height)).min(1.0);
    let side = |n: f64| ((n * scale).round() as u32).max(1);
    let to = from.resize_exact(side(width), side(height), FilterType::Triangle);
    let mut out = Cursor::new(Vec::new());
    if format == ImageFormat::Jpeg {
        to.to_rgb8()
            .write_with_encoder(JpegEncoder::new_with_quality(&mut out, 80))?;
        return Ok(("image/jpeg", out.into_inner()));
    }
    to.to_rgba8().write_to(&mut out, ImageFormat::Png)?;
    Ok(("image/png", out.into_inner()))
}
