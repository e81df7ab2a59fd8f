%% Stream, an actor for each client, as in the source's comparator: a process of a few kilobytes
%% that reads the head by the driver's own parser, then waits, sends and waits. It is collected
%% once, after the head, and does not hibernate: see model.toml.
-module(stream).
-behaviour(gen_event).
-export([main/1, init/1, handle_event/2, handle_call/2]).

-define(HEAD_BYTES, 8192).
-define(HEAD_MS,    10000).
%% A guess: for a refused client to read why.
-define(LEAVE_MS, 2000).


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
               {backlog, 65535},
               {nodelay, true},
               {packet, http_bin},
               {packet_size, ?HEAD_BYTES},
               %% A client that takes nothing for so long is cut off; until then
               %% the driver keeps 8 KiB.
               {send_timeout, 10000},
               {send_timeout_close, true}],
    %% Code is otherwise loaded when it is first needed, and there may be no descriptor left then.
    ok = code:ensure_modules_loaded([re]),
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
            answer(Client, request(Client, now_ms() + ?HEAD_MS)),
            gen_tcp:close(Client);
        {error, _} ->
            %% Out of descriptors: connected clients are still served, the next waits.
            receive after 100 -> ok end,
            accept(Listener)
    end.


answer(_, gone) ->
    ok;
answer(Client, {'GET', Id, Minor}) ->
    Send = fun(Head, Text) -> gen_tcp:send(Client, [Head, code(Minor, Text)]) end,
    Began = now_ms(),
    case Send(head(Minor), ["Goconntest welcomes you! Your Id: /test/", Id, "\n"]) of
        ok ->
            garbage_collect(),
            stream(Send, Id, Began, 1);
        {error, _} ->
            ok
    end;
answer(Client, {'HEAD', _, Minor}) ->
    leave(Client, head(Minor));
answer(Client, Status) ->
    {Why, More} = reason(Status),
    leave(Client,
          [["HTTP/1.1 ",
            integer_to_list(Status),
            " ",
            Why,
            "\r\n",
            More,
            "Content-Type: text/plain\r\nContent-Length: "],
           [integer_to_list(length(Why) + 1), "\r\nConnection: close\r\n\r\n", Why, "\n"]]).


%% A late chunk delays no other one: each is due so many seconds after the greeting.
stream(Send, Id, Began, N) ->
    receive
    after
        max(0, Began + N * 1000 - now_ms()) ->
            ok
    end,
    case Send([], ["Chunk ", integer_to_binary(N), " for id /test/", Id, "\n"]) of
        ok -> stream(Send, Id, Began, N + 1);
        {error, _} -> ok
    end.


head(Minor) ->
    Coding =
        case Minor of
            0 -> "Connection: close";
            1 -> "Transfer-Encoding: chunked"
        end,
    ["HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\n", Coding, "\r\n\r\n"].


code(0, Text) -> Text;
code(1, Text) -> [integer_to_binary(iolist_size(Text), 16), "\r\n", Text, "\r\n"].


reason(400) -> {"Bad Request", ""};
reason(404) -> {"Not Found", ""};
reason(405) -> {"Method Not Allowed", "Allow: GET, HEAD\r\n"};
reason(408) -> {"Request Timeout", ""};
reason(431) -> {"Request Header Fields Too Large", ""};
reason(505) -> {"HTTP Version Not Supported", ""}.


%% Bytes after the last words are read for a while: closing with unread bytes would be a reset,
%% which may overtake them.
leave(Client, Words) ->
    inet:setopts(Client, [{packet, raw}]),
    _ = gen_tcp:send(Client, Words),
    _ = gen_tcp:shutdown(Client, write),
    drain(Client, now_ms() + ?LEAVE_MS).


drain(Client, End) ->
    case gen_tcp:recv(Client, 0, max(0, End - now_ms())) of
        {ok, _} -> drain(Client, End);
        {error, _} -> ok
    end.


%% {Method, Id, Minor}, or the status that refuses it, or gone.
request(Client, End) ->
    case next(Client, End) of
        {http_request, Method, Target, {1, Minor}} when Minor =< 1 ->
            case fields(Client, End, ?HEAD_BYTES, 0) of
                Hosts when is_integer(Hosts), Hosts < 2, Hosts >= Minor ->
                    wanted(Method, Target, Minor);
                Hosts when is_integer(Hosts) -> 400;
                {refused, Status} -> Status;
                gone -> gone
            end;
        {http_request, _, _, {0, 9}} -> 400;
        {http_request, _, _, _} -> 505;
        {refused, Status} -> Status;
        gone -> gone
    end.


wanted(Method, {abs_path, Path}, Minor) ->
    case re:run(Path,
                "^/test/([A-Za-z0-9_-]{1,64})(\\?.*)?$",
                [dollar_endonly, {capture, [1], binary}]) of
        {match, [Id]} when Method =:= 'GET'; Method =:= 'HEAD' -> {Method, binary:copy(Id), Minor};
        {match, _} -> 405;
        nomatch -> 404
    end;
wanted(_, _, _) ->
    404.


%% The number of Host fields. Fields that the parser accepts and HTTP forbids are refused here.
fields(Client, End, Left, Hosts) ->
    case next(Client, End) of
        http_eoh ->
            Hosts;
        {http_header, _, Name, Raw, Value} ->
            Rest = Left - byte_size(Raw) - byte_size(Value) - 4,
            Bad = re:run(Raw, "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$", [{capture, none}]) =:= nomatch orelse
                re:run(Value, "[\\x00-\\x08\\x0a-\\x1f\\x7f]", [{capture, none}]) =:= match,
            if
                Bad -> {refused, 400};
                Rest < 0 -> {refused, 431};
                Name =:= 'Host' -> fields(Client, End, Rest, Hosts + 1);
                true -> fields(Client, End, Rest, Hosts)
            end;
        Other ->
            Other
    end.


next(Client, End) ->
    case gen_tcp:recv(Client, 0, max(0, End - now_ms())) of
        {ok, {http_error, _}} -> {refused, 400};
        {ok, Part} -> Part;
        {error, timeout} -> {refused, 408};
        {error, emsgsize} -> {refused, 431};
        {error, _} -> gone
    end.


now_ms() -> erlang:monotonic_time(millisecond).


%% The default handler of SIGTERM would wait for clients that do not read.
init(_) -> {ok, []}.


handle_event(sigterm, _) -> halt(0, [{flush, false}]);
handle_event(_, State) -> {ok, State}.


handle_call(_, State) -> {ok, ok, State}.
