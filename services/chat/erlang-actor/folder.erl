%% The folder: log has the messages, and members a line for each change of a member's position: "ann
%% #tea 1200", "ann #tea -" after PART, and "ann * 1200" for messages to ann alone. A name that the
%% kernel holds while this process lives makes the folder ours.
-module(folder).
-export([sync/1, open/1, find/1, append/2, note/4, note_if/5, snapshot/1]).
-include("hall.hrl").

-include_lib("kernel/include/file.hrl").

%% In bytes: the end of the log in which its last line is searched, the size of a read, and the
%% growth of the file of members after which it is rewritten (guesses).
-define(TAIL,  1024).
-define(PIECE, 1048576).
-define(GROWN, 1048576).


open(Data) ->
    Log = filename:join(Data, "log"),
    try
        New = not filelib:is_dir(Data),
        right(filelib:ensure_path(Data)),
        [ right(file:change_mode(Data, 8#700)) || New ],
        {ok, Info} = right(file:read_file_info(Data, [raw])),
        Name = io_lib:format("interleave-chat-~b-~b",
                             [Info#file_info.major_device, Info#file_info.inode]),
        case gen_tcp:listen(0, [{ifaddr, {local, [0 | lists:flatten(Name)]}}]) of
            {ok, _} -> ok;
            {error, _} -> throw({error, "it belongs to another server"})
        end,
        {ok, H} = right(open_log(#hall{data = Data})),
        Size = H#hall.pos - H#hall.base,
        People = read_members(filename:join(Data, "members"), Size, H#hall{base = 0, pos = Size}),
        Scanned = scan(Log, 0, Size, People),
        Kept = maps:filter(
                 fun(_, R) -> R#room.topic =/= <<>> orelse map_size(R#room.members) > 0 end,
                 Scanned#hall.rooms),
        #hall{stale = false} = Ready = snapshot(Scanned#hall{rooms = Kept, stale = true}),
        {ok, Ready}
    catch
        throw:{error, Why} when is_atom(Why) -> {error, [Data, ": ", file:format_error(Why)]};
        throw:{error, Why} -> {error, [Data, ": ", Why]};
        error:{badmatch, _} -> {error, [Data, ": members cannot be written"]}
    end.


right({error, _} = Error) -> throw(Error);
right(Right) -> Right.


%% A line that a crash has cut off is removed.
open_log(H) ->
    Name = filename:join(H#hall.data, "log"),
    case file:open(Name, [read, append, raw, binary]) of
        {ok, File} ->
            {ok, End} = file:position(File, eof),
            {ok, Tail} = tail(File, max(End - ?TAIL, 0)),
            Size =
                case binary:matches(Tail, <<"\n">>) of
                    [] -> End - byte_size(Tail);
                    Ends -> End - byte_size(Tail) + element(1, lists:last(Ends)) + 1
                end,
            {ok, _} = file:position(File, Size),
            ok = file:truncate(File),
            {ok, #file_info{inode = Inode}} = file:read_file_info(Name, [raw]),
            disk ! {open, [Name, filename:join(H#hall.data, "members")]},
            {ok, H#hall{log = File, inode = Inode, base = H#hall.pos - Size}};
        Error ->
            Error
    end.


tail(File, From) ->
    case file:pread(File, From, ?TAIL) of
        eof -> {ok, <<>>};
        Read -> Read
    end.


%% The log is looked for where people look for it, and begun anew if it is not there.
find(H) ->
    case file:read_file_info(filename:join(H#hall.data, "log"), [raw]) of
        {ok, #file_info{inode = Inode}} when Inode =:= H#hall.inode ->
            {there, H};
        {error, Why} when Why =/= enoent ->
            {{error, Why}, H};
        _ ->
            case open_log(H) of
                {ok, New} ->
                    file:close(H#hall.log),
                    {anew, snapshot(New#hall{stale = true})};
                Error ->
                    {Error, H}
            end
    end.


append(Lines, H) ->
    %% One piece costs less to write than many that the kernel has to gather.
    Data = iolist_to_binary(Lines),
    case file:write(H#hall.log, Data) of
        ok ->
            {ok, H#hall{pos = H#hall.pos + byte_size(Data)}};
        {error, _} = Error ->
            {ok, _} = file:position(H#hall.log, H#hall.pos - H#hall.base),
            ok = file:truncate(H#hall.log),
            {Error, H}
    end.


read_members(Name, Size, H) ->
    case file:read_file(Name) of
        {ok, Text} ->
            Lines = lists:droplast(binary:split(Text, <<"\n">>, [global])),
            lists:foldl(fun(Line, H1) ->
                                member(binary:split(Line, <<" ">>, [global]), Size, H1)
                        end,
                        H,
                        Lines);
        {error, enoent} ->
            H;
        Error ->
            throw(Error)
    end.


member([Nick, <<"*">>, Upto], Size, H) ->
    Person = #person{name = binary:copy(Nick), upto = min(binary_to_integer(Upto), Size)},
    H#hall{people = (H#hall.people)#{words:fold(Nick) => Person}};
member([Nick, Name, Upto], Size, H) ->
    Key = words:fold(Name),
    Room = #room{members = Members} = maps:get(Key, H#hall.rooms, #room{name = binary:copy(Name)}),
    Changed =
        case Upto of
            <<"-">> -> maps:remove(words:fold(Nick), Members);
            _ -> Members#{words:fold(Nick) => min(binary_to_integer(Upto), Size)}
        end,
    H#hall{rooms = (H#hall.rooms)#{Key => Room#room{members = Changed}}}.


%% The position of the last message of each room and person, and the topics.
scan(Name, From, Size, H) when From < Size ->
    {ok, File} = file:open(Name, [read, raw, binary]),
    {ok, Piece} = file:pread(File, From, ?PIECE),
    file:close(File),
    Lines = lists:droplast(binary:split(Piece, <<"\n">>, [global])),
    {Pos, H1} = lists:foldl(
                  fun(Line, {Before, H2}) ->
                          After = Before + byte_size(Line) + 1,
                          {After, scanned(words:said(Line), After, H2)}
                  end,
                  {From, H},
                  Lines),
    scan(Name, Pos, Size, H1);
scan(_, _, _, H) ->
    H.


scanned({_, Verb, To, Text}, Pos, H) ->
    Key = words:fold(To),
    case H of
        #hall{people = #{Key := Person}} ->
            H#hall{people = (H#hall.people)#{Key := Person#person{last = Pos}}};
        #hall{rooms = Rooms} when Verb =:= <<"TOPIC">> ->
            Room = maps:get(Key, Rooms, #room{name = binary:copy(To)}),
            H#hall{rooms = Rooms#{Key => Room#room{last = Pos, topic = binary:copy(Text)}}};
        #hall{rooms = #{Key := Room} = Rooms} ->
            H#hall{rooms = Rooms#{Key := Room#room{last = Pos}}};
        _ ->
            H
    end.


note_if(true, Nick, Where, Upto, H) -> note(Nick, Where, Upto, H);
note_if(false, _, _, _, H) -> H.


%% The next snapshot repairs a failed write.
note(_, _, _, #hall{stale = true} = H) ->
    H;
note(Nick, Where, Upto, H) ->
    Line = note_line(Nick, Where, Upto, H),
    Grown = H#hall.grown + iolist_size(Line),
    H#hall{grown = Grown, stale = file:write(H#hall.members, Line) =/= ok orelse Grown > ?GROWN}.


note_line(Nick, Where, -1, _) -> [Nick, $\s, Where, <<" -\n">>];
note_line(Nick, Where, Upto, H) ->
    [Nick, $\s, Where, $\s, integer_to_binary(max(Upto - H#hall.base, 0)), $\n].


snapshot(#hall{stale = false} = H) ->
    H;
snapshot(H) ->
    Name = filename:join(H#hall.data, "members"),
    People = [ note_line(P#person.name, <<"*">>, P#person.upto, H)
               || P <- maps:values(H#hall.people) ],
    Members = [ note_line((maps:get(Key, H#hall.people))#person.name, R#room.name, Upto, H)
                || R <- maps:values(H#hall.rooms), {Key, Upto} <- maps:to_list(R#room.members) ],
    case file:open(Name ++ ".new", [write, raw, binary]) of
        {ok, File} ->
            Steps = [fun() -> file:write(File, [People, Members]) end,
                     fun() -> file:datasync(File) end,
                     fun() -> file:rename(Name ++ ".new", Name) end],
            Done = lists:foldl(
                     fun(Step, ok) -> Step();
                        (_, Error) -> Error
                     end,
                     ok,
                     Steps),
            case Done of
                ok ->
                    [ file:close(H#hall.members) || H#hall.members =/= undefined ],
                    disk ! {open, [filename:join(H#hall.data, "log"), Name]},
                    H#hall{members = File, stale = false, grown = 0};
                _ ->
                    file:close(File),
                    H
            end;
        {error, _} ->
            H
    end.


%% The actor that waits for the disk, for all requests that come meanwhile. It has files of its own:
%% a descriptor belongs to an actor.
sync(Files) ->
    receive
        {open, Names} ->
            [ file:close(File) || {_, {ok, File}} <- Files ],
            sync([ {Name, open_file(Name)} || Name <- Names ]);
        {Client, Ref} ->
            sync([{Client, Ref}], Files)
    end.


sync(Waiting, Files) ->
    receive
        {Client, Ref} when is_reference(Ref) -> sync([{Client, Ref} | Waiting], Files)
    after
        0 ->
            Opened = [ {Name, again(Name, Result)} || {Name, Result} <- Files ],
            Result = lists:foldl(fun(File, Before) -> datasync(File, Before) end, ok, Opened),
            %% After a failed sync data may be lost, and the kernel does not report it again.
            [ hall ! lost || Result =/= ok ],
            [ Client ! {Ref, Result} || {Client, Ref} <- Waiting ],
            sync(Opened)
    end.


datasync({_, {ok, File}}, ok) -> file:datasync(File);
datasync({_, Error}, ok) -> Error;
datasync(_, Error) -> Error.


again(_, {ok, File}) -> {ok, File};
again(Name, {error, _}) -> open_file(Name).


open_file(Name) -> file:open(Name, [read, raw, binary]).
