%% Sink, an actor for each client and one actor that owns standard output: lines cannot mix
%% by construction, at the price of two messages for each batch and one process that all
%% clients wait for.
-module(sink).
-behaviour(gen_event).
-export([main/1, init/1, handle_event/2, handle_call/2]).

%% Reads of at most CHUNK bytes; the driver stops reading when BURST of them were delivered and not
%% asked for again.
-define(CHUNK, 16384).
-define(BURST, 16).
%% Bytes with the LF: PIPE_BUF, as the service says.
-define(LONGEST, 4096).


main([Port]) ->
    main([Port, "127.0.0.1"]);
main([Port, Host]) ->
    spawn(fun() -> serve(list_to_integer(Port), Host) end).


serve(Port, Host) ->
    {ok, Address} = inet:parse_ipv4_address(Host),
    Options = [binary,
               {active, false},
               {ip, Address},
               {reuseaddr, true},
               {backlog, 4096},
               {nodelay, true},
               {buffer, ?CHUNK},
               {exit_on_close, false},
               {show_econnreset, true}],
    case gen_tcp:listen(Port, Options) of
        {ok, Listener} ->
            register(stdout, spawn(fun own/0)),
            [ spawn(fun() -> accept(Listener) end)
              || _ <- lists:seq(1, erlang:system_info(schedulers)) ],
            ok = gen_event:swap_handler(erl_signal_server, {erl_signal_handler, []}, {?MODULE, []}),
            io:put_chars(standard_error, "ready\n"),
            %% Not timer:sleep: its module would be loaded now, for which there may be no
            %% descriptor left.
            receive after infinity -> ok end;
        {error, Reason} ->
            fail("listening", Reason)
    end.


%% The owner. A raw file, because its write returns when all is written, or says why not.
own() ->
    case file:open("/dev/stdout", [raw, append, binary]) of
        {ok, Output} -> own(Output);
        {error, Reason} -> fail("opening standard output", Reason)
    end.


own(Output) ->
    receive
        {Client, Lines} ->
            case file:write(Output, Lines) of
                ok -> Client ! written;
                {error, Reason} -> fail("writing", Reason)
            end,
            own(Output)
    end.


fail(Doing, Reason) ->
    io:format(standard_error, "~s: ~s~n", [Doing, file:format_error(Reason)]),
    halt(1).


%% The acceptor becomes the client's actor, and another takes its place.
accept(Listener) ->
    case gen_tcp:accept(Listener) of
        {ok, Client} ->
            spawn(fun() -> accept(Listener) end),
            inet:setopts(Client, [{active, ?BURST}]),
            collect(Client, <<>>);
        {error, _} ->
            %% Out of descriptors: connected clients are still served, the next waits.
            receive after 100 -> ok end,
            accept(Listener)
    end.


%% Held is the line that has not ended.
collect(Client, Held) ->
    receive
        {tcp, Client, Data} ->
            Lines = <<Held/binary, Data/binary>>,
            {Ended, Rest} = split_binary(Lines, ended(Lines, 0)),
            write(Ended),
            case byte_size(Rest) < ?LONGEST of
                true -> collect(Client, Rest);
                false -> gen_tcp:close(Client)
            end;
        {tcp_passive, Client} ->
            inet:setopts(Client, [{active, ?BURST}]),
            collect(Client, Held);
        {tcp_closed, Client} ->
            [ write(<<Held/binary, $\n>>) || Held =/= <<>> ],
            gen_tcp:close(Client);
        {tcp_error, Client, _} ->
            gen_tcp:close(Client)
    end.


write(<<>>) ->
    ok;
write(Lines) ->
    stdout ! {self(), Lines},
    receive
        written -> ok
    end.


%% The length of the lines that have ended. Steps of LONGEST stop at a line that is too long.
ended(Lines, Start) ->
    case last_end(Lines, Start, min(Start + ?LONGEST, byte_size(Lines))) of
        Start -> Start;
        End -> ended(Lines, End)
    end.


last_end(Lines, Start, End) when End > Start ->
    case binary:at(Lines, End - 1) of
        $\n -> End;
        _ -> last_end(Lines, Start, End - 1)
    end;
last_end(_, Start, _) ->
    Start.


%% The default handler of SIGTERM would wait for clients that do not read.
init(_) -> {ok, []}.


handle_event(sigterm, _) -> halt(0, [{flush, false}]);
handle_event(_, State) -> {ok, State}.


handle_call(_, State) -> {ok, ok, State}.
