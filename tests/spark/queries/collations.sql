--IMPORT tables.sql
SELECT depot COLLATE utf8_lcase AS d, count(*) AS n FROM parcel GROUP BY 1;
SELECT a.id, b.id AS other FROM parcel a JOIN parcel b ON a.depot COLLATE unicode_ci = b.depot AND a.id < b.id;
SELECT DISTINCT collate(depot, 'utf8_lcase') AS d FROM parcel EXCEPT SELECT 'SOUTH' COLLATE utf8_lcase;
SELECT id, depot = 'SOUTH' COLLATE utf8_lcase AS s, collation(depot COLLATE unicode_ci_rtrim) AS c, array(depot COLLATE utf8_lcase) AS a, replace(depot COLLATE utf8_lcase, 'O', '0') AS r, 'Kypper' COLLATE sv < 'Köpfe' AS k, contains(depot COLLATE unicode_ci, 'SOU') AS x FROM parcel;
SELECT max(c) OVER (ORDER BY c) AS m, named_struct('c', c) AS s FROM (SELECT depot COLLATE unicode AS c FROM parcel) ORDER BY c;
SELECT named_struct('xs', array(depot COLLATE utf8_lcase), 'm', map('k' COLLATE unicode, depot COLLATE unicode_ci)) AS s, s.xs[0] = 'NORTH' AS n FROM parcel;
SELECT id, levenshtein(depot COLLATE utf8_lcase, lower(depot)) AS l, levenshtein(c, depot) AS m FROM (SELECT id, depot, depot COLLATE unicode AS c FROM parcel);
