%% SPDX-License-Identifier: GPL-2.0-or-later
-module(deep).
-export([start/0]).

work(0, Total) -> Total;
work(N, Total) -> work(N - 1, (Total + N * N) rem 1000003 + byte_size(integer_to_binary(N))).

deep(0) -> work(20000, 0);
deep(N) -> deep(N - 1) + 1.

turns(0) -> ok;
turns(N) -> deep(20), turns(N - 1).

start() ->
    turns(20),
    io:format("ready~n"),
    turns(1000000000).
