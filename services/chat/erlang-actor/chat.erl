%% Chat, an actor for each client, one that owns the rooms and the log, and one that waits for the
%% disk. The bytes of one read are a message to the owner. It takes all waiting messages, writes
%% them to the log at once, and sends each reader one shared binary. Rooms are no actors of their
%% own: two of them could not give their common clients one order.
-module(chat).
-behaviour(gen_event).
-export([main/1, fail/1, init/1, handle_event/2, handle_call/2]).
-include("hall.hrl").

%% Reads of at most CHUNK bytes; when BURST of them were delivered, the owner has to say that
%% it has seen them.
-define(CHUNK, 8192).
-define(BURST, 8).
%% Bytes that wait for a client at most.
-define(HELD, 1048576).
%% Bytes of the log that a returning member is sent at a time, and after which a client's actor
%% sends its data. A guess.
-define(PIECE, 65536).
%% In milliseconds, for a client that has left: to read its remaining lines, and to close. Guesses.
-define(LINGER, 5000).
-define(CLOSE,  1000).

%% The state of a client's actor: held is the beginning of a line (one to skip, if it was too long);
%% last says that nothing follows the waiting data; busy is true while the port is busy, or the
%% answer that the disk will give.
-record(c, {
          socket,
          held = <<>>,
          skip = false,
          back = [],
          front = [],
          size = 0,
          sending = 0,
          busy = false,
          last = false,
          broken = false
         }).


main([Port, Host, Data]) ->
    spawn(fun() -> serve(list_to_integer(Port), Host, Data) end);
main(_) ->
    fail("usage: chat PORT HOST DATA").


fail(Why) ->
    io:format(standard_error, "~ts~n", [Why]),
    halt(1).


serve(Port, Host, Data) ->
    Address =
        case inet:parse_address(Host) of
            {ok, Parsed} -> Parsed;
            {error, _} -> fail(["listening on ", Host, ": no address"])
        end,
    Options = [element(tuple_size(Address) div 4, {inet, inet6}),
               binary,
               {active, false},
               {ip, Address},
               {reuseaddr, true},
               {backlog, 4096},
               {nodelay, true},
               {buffer, ?CHUNK},
               {exit_on_close, false},
               {show_econnreset, true}],
    %% Code is otherwise loaded when it is first needed, and there may be no descriptor left then.
    ok = code:ensure_modules_loaded([hall, commands, folder, words, calendar, string, filename,
                                     timer]),
    Self = self(),
    Owner = spawn(fun() -> hall:own(Data, Self) end),
    Watch = monitor(process, Owner),
    receive
        {Owner, opened} -> register(hall, Owner);
        {'DOWN', Watch, process, _, Crash} ->
            fail(io_lib:format("the owner has failed: ~0p", [Crash]))
    end,
    case gen_tcp:listen(Port, Options) of
        {ok, Listener} ->
            [ spawn(fun() -> accept(Listener) end)
              || _ <- lists:seq(1, erlang:system_info(schedulers)) ],
            ok = gen_event:swap_handler(erl_signal_server, {erl_signal_handler, []}, {?MODULE, []}),
            io:put_chars(standard_error, "ready\n");
        {error, Reason} ->
            fail(["listening on ",
                  Host,
                  $:,
                  integer_to_list(Port),
                  ": ",
                  inet:format_error(Reason)])
    end,
    %% Without the owner nothing can go on.
    receive
        {'DOWN', Watch, process, _, Failure} ->
            fail(io_lib:format("the owner has failed: ~0p", [Failure]))
    end.


