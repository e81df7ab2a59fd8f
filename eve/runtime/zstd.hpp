#pragma once
// Module util.zstd: Zstandard (std/util/zstd.eve).
#include "result.hpp"
#include "vector.hpp"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace eve::util::zstd {

// Both forms of streams own what the library keeps for them. Owner only, all methods.
class packer {
public:
    explicit packer(i64 level);
    packer(packer&& other) noexcept : stream_(other.stream_) { other.stream_ = nullptr; }
    packer& operator=(packer&& other) noexcept;
    ~packer();

    bytes write(const bytes& data);
    bytes flush();
    // The next write begins anew.
    bytes finish();
    // Packs data as a whole: its size is known from the start.
    bytes whole(const bytes& data);

private:
    ZSTD_CCtx_s* stream_;
};

class unpacker {
public:
    explicit unpacker(i64 most);
    unpacker(unpacker&& other) noexcept
        : stream_(other.stream_), left_(other.left_), state_(other.state_) {
        other.stream_ = nullptr;
    }
    unpacker& operator=(unpacker&& other) noexcept;
    ~unpacker();

    result<bytes> write(const bytes& data);
    result<void> finish();

private:
    enum class state : u8 { inside, between, failed };
    error wrong(i64 code, const char* why);
    error wrong(unsigned long code);

    ZSTD_DCtx_s* stream_;
    i64 left_;    // bytes that may still come out
    state state_; // inside a frame or before the first one, behind one, or behind an error
};

packer new_packer(i64 level);
unpacker new_unpacker(i64 most);

bytes pack(const bytes& data, i64 level);
result<bytes> unpack(const bytes& data, i64 most);

} // namespace eve::util::zstd
