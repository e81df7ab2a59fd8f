#pragma once
// Module io.deflate: packs the messages of WebSockets by zlib (std/io/deflate.eve).
#include "packing.hpp"

namespace eve::io::deflate {

packing::coders coders(i64 level);

} // namespace eve::io::deflate
