---- plan
σ (n > 1)
  α country; count(1) AS n
    client [client_id, name, country, income]
---- spark
SELECT
  q.country,
  q.n
FROM (
  SELECT
    client.country,
    COUNT(*) AS n
  FROM client
  GROUP BY
    client.country
) AS q
WHERE
  q.n > 1L
---- postgres
SELECT
  q.country,
  q.n
FROM (
  SELECT
    client.country,
    COUNT(*) AS n
  FROM client
  GROUP BY
    client.country
) AS q
WHERE
  q.n > 1
