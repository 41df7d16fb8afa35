---- plan
α 1; 1 AS one, count(1) AS n
  client [client_id, name, country, income]
---- spark
SELECT
  1 AS one,
  COUNT(*) AS n
FROM client
GROUP BY
  CAST(1 AS INT)
---- postgres
SELECT
  1 AS one,
  COUNT(*) AS n
FROM client
GROUP BY
  CAST(1 AS INT)
