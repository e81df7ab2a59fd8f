#pragma once
// Module fs: files and directories by their paths (std/fs.eve). Each function is a few system calls
// that may wait for a disk; one thread of the pool makes them.
#include "file.hpp"
#include "temporary.hpp"
#include "watch.hpp"

namespace eve::fs {

async<result<bytes>> read(const string& path, i64 most);
async<result<void>> write(const string& path, bytes data);
async<result<void>> append(const string& path, bytes data);
async<result<void>> replace(const string& path, bytes data);

async<result<ref<file>>> open(const string& path);
async<result<ref<file>>> create(const string& path);
async<result<ref<file>>> open_append(const string& path);
async<result<ref<file>>> open_update(const string& path);

async<result<vector<entry>>> list(const string& path);
async<result<void>> make_directory(const string& path, bool parents, i64 permissions);
async<result<void>> remove(const string& path);
async<result<void>> rename(const string& from, const string& to);
async<result<file_info>> info(const string& path);
async<result<file_info>> link_info(const string& path);
async<result<void>> set_times(const string& path, const option<instant>& modified,
                              const option<instant>& accessed);
async<result<void>> copy(const string& from, const string& to);
async<result<void>> remove_all(const string& path);
async<result<void>> make_link(const string& to, const string& path);
async<result<string>> read_link(const string& path);
async<result<void>> set_permissions(const string& path, i64 permissions);

async<result<ref<file>>> open_beneath(const string& folder, const string& name);
async<result<ref<temporary>>> temporary_file(const string& folder, const string& suffix);
async<result<ref<temporary>>> temporary_folder(const string& folder);

} // namespace eve::fs
