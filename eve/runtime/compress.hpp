#pragma once
// Module util.compress: deflate in the forms of gzip and of zlib (std/util/compress.eve).
#include "result.hpp"
#include "vector.hpp"

struct z_stream_s;

namespace eve::util::compress {

// Both forms of streams own what zlib keeps for them. Owner only, all methods.
class packer {
public:
    packer(int window, i64 level);
    packer(packer&& other) noexcept : stream_(other.stream_) { other.stream_ = nullptr; }
    packer& operator=(packer&& other) noexcept;
    ~packer();

    bytes write(const bytes& data);
    bytes flush();
    // The next write begins anew.
    bytes finish();

private:
    bytes run(const bytes& data, int how);

    z_stream_s* stream_;
};

class unpacker {
public:
    unpacker(int window, i64 most);
    unpacker(unpacker&& other) noexcept
        : stream_(other.stream_), left_(other.left_), state_(other.state_) {
        other.stream_ = nullptr;
    }
    unpacker& operator=(unpacker&& other) noexcept;
    ~unpacker();

    result<bytes> write(const bytes& data);
    result<void> finish();

private:
    enum class state : u8 { before, inside, between, failed };
    result<bytes> wrong(i64 code, const char* why);

    z_stream_s* stream_;
    i64 left_;    // bytes that may still come out
    state state_; // before the first stream, inside one, or behind one
};

packer gzip_packer(i64 level);
packer zlib_packer(i64 level);
unpacker gzip_unpacker(i64 most);
unpacker zlib_unpacker(i64 most);

bytes gzip(const bytes& data, i64 level);
bytes zlib(const bytes& data, i64 level);
result<bytes> gunzip(const bytes& data, i64 most);
result<bytes> unzlib(const bytes& data, i64 most);

} // namespace eve::util::compress
