%% The commands of clients, and their effects.
-module(commands).
-export([obey/3]).
-include("hall.hrl").
-include("numeric.hrl").

-define(LONGEST, 512).


%% The commands of a client, with their numbers of words. Messages, {Verb, To, Texts}, and PING
%% wait for others that are written with them.
obey(Line, Pid, H0) ->
    H =
        case Line of
            {_, _, _} -> H0;
            {<<"PRIVMSG">>, _} -> H0;
            {<<"NOTICE">>, _} -> H0;
            {<<"PING">>, _} -> H0;
            _ -> hall:commit(H0)
        end,
    #{Pid := C} = H#hall.clients,
    case Line of
        _ when C#client.left ->
            H;
        nul ->
            hall:leave(Pid, <<"NUL in a line">>, false, H);
        long ->
            hall:reply(Pid, C, ?ERR_INPUTTOOLONG, <<":Input line was too long">>, H);
        {_, _, Texts} when C#client.person =:= undefined ->
            lists:foldl(fun(_, H1) ->
                                hall:reply(Pid,
                                           C,
                                           ?ERR_NOTREGISTERED,
                                           <<":You have not registered">>,
                                           H1)
                        end,
                        H,
                        Texts);
        {Verb, To, Texts} ->
            messages(Verb, listed(To), Texts, Pid, C, H);
        {Verb, Words} ->
            case needs(Verb) of
                {_, late} when C#client.person =:= undefined ->
                    hall:reply(Pid, C, ?ERR_NOTREGISTERED, <<":You have not registered">>, H);
                {N, _} when length(Words) < N ->
                    hall:reply(Pid,
                               C,
                               ?ERR_NEEDMOREPARAMS,
                               [Verb, <<" :Not enough parameters">>],
                               H);
                {_, late} ->
                    command(Verb, Words, Pid, C, H);
                {_, early} ->
                    enter(Verb, Words, Pid, C, H);
                unknown when C#client.person =:= undefined ->
                    hall:reply(Pid, C, ?ERR_NOTREGISTERED, <<":You have not registered">>, H);
                unknown ->
                    hall:reply(Pid, C, ?ERR_UNKNOWNCOMMAND, [Verb, <<" :Unknown command">>], H)
            end
    end.


needs(<<"CAP">>) -> {1, early};
needs(<<"PASS">>) -> {1, early};
needs(<<"NICK">>) -> {0, early};
needs(<<"USER">>) -> {4, early};
needs(<<"PING">>) -> {0, early};
needs(<<"PONG">>) -> {0, early};
needs(<<"QUIT">>) -> {0, early};
needs(<<"JOIN">>) -> {1, late};
needs(<<"PART">>) -> {1, late};
needs(<<"PRIVMSG">>) -> {0, late};
needs(<<"NOTICE">>) -> {0, late};
needs(<<"NAMES">>) -> {0, late};
needs(<<"TOPIC">>) -> {1, late};
needs(<<"WHO">>) -> {1, late};
needs(_) -> unknown.


