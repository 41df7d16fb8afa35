--IMPORT tables.sql
SELECT id FROM parcel ORDER BY id LIMIT length('ab') * 2 OFFSET 3 - 2;
SELECT * FROM (SELECT id FROM parcel ORDER BY weight DESC NULLS LAST, id LIMIT cast('2' AS int)) JOIN scan ON id = parcel;
SELECT IDENTIFIER('i' || 'd') AS i FROM IDENTIFIER('par' || 'cel') WHERE id = 1;
SELECT startswith(X'5758', X'57') AS s, lpad(X'57', 3, X'ab') AS l, make_timestamp_ntz(2024, 2, 29, 1, 2, 3.5) AS t, try_make_timestamp(2024, 13, 1, 0, 0, 0) AS n, from_xml('<p><a>1</a></p>', 'a INT') AS x, parse_json('{"a": [1]}') AS v;
