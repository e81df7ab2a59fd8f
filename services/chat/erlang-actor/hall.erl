%% The owner of the rooms and the log: members, their positions, and the order of messages.
-module(hall).
-export([own/2,
         commit/1,
         leave/4,
         received/3,
         set/3,
         with_room/3,
         tell_neighbours/4,
         reply/5,
         called/1]).
-include("hall.hrl").
-include("numeric.hrl").

%% Messages that are taken at once. A guess.
-define(BATCH, 128).
%% In milliseconds: for all clients to be told that the server ends (a guess), and the service's
%% limits.
-define(LEAVING,  1000).
-define(REGISTER, 30000).
-define(TICK,     1000).
-define(SPEAK,    90000).
-define(ANSWER,   30000).
-define(LOOK,     100).


%% It runs before its clients, each of which would otherwise write each line separately before the
%% next comes.
own(Data, Parent) ->
    process_flag(priority, high),
    register(disk, spawn_link(fun() -> folder:sync([]) end)),
    case folder:open(Data) of
        {ok, H} ->
            Parent ! {self(), opened},
            tick_later(),
            hall(H);
        {error, Why} ->
            chat:fail(Why)
    end.


hall(#hall{ending = true, clients = Clients}) when map_size(Clients) =:= 0 ->
    halt(0, [{flush, false}]);
hall(H) ->
    receive
        Message -> hall(commit(more(?BATCH, handle(Message, H))))
    end.


more(0, H) ->
    H;
more(N, H) ->
    receive
        Message -> more(N - 1, handle(Message, H))
    after
        0 ->
            H
    end.


handle({Pid, said, Lines}, H) ->
    case H#hall.clients of
        #{Pid := #client{left = false} = C} ->
            Heard = set(Pid, C#client{heard = now_ms()}, H),
            lists:foldl(fun(Line, H1) -> commands:obey(Line, Pid, H1) end, Heard, Lines);
        _ ->
            H
    end;
handle({Pid, more}, H) ->
    Pid ! more,
    H;
handle({Pid, enter, Host}, H) ->
    monitor(process, Pid),
    Now = now_ms(),
    Entered = set(Pid, #client{host = Host, opened = Now, heard = Now}, H),
    case H#hall.ending of
        true -> leave(Pid, <<"the server ends">>, false, Entered);
        false -> Entered
    end;
handle({Pid, full}, H) ->
    leave(Pid, <<"you do not read">>, false, commit(H));
handle({Pid, closed, InOrder}, H) ->
    Left = leave(Pid, <<"the end">>, InOrder, commit(H)),
    change(Pid,
           fun(C) ->
                   C#client{closed = true, in_order = C#client.in_order andalso InOrder}
           end,
           Left);
handle({Pid, flushed, Whole}, H) ->
    Left = leave(Pid, <<"the connection has failed">>, false, commit(H)),
    change(Pid,
           fun(C) ->
                   C#client{flushed = true, in_order = C#client.in_order andalso Whole}
           end,
           Left);
handle({'DOWN', _, process, Pid, _}, H) ->
    Left = leave(Pid, <<"the connection has failed">>, false, commit(H)),
    change(Pid, fun(C) -> C#client{flushed = true, closed = true, in_order = false} end, Left);
handle(lost, H) ->
    Lost = [ Pid || {Pid, #client{said = true}} <- maps:to_list(H#hall.clients) ],
    lists:foldl(fun(Pid, H1) -> leave(Pid, <<"the disk has failed">>, false, H1) end,
                commit(H),
                Lost);
handle({tick, Due}, H) ->
    tick_later(),
    {_, Looked} = find(true, commit(H)),
    H1 = folder:snapshot(Looked),
    case now_ms() < Due + ?TICK of
        true -> tick(H1);
        false -> H1  % after a stop, what clients said meanwhile is read first
    end;
handle(stop, H) ->
    erlang:send_after(?LEAVING, self(), over),
    maps:fold(
      fun(Pid, C, H1) ->
              leave(Pid,
                    <<"the server ends">>,
                    true,
                    set(Pid, C#client{ask = not C#client.left}, H1))
      end,
      (commit(H))#hall{ending = true},
      H#hall.clients);
handle(over, H) ->
    commit(H),
    halt(0, [{flush, false}]).


set(Pid, C, H) ->
    H#hall{clients = (H#hall.clients)#{Pid => C}}.


%% A finished client is removed, and may then see its end: others may have its nick.
change(Pid, How, H) ->
    case H#hall.clients of
        #{Pid := C} ->
            case How(C) of
                #client{flushed = true, ask = true, in_order = true, closed = false} = Asked ->
                    Pid ! shut,
                    set(Pid, Asked, H);
                #client{flushed = true} = Done ->
                    Pid ! bye,
                    forget(Pid, Done, H);
                Changed ->
                    set(Pid, Changed, H)
            end;
        _ ->
            H
    end.


forget(Pid, C, H0) ->
    H = H0#hall{clients = maps:remove(Pid, H0#hall.clients)},
    Free = words:fold(C#client.nick),
    Nicks =
        case H#hall.nicks of
            #{Free := Pid} -> maps:remove(Free, H#hall.nicks);
            Others -> Others
        end,
    case C of
        #client{person = undefined} ->
            H#hall{nicks = Nicks};
        #client{person = Key} ->
            Received =
                case C#client.in_order of
                    true -> received(C, C#client.upto, H);
                    false -> H
                end,
            #{Key := Person} = Received#hall.people,
            Received#hall{
              nicks = Nicks,
              people = (Received#hall.people)#{Key := Person#person{pid = undefined}}
             }
    end.


leave(Pid, Why, InOrder, H) ->
    case H#hall.clients of
        #{Pid := #client{left = false} = C} ->
            Left = lists:foldl(
                     fun(Key, H1) ->
                             with_room(Key,
                                       fun(R) ->
                                               R#room{
                                                 present =
                                                     lists:keydelete(Pid, 1, R#room.present)
                                                }
                                       end,
                                       H1)
                     end,
                     set(Pid, C#client{left = true, upto = H#hall.pos, in_order = InOrder}, H),
                     C#client.rooms),
            [ tell_neighbours(Pid, C, [C#client.prefix, <<" QUIT :">>, Why], Left)
              || C#client.person =/= undefined ],
            Pid ! {last, words:cut([<<"ERROR :Closing link: ">>, Why])},
            Left;
        _ ->
            H
    end.


with_room(Key, How, H) ->
    #{Key := Room} = H#hall.rooms,
    case How(Room) of
        #room{topic = <<>>, members = Members} when map_size(Members) =:= 0 ->
            H#hall{rooms = maps:remove(Key, H#hall.rooms)};
        Changed ->
            H#hall{rooms = (H#hall.rooms)#{Key := Changed}}
    end.


tell_neighbours(Pid, C, Text, H) ->
    Line = words:cut(Text),
    Present = [ P || Key <- C#client.rooms,
                     {P, _} <- (maps:get(Key, H#hall.rooms))#room.present,
                     P =/= Pid ],
    [ P ! {put, Line} || P <- lists:usort(Present) ].


%% Records a client's position in the log, with a line if it had missed something before.
received(#client{person = Key, rooms = Rooms}, Upto, H) ->
    #{Key := Person} = H#hall.people,
    H1 = received(Person, Upto, H),
    lists:foldl(
      fun(RoomKey, H2) ->
              case H2#hall.rooms of
                  #{RoomKey := #room{members = #{Key := Before}} = R} when Before < Upto ->
                      H3 =
                          folder:note_if(R#room.last > Before,
                                         Person#person.name,
                                         R#room.name,
                                         Upto,
                                         H2),
                      H3#hall{
                        rooms =
                            (H3#hall.rooms)#{
                              RoomKey := R#room{
                                           members = (R#room.members)#{Key := Upto}
                                          }
                             }
                       };
                  _ ->
                      H2
              end
      end,
      H1,
      Rooms);
received(#person{name = Name, last = Last, upto = Before} = Person, Upto, H) when Before < Upto ->
    H1 = folder:note_if(Last > Before, Name, <<"*">>, Upto, H),
    H1#hall{people = (H1#hall.people)#{words:fold(Name) := Person#person{upto = Upto}}};
received(#person{}, _, H) ->
    H.


tick_later() ->
    erlang:send_after(?TICK, self(), {tick, now_ms() + ?TICK}).


%% Clients that were sent something are asked whether they have it; silent ones are disconnected.
tick(H) ->
    Now = now_ms(),
    maps:fold(fun(Pid, C, H1) -> tick(Pid, C, Now, H1) end, H, H#hall.clients).


tick(_, #client{left = true}, _, H) ->
    H;
tick(Pid, #client{person = undefined, opened = Opened}, Now, H) when Now - Opened > ?REGISTER ->
    leave(Pid, <<"you did not register">>, false, H);
tick(Pid, #client{heard = Heard}, Now, H) when Now - Heard > ?SPEAK + ?ANSWER ->
    leave(Pid, <<"you did not answer">>, false, H);
tick(Pid, C, Now, H) ->
    Silent = Now - C#client.heard > ?SPEAK andalso C#client.pinged < C#client.heard,
    case Silent orelse C#client.owes orelse was_sent(C, H) of
        true ->
            Asked = H#hall.pos,
            Pid ! {put, [<<"PING :">>, integer_to_binary(Asked), <<"\r\n">>]},
            set(Pid, C#client{asked = Asked, owes = false, pinged = Now}, H);
        false ->
            H
    end.


was_sent(#client{person = undefined}, _) ->
    false;
was_sent(#client{person = Key, rooms = Rooms, asked = Asked}, H) ->
    (maps:get(Key, H#hall.people))#person.last > Asked orelse
    lists:any(fun(Room) -> (maps:get(Room, H#hall.rooms))#room.last > Asked end, Rooms).


reply(Pid, C, Numeric, Text, H) ->
    Pid ! {put, words:cut([<<":chat ">>, Numeric, $\s, called(C), $\s, Text])},
    H.


called(#client{nick = <<>>}) -> <<"*">>;
called(#client{nick = Nick}) -> Nick.


%% All new messages are written to the log in one piece, and sent to their readers. If the write
%% fails, they are not sent.
commit(#hall{unsaid = []} = H) ->
    H;
commit(#hall{unsaid = Unsaid} = H0) ->
    All = lists:reverse(Unsaid),
    {Stamp, H1} = stamp(H0#hall{unsaid = []}),
    {Found, H2} = find(lists:any(fun(One) -> is_sure(One, H1) end, All), H1),
    case append(Found, [ logged(Stamp, One) || #said{} = One <- All ], H2) of
        {ok, H} ->
            deliver(All, Stamp, H2#hall.pos, H);
        {{error, Why}, H} ->
            Reason = [<<" :The log cannot be written: ">>, file:format_error(Why)],
            lists:foldl(fun(One, H3) -> refuse(One, Reason, H3) end, H, All)
    end.


%% The time of a moment. All but its last digits are kept for a second.
stamp(H) ->
    Now = erlang:system_time(millisecond),
    case H#hall.second of
        {Second, Text} when Second =:= Now div 1000 ->
            Ms = Now rem 1000,
            {<<Text/binary, ($0 + Ms div 100), ($0 + Ms div 10 rem 10), ($0 + Ms rem 10), "Z">>, H};
        _ ->
            Second = Now div 1000,
            <<Text:(?STAMP - 5)/binary, "Z">> =
                list_to_binary(calendar:system_time_to_rfc3339(Second, [{offset, "Z"}])),
            stamp(H#hall{second = {Second, <<Text/binary, ".">>}})
    end.


%% The log's file is checked now and then, and before an acknowledgement. A check costs as much
%% as a write: the actor changes to another thread and back.
find(Sure, #hall{looked = Looked} = H) ->
    Now = now_ms(),
    case Sure orelse Now - Looked >= ?LOOK of
        true -> found(folder:find(H), Now);
        false -> {there, H}
    end.


%% Messages since the last check may be lost: they must not be acknowledged.
found({there, H}, Now) ->
    {there, H#hall{looked = Now, unseen = []}};
found({Other, H}, _) ->
    Lost = fun(Pid, H1) -> leave(Pid, <<"the log is gone">>, false, H1) end,
    {Other, lists:foldl(Lost, H#hall{unseen = []}, H#hall.unseen)}.


is_sure({pong, _, _}, _) -> true;
is_sure(#said{pid = Pid}, H) -> (maps:get(Pid, H#hall.clients))#client.echo.


append({error, _} = Error, _, H) -> {Error, H};
append(_, [], H) -> {ok, H};
append(_, Lines, H) -> folder:append(Lines, H).


logged(Stamp, #said{head = Head, texts = Texts}) ->
    Begin = <<Stamp/binary, " ", Head/binary>>,
    [ [Begin, Text, $\n] || Text <- Texts ].


logged_size(#said{head = Head, texts = Texts}) ->
    length(Texts) * (?STAMP + byte_size(Head) + 2) + iolist_size(Texts).


refuse({pong, _, _} = Pong, _, H) ->
    pong(Pong, H);
refuse(#said{verb = <<"NOTICE">>}, _, H) ->
    H;
refuse(#said{to = To, pid = Pid, texts = Texts}, Reason, H) ->
    Called =
        case To of
            {room, Key} -> (maps:get(Key, H#hall.rooms))#room.name;
            {person, Key} -> (maps:get(Key, H#hall.people))#person.name
        end,
    C = maps:get(Pid, H#hall.clients),
    lists:foldl(fun(_, H1) -> reply(Pid, C, ?ERR_CANNOTSENDTOCHAN, [Called, Reason], H1) end,
                H,
                Texts).


pong({pong, Pid, Line}, H) ->
    case H#hall.clients of
        #{Pid := #client{said = true} = C} ->
            Pid ! {safe, Line},
            set(Pid,
                C#client{said = false},
                H#hall{unseen = [ P || P <- H#hall.unseen, P =/= Pid ]});
        _ ->
            Pid ! {put, Line},
            H
    end.


%% Consecutive messages of one room are sent as one binary.
deliver([], _, _, H) ->
    H;
deliver([{pong, _, _} = Pong | Rest], Stamp, Pos, H) ->
    deliver(Rest, Stamp, Pos, pong(Pong, H));
deliver([#said{to = {person, Key}, pid = Pid} = Said | Rest], Stamp, Pos0, H) ->
    Pos = Pos0 + logged_size(Said),
    #{Key := Person} = H#hall.people,
    #{Pid := From} = H#hall.clients,
    case Person#person.pid of
        undefined -> ok;
        Reader ->
            Reader ! {put,
                      lines(Stamp, (maps:get(Reader, H#hall.clients))#client.time, [Said])}
    end,
    [ Pid ! {safe, lines(Stamp, From#client.time, [Said])} || From#client.echo ],
    H1 = H#hall{people = (H#hall.people)#{Key := Person#person{last = Pos}}},
    deliver(Rest, Stamp, Pos, has_said(Pid, H1));
deliver([#said{to = {room, Key} = To} | _] = All, Stamp, Pos0, H) ->
    {Run, Rest} = lists:splitwith(fun(One) ->
                                          is_record(One, said) andalso One#said.to =:= To
                                  end,
                                  All),
    #{Key := Room} = H#hall.rooms,
    Senders = maps:from_keys([ Pid
                               || #said{verb = Verb, pid = Pid} <- Run, Verb =/= <<"TOPIC">> ],
                             true),
    [ spread(Run, Senders, Room, Stamp, H)
      || lists:any(fun(Reader) -> hears(Reader, Run, H) end, Room#room.present) ],
    Pos = lists:foldl(fun(Said, Before) -> Before + logged_size(Said) end, Pos0, Run),
    Topic = lists:foldl(
              fun(#said{verb = <<"TOPIC">>, texts = [Text]}, _) -> binary:copy(Text);
                 (_, Before) -> Before
              end,
              Room#room.topic,
              Run),
    H1 = H#hall{rooms = (H#hall.rooms)#{Key := Room#room{last = Pos, topic = Topic}}},
    deliver(Rest, Stamp, Pos, maps:fold(fun(Pid, _, H2) -> has_said(Pid, H2) end, H1, Senders)).


%% A client does not get its own messages.
hears({Reader, _}, Run, H) ->
    lists:any(fun(Said) -> is_for(Reader, Said) end, Run) orelse
    (maps:get(Reader, H#hall.clients))#client.echo.


is_for(Reader, #said{verb = Verb, pid = Pid}) -> Pid =/= Reader orelse Verb =:= <<"TOPIC">>.


spread(Run, Senders, #room{present = Present}, Stamp, H) ->
    Plain = lines(Stamp, false, Run),
    Timed =
        case lists:keymember(true, 2, Present) of
            true -> lines(Stamp, true, Run);
            false -> <<>>
        end,
    [ case Senders of
          #{Reader := true} ->
              deliver(Reader, Run, Plain, Timed, Stamp, maps:get(Reader, H#hall.clients));
          #{} when Time -> Reader ! {put, Timed};
          #{} -> Reader ! {put, Plain}
      end
      || {Reader, Time} <- Present ].


%% To a client that has sent some of it: with an echo when the disk has it, or without its own
%% messages.
deliver(Pid, _, Plain, Timed, _, #client{echo = true, time = Time}) ->
    Pid ! {safe, element(1 + map_get(Time, #{false => 0, true => 1}), {Plain, Timed})};
deliver(Pid, Run, _, _, Stamp, #client{time = true}) ->
    Pid ! {put, lines(Stamp, true, [ Said || Said <- Run, is_for(Pid, Said) ])};
deliver(Pid, Run, Plain, _, _, _) ->
    case others(Run, Pid, 0, 0, []) of
        [] -> ok;
        Parts ->
            Pid ! {put,
                   [ binary:part(Plain, Start, Length) || {Start, Length} <- lists:reverse(Parts) ]}
    end.


%% The parts of a run that are not of one client.
others([], _, Start, End, Parts) ->
    [ {Start, End - Start} || End > Start ] ++ Parts;
others([Said | Run], Pid, Start, End, Parts) ->
    After = End + logged_size(Said) - ?STAMP * length(Said#said.texts),
    case is_for(Pid, Said) of
        true -> others(Run, Pid, Start, After, Parts);
        false -> others(Run, Pid, After, After, [ {Start, End - Start} || End > Start ] ++ Parts)
    end.


%% Messages in the form for clients, with or without the time.
lines(Stamp, Time, Run) ->
    Tag = [ [<<"@time=">>, Stamp, $\s] || Time ],
    iolist_to_binary([ [Tag, Head, Text, <<"\r\n">>]
                       || #said{head = Head, texts = Texts} <- Run, Text <- Texts ]).


has_said(Pid, H0) ->
    #{Pid := C} = H0#hall.clients,
    H = H0#hall{unseen = [ Pid || not C#client.echo ] ++ H0#hall.unseen},
    case C#client.said of
        true -> H;
        false -> set(Pid, C#client{said = true}, H)
    end.


now_ms() -> erlang:monotonic_time(millisecond).
