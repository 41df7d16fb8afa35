--IMPORT tables.sql
SELECT what, listagg(minute, '+') WITHIN GROUP (ORDER BY minute DESC) OVER (PARTITION BY what) AS l, percentile_cont(0.5) WITHIN GROUP (ORDER BY minute) OVER (PARTITION BY what) AS m, percentile_disc(0.5) WITHIN GROUP (ORDER BY minute DESC) OVER (PARTITION BY what) AS d, mode() WITHIN GROUP (ORDER BY minute) OVER (PARTITION BY what) AS o FROM scan;
SELECT what, listagg(what, '/') WITHIN GROUP (ORDER BY what) FILTER (WHERE what <> 'lost') OVER () AS l FROM scan;
SELECT what, sum(count(*)) OVER w AS s, rank() OVER w AS r FROM scan GROUP BY what WINDOW w AS (ORDER BY count(*), what) QUALIFY r < 3;
SELECT minute, counter_diff(minute) OVER (PARTITION BY what ORDER BY minute) AS d, counter_diff(minute, TIMESTAMP '2024-01-01 00:00:00') OVER (ORDER BY minute) AS e FROM scan;
WITH RECURSIVE later(parcel, n) AS (SELECT min(parcel), 1 FROM scan UNION ALL SELECT scan.parcel, n + 1 FROM scan JOIN later ON scan.parcel = later.parcel + n) SELECT parcel, max(n) AS n FROM later GROUP BY parcel;
WITH RECURSIVE days(d) AS (SELECT DATE '2024-01-01' UNION ALL SELECT d + 1 FROM days) SELECT d FROM days LIMIT 5;
