CREATE TABLE kept (id INT, at TIMESTAMP, day DATE, name CHAR(5)) USING parquet;
INSERT INTO kept VALUES (1, TIMESTAMP '2024-01-01 00:00:00', DATE '2024-01-01', 'a'), (2, TIMESTAMP '2024-01-02 12:00:00', NULL, 'bc'), (3, NULL, DATE '0001-01-01', NULL);
CREATE TABLE stored (part STRING COLLATE utf8_lcase, n BIGINT) USING parquet;
INSERT INTO stored VALUES ('x', 1), ('X', 2), (NULL, 3);
SELECT name || '|' AS n, at + INTERVAL '1' MONTH AS m, day - DATE '2023-12-25' AS d, extract(dow FROM day) AS w, at BETWEEN '2024-01-01' AND '2024-01-02' AS b FROM kept;
SELECT sum(n) AS s FROM stored GROUP BY part;
SELECT window.start AS s, count(*) AS n FROM kept GROUP BY window(at, '1 day') ORDER BY s;
SELECT timestampdiff(HOUR, TIMESTAMP '2024-01-01 00:00:00', at) AS h, timestampadd(MONTH, id, at) AS m, dateadd(WEEK, 1, at) AS w FROM kept;
