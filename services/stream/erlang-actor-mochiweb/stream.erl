%% Stream on mochiweb, as the source's comparator was written: the library reads the request and
%% calls loop in the client's actor, which sends a chunk a second and never returns. What the
%% library keeps for a client stays with it: the request, its headers, the actor's dictionary.
-module(stream).
-behaviour(gen_event).
-export([main/1, loop/1, init/1, handle_event/2, handle_call/2]).

%% mochiweb refuses all clients above max, which is 2048 unless told.
-define(MOST_CLIENTS, 1 bsl 20).


main([Port]) ->
    main([Port, "127.0.0.1"]);
main([Port, Host]) ->
    spawn(fun() -> serve(list_to_integer(Port), Host) end).


serve(Port, Host) ->
    process_flag(trap_exit, true),
    Options = [{ip, Host},
               {port, Port},
               {loop, {?MODULE, loop}},
               {max, ?MOST_CLIENTS},
               {backlog, 65535},
               {nodelay, true}],
    case mochiweb_http:start(Options) of
        {ok, _} ->
            ok = gen_event:swap_handler(erl_signal_server, {erl_signal_handler, []}, {?MODULE, []}),
            io:put_chars(standard_error, "ready\n"),
            receive after infinity -> ok end;
        {error, Reason} ->
            io:format(standard_error, "listening on ~s:~b: ~p~n", [Host, Port, Reason]),
            halt(1)
    end.


loop(Request) ->
    "/" ++ Path = mochiweb_request:get(path, Request),
    Method = mochiweb_request:get(method, Request),
    case re:run(Path, "^test/([A-Za-z0-9_-]{1,64})$", [dollar_endonly, {capture, [1], list}]) of
        {match, [Id]} when Method =:= 'GET'; Method =:= 'HEAD' ->
            Response = mochiweb_request:ok({"text/plain; charset=utf-8", chunked}, Request),
            feed(Method, Response, Id);
        {match, _} ->
            mochiweb_request:respond({405, [{"Allow", "GET, HEAD"}], ""}, Request);
        nomatch ->
            mochiweb_request:not_found(Request)
    end.


feed('HEAD', _, _) ->
    ok;
feed('GET', Response, Id) ->
    Began = erlang:monotonic_time(millisecond),
    mochiweb_response:write_chunk(["Goconntest welcomes you! Your Id: /test/", Id, "\n"], Response),
    feed(Response, Id, Began, 1).


%% A late chunk delays no other one: each is due so many seconds after the greeting.
feed(Response, Id, Began, N) ->
    receive
    after
        max(0, Began + N * 1000 - erlang:monotonic_time(millisecond)) ->
            ok
    end,
    mochiweb_response:write_chunk(io_lib:format("Chunk ~w for id /test/~s\n", [N, Id]), Response),
    feed(Response, Id, Began, N + 1).


%% The default handler of SIGTERM would wait for clients that do not read.
init(_) -> {ok, []}.


handle_event(sigterm, _) -> halt(0, [{flush, false}]);
handle_event(_, State) -> {ok, State}.


handle_call(_, State) -> {ok, ok, State}.
