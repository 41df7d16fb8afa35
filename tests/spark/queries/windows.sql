--IMPORT tables.sql
SELECT what, listagg(minute, '+') WITHIN GROUP (ORDER BY minute DESC) OVER (PARTITION BY what) AS l, percentile_cont(0.5) WITHIN GROUP (ORDER BY minute) OVER (PARTITION BY what) AS m, percentile_disc(0.5) WITHIN GROUP (ORDER BY minute DESC) OVER (PARTITION BY what) AS d, mode() WITHIN GROUP (ORDER BY minute) OVER (PARTITION BY what) AS o FROM scan;
SELECT what, listagg(what, '/') WITHIN GROUP (ORDER BY what) FILTER (WHERE what <> 'lost') OVER () AS l FROM scan;
SELECT what, sum(count(*)) OVER w AS s, rank() OVER w AS r FROM scan GROUP BY what WINDOW w AS (ORDER BY count(*), what) QUALIFY r < 3;
SELECT minute, counter_diff(minute) OVER (PARTITION BY what ORDER BY minute) AS d, counter_diff(minute, TIMESTAMP '2024-01-01 00:00:00') OVER (ORDER BY minute) AS e FROM scan;