enter(<<"CAP">>, [Sub0 | Words], Pid, C, H) ->
    Sub = words:upper(Sub0),
    Answer = [<<":chat CAP ">>, hall:called(C), $\s, Sub, <<" :">>],
    Asking = C#client.person =:= undefined,
    case Sub of
        <<"LS">> ->
            Pid ! {put, words:cut([Answer, <<"echo-message server-time">>])},
            hall:set(Pid, C#client{asking = Asking}, H);
        <<"LIST">> ->
            Has = [ <<"echo-message">> || C#client.echo ] ++ [ <<"server-time">> || C#client.time ],
            Pid ! {put, words:cut([Answer, lists:join($\s, Has)])},
            H;
        <<"REQ">> ->
            Asked = iolist_to_binary(lists:join($\s, Words)),
            Verdict =
                case grant(binary:split(Asked, <<" ">>, [global, trim_all]), C) of
                    no -> {<<"NAK">>, C};
                    Granted -> {<<"ACK">>, Granted}
                end,
            {Word, C1} = Verdict,
            Pid ! {put, words:cut([<<":chat CAP ">>, hall:called(C), $\s, Word, <<" :">>, Asked])},
            Told = fun(R) ->
                           R#room{
                             present =
                                 lists:keystore(Pid, 1, R#room.present, {Pid, C1#client.time})
                            }
                   end,
            H1 = hall:set(Pid, C1#client{asking = Asking}, H),
            lists:foldl(fun(Key, H2) -> hall:with_room(Key, Told, H2) end, H1, C1#client.rooms);
        <<"END">> ->
            enrol(Pid, C#client{asking = false}, H);
        _ ->
            hall:reply(Pid, C, ?ERR_INVALIDCAPCMD, [Sub0, <<" :Invalid CAP command">>], H)
    end;
enter(<<"PASS">>, [Password | _], Pid, #client{person = undefined, passed = false} = C, H) ->
    hall:set(Pid, C#client{passed = true, password = binary:copy(Password)}, H);
enter(<<"USER">>, [User, _, _, Real | _], Pid, #client{user = undefined} = C, H) ->
    Cut = binary:copy(binary:part(User, 0, min(10, byte_size(User)))),
    enrol(Pid, C#client{user = Cut, real = binary:copy(Real)}, H);
enter(Verb, _, Pid, C, H) when Verb =:= <<"PASS">>; Verb =:= <<"USER">> ->
    hall:reply(Pid, C, ?ERR_ALREADYREGISTERED, <<":You may not say it again">>, H);
enter(<<"NICK">>, Words, Pid, C, H) when Words =:= []; hd(Words) =:= <<>> ->
    hall:reply(Pid, C, ?ERR_NONICKNAMEGIVEN, <<":No nickname given">>, H);
enter(<<"NICK">>, [Nick | _], _, #client{nick = Nick}, H) ->
    H;
enter(<<"NICK">>, [Name | _], Pid, C, H) ->
    Key = words:fold(Name),
    case {words:is_nick(Name), maps:get(Key, H#hall.nicks, Pid)} of
        {false, _} ->
            hall:reply(Pid, C, ?ERR_ERRONEUSNICKNAME, [Name, <<" :Erroneous nickname">>], H);
        {true, Pid} ->
            Nicks = (maps:remove(words:fold(C#client.nick), H#hall.nicks))#{Key => Pid},
            rename(Pid, C, C#client{nick = binary:copy(Name)}, H#hall{nicks = Nicks});
        {true, _} ->
            hall:reply(Pid, C, ?ERR_NICKNAMEINUSE, [Name, <<" :Nickname is already in use">>], H)
    end;
enter(<<"PING">>, [], Pid, C, H) ->
    hall:reply(Pid, C, ?ERR_NOORIGIN, <<":No origin specified">>, H);
enter(<<"PING">>, [Token | _], Pid, _, H) ->
    H#hall{unsaid = [{pong, Pid, words:cut([<<":chat PONG chat :">>, Token])} | H#hall.unsaid]};
enter(<<"PONG">>, [_ | _] = Words, _, #client{person = Person, asked = Asked} = C, H)
  when Person =/= undefined ->
    case string:to_integer(lists:last(Words)) of
        {Upto, <<>>} when is_integer(Upto), Upto =< Asked -> hall:received(C, Upto, H);
        _ -> H
    end;
enter(<<"PONG">>, _, _, _, H) ->
    H;
enter(<<"QUIT">>, Why, Pid, _, H) ->
    hall:leave(Pid, lists:join($\s, Why), true, H).


grant([], C) -> C;
grant([<<"-echo-message">> | Words], C) -> grant(Words, C#client{echo = false});
grant([<<"echo-message">> | Words], C) -> grant(Words, C#client{echo = true});
grant([<<"-server-time">> | Words], C) -> grant(Words, C#client{time = false});
grant([<<"server-time">> | Words], C) -> grant(Words, C#client{time = true});
grant(_, _) -> no.


%% A client with a nick, a user and no questions left is let in, if it knows the password.
enrol(Pid, #client{person = P, nick = Nick, user = User, asking = Asking} = C, H)
  when P =/= undefined; Nick =:= <<>>; User =:= undefined; Asking ->
    hall:set(Pid, C, H);
enrol(Pid, C, H) ->
    Right =
        case file:read_file(filename:join(H#hall.data, "password")) of
            {ok, Text} -> words:without_cr(hd(binary:split(Text, <<"\n">>))) =:= C#client.password;
            {error, Why} -> Why =:= enoent
        end,
    case Right of
        false ->
            hall:reply(Pid, C, ?ERR_PASSWDMISMATCH, <<":Password incorrect">>, H),
            hall:leave(Pid, <<"wrong password">>, false, hall:set(Pid, C, H));
        true ->
            {C1, H1} = become(Pid, C, H),
            hall:reply(Pid, C1, ?RPL_WELCOME, [<<":Welcome, ">>, C1#client.nick], H),
            hall:reply(Pid, C1, ?RPL_YOURHOST, <<":Your host is chat">>, H),
            hall:reply(Pid, C1, ?RPL_CREATED, <<":This server keeps what you have missed">>, H),
            hall:reply(Pid, C1, ?RPL_MYINFO, <<"chat interleave o o">>, H),
            Limits = <<"CASEMAPPING=ascii CHANTYPES=# NICKLEN=30 CHANNELLEN=50 TOPICLEN=300">>,
            hall:reply(Pid, C1, ?RPL_ISUPPORT, [Limits, <<" :are supported by this server">>], H),
            hall:reply(Pid, C1, ?ERR_NOMOTD, <<":There is no message of the day">>, H),
            missed_alone(Pid, C1, H1)
    end.


become(Pid, #client{nick = Nick, user = User, host = Host} = C, H) ->
    Key = words:fold(Nick),
    C1 = C#client{person = Key, prefix = <<":", Nick/binary, "!", User/binary, "@", Host/binary>>},
    case H#hall.people of
        #{Key := Person} ->
            {C1, H#hall{people = (H#hall.people)#{Key := Person#person{name = Nick, pid = Pid}}}};
        People ->
            Person = #person{name = Nick, pid = Pid, upto = H#hall.pos},
            H1 = folder:note(Nick, <<"*">>, H#hall.pos, H),
            {C1#client{said = true}, H1#hall{people = People#{Key => Person}}}
    end.


missed_alone(Pid, #client{person = Key} = C, H) ->
    #{Key := #person{last = Last, upto = Upto}} = H#hall.people,
    missed(Pid, C, Key, Last, Upto, H).


missed(Pid, C, Where, Last, Upto, H) when Last > Upto ->
    From = max(Upto - H#hall.base, 0),
    To = Last - H#hall.base,
    Log = filename:join(H#hall.data, "log"),
    Pid ! #missed{
            file = Log,
            from = From,
            to = To,
            where = Where,
            me = words:fold(C#client.nick),
            time = C#client.time
           },
    hall:set(Pid, C#client{owes = true}, H);
missed(Pid, C, _, _, _, H) ->
    hall:set(Pid, C, H).


%% A client that changes its nick becomes another person. The old one stays a member, and has
%% received the messages that it has confirmed.
rename(Pid, #client{person = undefined}, C, H) ->
    enrol(Pid, C, H);
rename(Pid, #client{person = Before, prefix = Prefix}, C, H) ->
    Text = [Prefix, <<" NICK ">>, C#client.nick],
    Pid ! {put, words:cut(Text)},
    hall:tell_neighbours(Pid, C, Text, H),
    Left = maps:update_with(Before, fun(P) -> P#person{pid = undefined} end, H#hall.people),
    {C1, H1} = become(Pid, C, H#hall{people = Left}),
    Moved = lists:foldl(
              fun(Key, H2) ->
                      #{Key := #room{name = Name, members = #{Before := Upto} = Members} = R} =
                          H2#hall.rooms,
                      H3 = folder:note(C1#client.nick, Name, Upto, H2),
                      H3#hall{
                        rooms =
                            (H3#hall.rooms)#{
                              Key := R#room{
                                       members = Members#{C1#client.person => Upto}
                                      }
                             }
                       }
              end,
              H1,
              C1#client.rooms),
    missed_alone(Pid, C1#client{said = true}, Moved).


command(<<"JOIN">>, [Names | _], Pid, _, H) ->
    lists:foldl(fun(Name, H1) -> join(Name, Pid, maps:get(Pid, H1#hall.clients), H1) end,
                H,
                listed(Names));
command(<<"PART">>, [Names | Why], Pid, _, H) ->
    lists:foldl(fun(Name, H1) -> part(Name, Why, Pid, maps:get(Pid, H1#hall.clients), H1) end,
                H,
                listed(Names));
command(<<"NOTICE">>, _, _, _, H) ->
    H;
command(<<"PRIVMSG">>, Words, Pid, C, H) when Words =:= []; hd(Words) =:= <<>> ->
    hall:reply(Pid, C, ?ERR_NORECIPIENT, <<":No recipient given (PRIVMSG)">>, H);
command(<<"PRIVMSG">>, Words, Pid, C, H) when tl(Words) =:= []; hd(tl(Words)) =:= <<>> ->
    hall:reply(Pid, C, ?ERR_NOTEXTTOSEND, <<":No text to send">>, H);
command(<<"TOPIC">>, [Name | Text], Pid, C, H) ->
    case {in(Name, ?ERR_NOTONCHANNEL, Pid, C, H), Text} of
        {undefined, _} ->
            H;
        {#room{name = Called}, [New | _]} ->
            Cut = binary:part(New, 0, min(300, byte_size(New))),
            hall:commit(say(<<"TOPIC">>, {room, words:fold(Called)}, Called, [Cut], Pid, C, H));
        {#room{name = Called, topic = <<>>}, []} ->
            hall:reply(Pid, C, ?RPL_NOTOPIC, [Called, <<" :No topic is set">>], H);
        {#room{name = Called, topic = Topic}, []} ->
            hall:reply(Pid, C, ?RPL_TOPIC, [Called, <<" :">>, Topic], H)
    end;
command(<<"NAMES">>, [], Pid, C, H) ->
    hall:reply(Pid, C, ?RPL_ENDOFNAMES, <<"* :End of NAMES">>, H);
command(<<"NAMES">>, [Names | _], Pid, C, H) ->
    lists:foldl(fun(Name, H1) ->
                        names(maps:get(words:fold(Name), H#hall.rooms, #room{name = Name}),
                              Pid,
                              C,
                              H1)
                end,
                H,
                listed(Names));
command(<<"WHO">>, [Name | _], Pid, C, H) ->
    Key = words:fold(Name),
    {Where, Present} =
        case H of
            #hall{rooms = #{Key := R}} -> {R#room.name, [ P || {P, _} <- R#room.present ]};
            #hall{people = #{Key := #person{pid = P}}} when is_pid(P) -> {<<"*">>, [P]};
            _ -> {<<"*">>, []}
        end,
    [ hall:reply(Pid,
                 C,
                 ?RPL_WHOREPLY,
                 lists:join($\s, [Where, User, Host, <<"chat">>, Nick, <<"H :0">>, Real]),
                 H)
      || P <- Present,
         #client{
           user =
               User,
           host = Host,
           nick = Nick,
           real = Real,
           left = false
          } <- [maps:get(P, H#hall.clients)] ],
    hall:reply(Pid, C, ?RPL_ENDOFWHO, [Name, <<" :End of WHO">>], H).


listed(Names) -> binary:split(Names, <<",">>, [global]).


join(Name, Pid, #client{rooms = Rooms} = C, H) ->
    Key = words:fold(Name),
    case {words:is_room(Name), lists:member(Key, Rooms)} of
        {false, _} ->
            hall:reply(Pid, C, ?ERR_NOSUCHCHANNEL, [Name, <<" :No such channel">>], H);
        {true, true} ->
            H;
        {true, false} when length(Rooms) >= 100 ->
            hall:reply(Pid,
                       C,
                       ?ERR_TOOMANYCHANNELS,
                       [Name, <<" :You have joined too many channels">>],
                       H);
        {true, false} ->
            Before = maps:get(Key, H#hall.rooms, #room{name = binary:copy(Name)}),
            Room = Before#room{present = Before#room.present ++ [{Pid, C#client.time}]},
            tell(Room, [C#client.prefix, <<" JOIN ">>, Room#room.name]),
            [ hall:reply(Pid, C, ?RPL_TOPIC, [Room#room.name, <<" :">>, Room#room.topic], H)
              || Room#room.topic =/= <<>> ],
            C1 = C#client{rooms = [Key | Rooms]},
            names(Room, Pid, C1, H#hall{clients = (H#hall.clients)#{Pid := C1}}),
            case Room#room.members of
                #{C#client.person := Upto} ->
                    missed(Pid,
                           C1,
                           Key,
                           Room#room.last,
                           Upto,
                           H#hall{rooms = (H#hall.rooms)#{Key => Room}});
                Members ->
                    H1 = folder:note(C#client.nick, Room#room.name, H#hall.pos, H),
                    New = Room#room{members = Members#{C#client.person => H#hall.pos}},
                    hall:set(Pid,
                             C1#client{said = true},
                             H1#hall{rooms = (H1#hall.rooms)#{Key => New}})
            end
    end.


tell(#room{present = Present}, Text) ->
    Line = words:cut(Text),
    [ P ! {put, Line} || {P, _} <- Present ].


names(#room{name = Name, present = Present}, Pid, C, H) ->
    Nicks = [ (maps:get(P, H#hall.clients))#client.nick || {P, _} <- Present ],
    Start = <<":chat 353 ", (C#client.nick)/binary, " = ", Name/binary, " :">>,
    [ Pid ! {put, Line} || Line <- name_lines(Nicks, Start, Start) ],
    hall:reply(Pid, C, ?RPL_ENDOFNAMES, [Name, <<" :End of NAMES">>], H).


name_lines([], Start, Start) ->
    [];
name_lines([], Line, _) ->
    [<<Line/binary, "\r\n">>];
name_lines([Nick | Nicks], Start, Start) ->
    name_lines(Nicks, <<Start/binary, Nick/binary>>, Start);
name_lines([Nick | Nicks], Line, Start) when byte_size(Line) + byte_size(Nick) + 3 =< ?LONGEST ->
    name_lines(Nicks, <<Line/binary, " ", Nick/binary>>, Start);
name_lines(Nicks, Line, Start) ->
    [<<Line/binary, "\r\n">> | name_lines(Nicks, Start, Start)].


%% The room, if the client is in it; if not, the client gets the reason.
in(Name, Absent, Pid, C, H) ->
    Key = words:fold(Name),
    case {H#hall.rooms, lists:member(Key, C#client.rooms)} of
        {#{Key := Room}, true} ->
            Room;
        {#{Key := _}, false} ->
            hall:reply(Pid, C, Absent, [Name, <<" :You are not in that channel">>], H),
            undefined;
        _ ->
            hall:reply(Pid, C, ?ERR_NOSUCHCHANNEL, [Name, <<" :No such channel">>], H),
            undefined
    end.


part(Name, Why, Pid, C, H) ->
    case in(Name, ?ERR_NOTONCHANNEL, Pid, C, H) of
        undefined ->
            H;
        Room ->
            tell(Room,
                 [C#client.prefix,
                  <<" PART ">>,
                  Room#room.name,
                  [ [<<" :">>, hd(Why)] || Why =/= [] ]]),
            H1 = folder:note(C#client.nick, Room#room.name, -1, H),
            H2 = hall:set(Pid,
                          C#client{
                            rooms =
                                lists:delete(words:fold(Name), C#client.rooms),
                            said = true
                           },
                          H1),
            Without = fun(R) ->
                              R#room{
                                present = lists:keydelete(Pid, 1, R#room.present),
                                members = maps:remove(C#client.person, R#room.members)
                               }
                      end,
            hall:with_room(words:fold(Name), Without, H2)
    end.


messages(Verb, [Name], Texts, Pid, C, H) ->
    message(Verb, Name, Texts, Pid, C, H);
messages(Verb, Names, Texts, Pid, C, H) ->
    lists:foldl(fun({Name, Text}, H1) -> message(Verb, Name, [Text], Pid, C, H1) end,
                H,
                [ {N, T} || T <- Texts, N <- Names ]).


message(Verb, Name, Texts, Pid, C, H) ->
    Key = words:fold(Name),
    Longest = ?LONGEST - byte_size(C#client.prefix) - byte_size(Verb) - byte_size(Name) -
        byte_size(<<"   :\r\n">>),
    IsRoom = binary:part(Name, 0, min(1, byte_size(Name))) =:= <<"#">>,
    case lists:member(Key, C#client.rooms) of
        false when IsRoom ->
            case words:is_room(Name) of
                false ->
                    unsaid(Verb,
                           ?ERR_NOSUCHCHANNEL,
                           [Name, <<" :No such channel">>],
                           Texts,
                           Pid,
                           C,
                           H);
                true ->
                    unsaid(Verb,
                           ?ERR_CANNOTSENDTOCHAN,
                           [Name, <<" :You are not in that channel">>],
                           Texts,
                           Pid,
                           C,
                           H)
            end;
        false when not is_map_key(Key, H#hall.people) ->
            unsaid(Verb, ?ERR_NOSUCHNICK, [Name, <<" :No such nick">>], Texts, Pid, C, H);
        InRoom ->
            {Fit, Long} = lists:partition(fun(Text) -> byte_size(Text) =< Longest end, Texts),
            H1 = unsaid(Verb, ?ERR_INPUTTOOLONG, <<":Input line was too long">>, Long, Pid, C, H),
            case InRoom of
                true ->
                    say(Verb,
                        {room, Key},
                        (maps:get(Key, H#hall.rooms))#room.name,
                        Fit,
                        Pid,
                        C,
                        H1);
                false ->
                    say(Verb,
                        {person, Key},
                        (maps:get(Key, H#hall.people))#person.name,
                        Fit,
                        Pid,
                        C,
                        H1)
            end
    end.


unsaid(<<"NOTICE">>, _, _, _, _, _, H) ->
    H;
unsaid(_, Numeric, Why, Texts, Pid, C, H) ->
    lists:foldl(fun(_, H1) -> hall:reply(Pid, C, Numeric, Why, H1) end, H, Texts).


say(_, _, _, [], _, _, H) ->
    H;
say(Verb, To, Called, Texts, Pid, C, H) ->
    Head = <<(C#client.prefix)/binary, " ", Verb/binary, " ", Called/binary, " :">>,
    H#hall{
      unsaid = [#said{
                  to = To,
                  verb = Verb,
                  pid = Pid,
                  head = Head,
                  texts = Texts
                 } | H#hall.unsaid]
     }.
