# frozen_string_literal: true

# Counter, one event loop for all clients on cool.io, as Rev is called today: the count is
# a plain variable that nothing can race for, at the price of one core and an interpreter.
require 'cool.io'

# A client is not read from until all its answers have been written.
class Counter < Coolio::TCPSocket
  @count = 0
  class << self
    attr_accessor :count
  end

  def on_read(requests)
    known = requests[/\A[\0\1]*/n]
    @last = known.size < requests.size
    disable
    write(known.each_byte.map { |request| Counter.count += request }.pack('Q>*'))
  end

  def on_write_complete
    @last ? close : enable
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
Door.new(listener, nil, Counter).attach(Coolio::Loop.default)
trap(:TERM) { exit }
warn 'ready'
Coolio::Loop.default.run
