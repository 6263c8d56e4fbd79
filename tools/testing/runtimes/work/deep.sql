-- SPDX-License-Identifier: GPL-2.0-or-later
select count(*) from (select generate_series(1, 100000000) as a) as s where sqrt(a) * 3 > length(a::text) + a % 7;
