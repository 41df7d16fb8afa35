--IMPORT tables.sql
TABLE scan |> EXTEND minute div 10 AS ten |> SET what = upper(what) |> DROP minute |> AGGREGATE count(*) AS n GROUP BY what, ten |> ORDER BY n DESC, what, ten |> LIMIT 3;
FROM parcel |> AS p |> LEFT JOIN scan s ON s.parcel = p.id |> WHERE s.what IS DISTINCT FROM 'lost' |> SELECT p.id, s.what |> UNION ALL VALUES (0, 'none');
SELECT * FROM (SELECT parcel, minute, what FROM scan) PIVOT (max(minute) AS top, count(minute) AS n FOR what IN ('in', 'out' AS gone));
SELECT * FROM parcel UNPIVOT INCLUDE NULLS (value FOR name IN (weight AS w, id AS i));
SELECT depot, what, count(*) AS n, grouping_id() AS g FROM parcel JOIN scan ON id = parcel GROUP BY GROUPING SETS ((depot, what), (depot), CUBE (what));
SELECT * FROM parcel TABLESAMPLE (100 PERCENT) REPEATABLE (3) JOIN range(1, 4) AS r(n) ON n = id;
SELECT * FROM (SELECT parcel, minute, what FROM scan) PIVOT (sum(minute) FOR (parcel, what) IN ((1, 'in') AS a, (2, 'in') AS b, (4, 'lost')));
SELECT * FROM (SELECT id, tags, depot FROM parcel) PIVOT (max(depot) FOR tags IN (array('a', 'b') AS both, array('c') AS one));