%% The acceptor becomes the client's actor, and another takes its place.
accept(Listener) ->
    case gen_tcp:accept(Listener) of
        {ok, Socket} ->
            spawn(fun() -> accept(Listener) end),
            hall ! {self(), enter, host(inet:peername(Socket))},
            inet:setopts(Socket, [{active, ?BURST}]),
            client(#c{socket = Socket});
        {error, _} ->
            %% Out of descriptors: connected clients are still served, the next waits.
            timer:sleep(100),
            accept(Listener)
    end.


host({ok, {{0, 0, 0, 0, 0, 16#ffff, A, B}, _}}) ->
    list_to_binary(inet:ntoa({A bsr 8, A band 255, B bsr 8, B band 255}));
host({ok, {Address, _}}) ->
    case list_to_binary(inet:ntoa(Address)) of
        <<":", _/binary>> = Host -> <<"0", Host/binary>>;
        Host -> Host
    end;
host({error, _}) ->
    <<"0">>.


%% The client's actor never waits for its socket: unsent data is in back and front, the latter in
%% order, as binaries, {safe, Binary} for lines that must wait for the disk, and missed for a
%% part of the log. port_command is only called when the port has taken the data before, which
%% inet_reply reports.
client(C = #c{socket = Socket}) ->
    receive
        {put, Data} ->
            client(put_out(Data, iolist_size(Data), C));
        {inet_reply, Socket, ok} ->
            client(C#c{busy = false, sending = 0});
        {inet_reply, Socket, {error, _}} ->
            client(broken(C));
        {tcp, Socket, Data} ->
            client(take(Data, C));
        {tcp_passive, Socket} ->
            hall ! {self(), more},
            client(C);
        more ->
            inet:setopts(Socket, [{active, ?BURST}]),
            client(C);
        {safe, Data} ->
            client(put_out({safe, Data}, iolist_size(Data), C));
        {Ref, Synced} when Ref =:= C#c.busy ->
            case Synced of
                ok -> client(C#c{busy = false});
                {error, _} -> client(broken(C))
            end;
        #missed{} = Missed ->
            client(put_out(Missed, 0, C));
        {last, Data} ->
            erlang:send_after(?LINGER, self(), give_up),
            client(C#c{back = [Data | C#c.back], last = true});
        {tcp_closed, Socket} ->
            hall ! {self(), closed, true},
            client(C);
        {tcp_error, Socket, _} ->
            hall ! {self(), closed, false},
            client(broken(C));
        give_up ->
            client(broken(C));
        shut ->
            gen_tcp:shutdown(Socket, write),
            client(C);
        bye ->
            gen_tcp:shutdown(Socket, write),
            %% close would wait for the data of a client that reads nothing: three
            %% minutes in OTP.
            [ inet:setopts(Socket, [{linger, {true, 0}}]) || C#c.broken ],
            erlang:send_after(?CLOSE, self(), close),
            linger(Socket)
    after
        wait(C) ->
            client(flush(C))
    end.


%% Data that has come meanwhile is sent with it.
wait(#c{busy = false, front = [], back = [], last = false}) -> infinity;
wait(#c{busy = false}) -> 0;
wait(_) -> infinity.


%% If a client sends more after its end, unread data would be lost.
linger(Socket) ->
    receive
        {tcp_passive, Socket} ->
            inet:setopts(Socket, [{active, ?BURST}]),
            linger(Socket);
        {tcp_closed, Socket} ->
            gen_tcp:close(Socket);
        {tcp_error, Socket, _} ->
            gen_tcp:close(Socket);
        close ->
            %% The port may have taken everything without sending it: a close that
            %% waits is no better here.
            [ inet:setopts(Socket, [{linger, {true, 0}}])
              || inet:getstat(Socket, [send_pend]) =/= {ok, [{send_pend, 0}]} ],
            gen_tcp:close(Socket);
        _ ->
            linger(Socket)
    end.


put_out(_, _, C = #c{last = true}) ->
    C;
put_out(_, Size, C) when C#c.size + C#c.sending + Size > ?HELD ->
    hall ! {self(), full},
    C#c{size = ?HELD + 1};
put_out(Item, Size, C) when C#c.size + Size < ?PIECE ->
    C#c{back = [Item | C#c.back], size = C#c.size + Size};
put_out(Item, Size, C) ->
    flush(C#c{back = [Item | C#c.back], size = C#c.size + Size}).


flush(C = #c{busy = false, front = [], back = []}) ->
    [ hall ! {self(), flushed, true} || C#c.last ],
    C#c{busy = C#c.last};
flush(C = #c{busy = false, front = []}) ->
    flush(C#c{front = lists:reverse(C#c.back), back = []});
flush(C = #c{busy = false, front = [{safe, Data} | Rest]}) ->
    Ref = make_ref(),
    disk ! {self(), Ref},
    C#c{busy = Ref, front = [Data | Rest]};
flush(C = #c{busy = false, front = [#missed{} = Missed | Rest]}) ->
    case read(Missed) of
        {error, _} -> broken(C);
        {[], done} -> flush(C#c{front = Rest});
        {Lines, done} -> send(Lines, C#c{front = Rest});
        {Lines, Next} -> send(Lines, C#c{front = [Next | Rest]})
    end;
flush(C = #c{busy = false, front = Front}) ->
    {Now, Rest} = lists:splitwith(fun(Item) -> not is_tuple(Item) end, Front),
    send(Now, C#c{front = Rest});
flush(C) ->
    C.


send(Data, C) ->
    Size = iolist_size(Data),
    try erlang:port_command(C#c.socket, Data) of
        true -> C#c{busy = true, sending = Size, size = max(C#c.size - Size, 0)}
    catch
        error:badarg -> broken(C)
    end.


broken(C = #c{broken = true}) ->
    C;
broken(C) ->
    hall ! {self(), flushed, false},
    C#c{broken = true, busy = true, last = true, front = [], back = []}.


%% The messages of others in a room between two positions, a piece of the log at a time.
read(#missed{file = Path} = M) when is_list(Path) ->
    case file:open(Path, [read, raw, binary]) of
        {ok, File} -> read(M#missed{file = File});
        Error -> Error
    end;
read(#missed{file = File, from = From, to = To} = M) when From < To ->
    case file:pread(File, From, min(?PIECE, To - From)) of
        {ok, Piece} ->
            {Last, _} = lists:last(binary:matches(Piece, <<"\n">>)),
            Lines = [ missed(Line, M)
                      || Line <- binary:split(binary:part(Piece, 0, Last), <<"\n">>, [global]) ],
            case iolist_size(Lines) of
                0 -> read(M#missed{from = From + Last + 1});
                _ -> {Lines, M#missed{from = From + Last + 1}}
            end;
        eof ->
            {error, eof};
        Error ->
            Error
    end;
read(#missed{file = File}) ->
    file:close(File),
    {[], done}.


missed(<<Stamp:?STAMP/binary, " ", Said/binary>> =
           Line,
       #missed{where = Where, me = Me, time = Time}) ->
    {From, Verb, To, _} = words:said(Line),
    case Verb =/= <<"TOPIC">> andalso words:fold(To) =:= Where andalso words:fold(From) =/= Me of
        true when Time -> [<<"@time=">>, Stamp, $\s, Said, <<"\r\n">>];
        true -> [Said, <<"\r\n">>];
        false -> []
    end.


%% The lines of a read go to the owner together: as words:gather says.
take(Data, C = #c{held = Held, skip = Skip}) ->
    Parts = binary:split(joined(Held, Data), <<"\n">>, [global]),
    {Lines, Rest} = {lists:droplast(Parts), lists:last(Parts)},
    %% The first may be the end of one that was refused.
    Whole = words:gather(lists:nthtail(min(length(Lines), length([ 1 || Skip ])), Lines)),
    Skipping = Skip andalso Lines =:= [],
    case words:too_long(Rest) of
        true ->
            hall ! {self(), said, Whole ++ [ long || not Skipping ]},
            C#c{held = <<>>, skip = true};
        false ->
            [ hall ! {self(), said, Whole} || Whole =/= [] ],
            C#c{held = binary:copy(Rest), skip = Skipping}
    end.


joined(<<>>, Data) -> Data;
joined(Held, Data) -> <<Held/binary, Data/binary>>.


%% The default handler of SIGTERM would not wait for clients.
init(_) ->
    {ok, []}.


handle_event(sigterm, State) ->
    hall ! stop,
    {ok, State};
handle_event(_, State) ->
    {ok, State}.


handle_call(_, State) ->
    {ok, ok, State}.
