%% Lines as words, and valid names.
-module(words).
-export([gather/1, too_long/1, upper/1, fold/1, cut/1, without_cr/1, said/1, is_nick/1, is_room/1]).
-include("hall.hrl").

-define(LONGEST, 512).
-define(TAGS,    4096).


%% Sender, verb, target and text of a line of the log.
said(<<_:?STAMP/binary, " :", Line/binary>>) ->
    [Source, AfterSource] = binary:split(Line, <<" ">>),
    [Verb, AfterVerb] = binary:split(AfterSource, <<" ">>),
    [To, Text] = binary:split(AfterVerb, <<" :">>),
    {hd(binary:split(Source, <<"!">>)), Verb, To, Text}.


too_long(<<"@", _/binary>> = Line) ->
    [Tags | Rest] = binary:split(Line, <<" ">>),
    byte_size(Tags) >= ?TAGS orelse
    lists:any(fun too_long/1, [ <<" ", R/binary>> || R <- Rest, byte_size(R) >= ?LONGEST ]);
too_long(Line) ->
    byte_size(Line) >= ?LONGEST.


%% The commands of lines, without empty ones. Consecutive messages to one room or nick become
%% one, {Verb, To, Texts}.
gather(Lines) ->
    Nul = binary:compile_pattern(<<0>>),
    Cr = binary:compile_pattern(<<"\r">>),
    lists:foldr(fun(Line, After) -> gather(parse(Line, Nul, Cr), After) end, [], Lines).


gather(empty, After) ->
    After;
gather({Verb, [To, Text | _]}, After) when (Verb =:= <<"PRIVMSG">> orelse
                                            Verb =:= <<"NOTICE">>),
                                           To =/= <<>>,
                                           Text =/= <<>> ->
    case After of
        [{Verb, To, Texts} | Others] -> [{Verb, To, [Text | Texts]} | Others];
        _ -> [{Verb, To, [Text]} | After]
    end;
gather(Line, After) ->
    [Line | After].


%% {Verb, Words}, or the reason why a line is not obeyed.
parse(Line, Nul, Cr) ->
    case {binary:match(Line, Nul), too_long(Line)} of
        {{_, _}, _} -> nul;
        {nomatch, true} -> long;
        {nomatch, false} -> verb(without_source(without_tags(without_cr(Line, Cr))))
    end.


%% A CR within a line is a blank: some clients would take it for the end of a line.
without_cr(Line) ->
    without_cr(Line, <<"\r">>).


without_cr(Line, Cr) ->
    Last = byte_size(Line) - 1,
    case binary:match(Line, Cr) of
        nomatch -> Line;
        {Last, 1} -> binary:part(Line, 0, Last);
        _ when binary_part(Line, Last, 1) =:= <<"\r">> -> blanks(binary:part(Line, 0, Last));
        _ -> blanks(Line)
    end.


blanks(Line) -> binary:replace(Line, <<"\r">>, <<" ">>, [global]).


without_tags(<<"@", _/binary>> = Line) -> second(Line);
without_tags(Line) -> Line.


without_source(<<" ", Rest/binary>>) -> without_source(Rest);
without_source(<<":", _/binary>> = Line) -> second(Line);
without_source(Line) -> Line.


second(Line) ->
    case binary:split(Line, <<" ">>) of
        [_, Rest] -> Rest;
        [_] -> <<>>
    end.


%% Most lines begin so.
verb(<<"PRIVMSG ", Rest/binary>>) ->
    {<<"PRIVMSG">>, words(Rest)};
verb(Line) ->
    case words(Line) of
        [] -> empty;
        [Verb | Words] -> {upper(Verb), Words}
    end.


words(<<>>) ->
    [];
words(<<" ", Rest/binary>>) ->
    words(Rest);
words(<<":", Text/binary>>) ->
    [Text];
words(Text) ->
    Length = word(Text, 0),
    <<Word:Length/binary, Rest/binary>> = Text,
    [Word | words(Rest)].


word(<<" ", _/binary>>, Length) -> Length;
word(<<_, Rest/binary>>, Length) -> word(Rest, Length + 1);
word(<<>>, Length) -> Length.


upper(Name) -> << <<(big(B))>> || <<B>> <= Name >>.


big(B) when B >= $a, B =< $z -> B - 32;
big(B) -> B.


lower(B) when B >= $A, B =< $Z -> B + 32;
lower(B) -> B.


fold(Name) -> << <<(lower(B))>> || <<B>> <= Name >>.


%% Adds a line's end, and cuts the line to its maximum.
cut(Text) ->
    Line = iolist_to_binary(Text),
    <<(binary:part(Line, 0, min(byte_size(Line), ?LONGEST - 2)))/binary, "\r\n">>.


is_nick(<<B, _/binary>> = Name) ->
    byte_size(Name) =< 30 andalso is_letter(B) andalso
    lists:all(fun is_nick_byte/1, binary_to_list(Name)).


is_letter(B) ->
    (B >= $a andalso B =< $z) orelse (B >= $A andalso B =< $Z) orelse lists:member(B, "[]\\^_{|}`").


is_nick_byte(B) ->
    is_letter(B) orelse B =:= $- orelse (B >= $0 andalso B =< $9).


is_room(<<"#", B, Rest/binary>>) ->
    byte_size(Rest) =< 48 andalso
    lists:all(
      fun(X) -> X > 32 andalso X =/= 127 andalso X =/= $, andalso X =/= $: end,
      [B | binary_to_list(Rest)]);
is_room(_) ->
    false.
