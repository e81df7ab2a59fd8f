# frozen_string_literal: true

# Sink, one event loop for all clients on cool.io, as Rev is called today: lines cannot mix,
# since one thread writes them all, but all clients stand still while it does.
require 'cool.io'
require 'English'

# A client, with the line that has not ended.
class Sink < Coolio::TCPSocket
  LONGEST = 4096 # bytes with the LF: PIPE_BUF, as the service says

  def on_connect
    @held = String.new
  end

  def on_read(data)
    @held << data
    lines = @held.slice!(0, ended)
    output(lines) unless lines.empty?
    close if @held.size >= LONGEST
  end

  # $ERROR_INFO tells how the client ended: by end of file, or by a reset.
  def close
    output("#{@held}\n") if $ERROR_INFO.is_a?(EOFError) && !@held.empty?
    super
  end

  private

  # The length of the lines that have ended. Steps of LONGEST stop at a line that is too long.
  def ended
    length = 0
    while (last = @held.byteslice(length, LONGEST).rindex("\n"))
      length += last + 1
    end
    length
  end

  def output(lines)
    $stdout.write(lines)
  rescue SystemCallError => e
    abort "writing: #{e.message}"
  end
end

# Out of descriptors: connected clients are still served, the next waits.
class Door < Coolio::TCPServer
  def on_readable
    super
  rescue Errno::EMFILE, Errno::ENFILE
    disable
    evloop.attach(Coolio::TimerWatcher.new(0.1).tap { |wait| wait.on_timer { enable } })
  end
end

port, host = ARGV
begin
  listener = TCPServer.new(host || '127.0.0.1', port)
rescue SystemCallError, SocketError => e
  abort "listening: #{e.message}"
end
listener.setsockopt(:TCP, :NODELAY, true) # clients inherit it
Door.new(listener, nil, Sink).attach(Coolio::Loop.default)
$stdout.sync = true
trap(:TERM) { exit }
warn 'ready'
Coolio::Loop.default.run
