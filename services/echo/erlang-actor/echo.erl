%% Echo, an actor for each client: a process of a few kilobytes that owns its socket, fails alone
%% and is scheduled fairly, at the price of a message and a binary for every read.
-module(echo).
-behaviour(gen_event).
-export([main/1, init/1, handle_event/2, handle_call/2]).

%% Reads of at most CHUNK bytes; the driver stops reading when BURST of them were delivered and not
%% asked for again.
-define(CHUNK, 4096).
-define(BURST, 64).


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
               {exit_on_close, false}],
    case gen_tcp:listen(Port, Options) of
        {ok, Listener} ->
            [ spawn(fun() -> accept(Listener) end)
              || _ <- lists:seq(1, erlang:system_info(schedulers)) ],
            ok = gen_event:swap_handler(erl_signal_server, {erl_signal_handler, []}, {?MODULE, []}),
            io:put_chars(standard_error, "ready\n"),
            %% Not timer:sleep: its module would be loaded now, for which there may be no
            %% descriptor left.
            receive after infinity -> ok end;
        {error, Reason} ->
            io:format(standard_error,
                      "listening on ~s:~b: ~s~n",
                      [Host, Port, inet:format_error(Reason)]),
            halt(1)
    end.


%% The acceptor becomes the client's actor, and another takes its place.
accept(Listener) ->
    case gen_tcp:accept(Listener) of
        {ok, Client} ->
            spawn(fun() -> accept(Listener) end),
            inet:setopts(Client, [{active, ?BURST}]),
            echo(Client);
        {error, _} ->
            %% Out of descriptors: connected clients are still served, the next waits.
            receive after 100 -> ok end,
            accept(Listener)
    end.


%% A client that does not read stops here, in send; then at most BURST reads wait in the mailbox.
echo(Client) ->
    receive
        {tcp, Client, Data} ->
            case gen_tcp:send(Client, Data) of
                ok -> echo(Client);
                {error, _} -> gen_tcp:close(Client)
            end;
        {tcp_passive, Client} ->
            inet:setopts(Client, [{active, ?BURST}]),
            echo(Client);
        {tcp_closed, Client} ->
            gen_tcp:close(Client);
        {tcp_error, Client, _} ->
            gen_tcp:close(Client)
    end.


%% The default handler of SIGTERM would wait for clients that do not read.
init(_) -> {ok, []}.


handle_event(sigterm, _) -> halt(0, [{flush, false}]);
handle_event(_, State) -> {ok, State}.


handle_call(_, State) -> {ok, ok, State}.
