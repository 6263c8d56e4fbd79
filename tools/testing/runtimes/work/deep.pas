{ SPDX-License-Identifier: GPL-2.0-or-later }
program deeper;

function work: longint;
var
  i, total: longint;
  text: string;
begin
  total := 0;
  for i := 1 to 5000 do
  begin
    str(i, text);
    total := (total + i * length(text)) mod 1000003;
  end;
  work := total;
end;

function deep(n: longint): longint;
begin
  if n = 0 then
    deep := work
  else
    deep := deep(n - 1) + 1;
end;

begin
  deep(20);
  writeln('ready');
  flush(output);
  while true do
    deep(20);
end.
