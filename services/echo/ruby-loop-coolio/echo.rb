# frozen_string_literal: true

# Echo, one event loop for all clients on cool.io, as Rev is called today: callbacks
# that read and write by themselves, at the price of one core and an interpreter.
require 'cool.io'

# A client is not read from until all that it sent has been written back.
class Echo < Coolio::TCPSocket
  def on_read(data)
    disable
    write(data)
  end

  def on_write_complete
    enable
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
Door.new(listener, nil, Echo).attach(Coolio::Loop.default)
trap(:TERM) { exit }
warn 'ready'
Coolio::Loop.default.run
