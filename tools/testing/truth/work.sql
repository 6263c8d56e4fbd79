-- SPDX-License-Identifier: GPL-2.0-or-later
-- Work for sqlite3: a recursive query, an index, a join, aggregates, text.
create table t (a integer primary key, b text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 300)
insert into t select i, printf('%05d', i * 7919 % 1000) from n;
create index t_b on t (b);
select count(*), sum(a), group_concat(b) from t where b like '%7%';
select x.a, y.b from t x join t y on x.a = y.a + 1 where y.b > '00900' order by y.b desc limit 10;
delete from t where a % 3 = 0;
