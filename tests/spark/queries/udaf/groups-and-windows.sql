--IMPORT tables.sql
SELECT depot, udaf(weight) AS n, udaf(id + 1) * 2 AS m FROM parcel GROUP BY depot HAVING udaf(id) > 0;
SELECT depot, sent, udaf(id) AS n FROM parcel GROUP BY ROLLUP (depot, sent);
SELECT id, udaf(weight) OVER (PARTITION BY lower(depot)) AS n, count(weight) OVER (PARTITION BY lower(depot)) AS c FROM parcel;
SELECT id, udaf(weight) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) + 1 AS n, rank() OVER (ORDER BY id) AS r FROM parcel;
SELECT id, udaf(weight) OVER (PARTITION BY depot ORDER BY id RANGE BETWEEN 2 PRECEDING AND CURRENT ROW) AS n FROM parcel QUALIFY n > 0;
SELECT what, udaf(count(*)) OVER (ORDER BY what) AS n FROM scan GROUP BY what;
SELECT 1 AS one FROM (SELECT udaf(id) FROM parcel WHERE false);
